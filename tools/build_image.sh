#!/usr/bin/env bash
# Builds the base image and the sample operator's. Takes the first of docker, podman and buildah that is there.
#
#   BASE=python:3.12-slim-bookworm   the image to start from; `debootstrap` makes one of Debian's packages, for
#                                    machines that reach no registry (needs root, buildah, debootstrap); the
#                                    sample's collection is then taken from .venv, not from Ansible Galaxy
#   SNAPSHOT=20250520T000000Z        Debian's packages as they were then; default: the current ones
#   ARCHIVE=URL                      the address of Debian's snapshot service, which SNAPSHOT needs
#   PINNED=1                         refuse what would not be the same again: a base without digest, no snapshot
#   ANSIBLE_CORE=2.18                the release of ansible-core: 2.18 or 2.19
#   IMAGE=ansible-operator-runner    the name of the image
#   BUILDER=buildah                  the builder to use
#   OUT=build/image                  where storage (buildah's), the packed collection and root file systems go
#   EXPORT=1                         unpack both root file systems beside their configurations, for the tests
#   DEBIAN_MIRROR=URL                where debootstrap finds packages; default: where this machine does
set -euo pipefail
cd "$(dirname "$0")/.."

BASE=${BASE:-python:3.12-slim-bookworm}
SNAPSHOT=${SNAPSHOT:-}
ARCHIVE=${ARCHIVE:-}
ANSIBLE_CORE=${ANSIBLE_CORE:-2.18}
IMAGE=${IMAGE:-ansible-operator-runner}
OUT=$(realpath -m "${OUT:-build/image}")
EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
OCI_CONFIG='import json, sys; json.dump(json.load(sys.stdin)["OCIv1"]["config"], sys.stdout)'
TRUST=/etc/ssl/certs/ca-certificates.crt

say() { printf '\n== %s (%s s)\n' "$1" "$SECONDS" >&2; }
fail() { printf 'Error: %s\n' "$1" >&2; exit 1; }

check_pins() {
    local missing=""
    [[ -z $SNAPSHOT || $SNAPSHOT =~ ^[0-9]{8}T[0-9]{6}Z$ ]] ||
        fail "SNAPSHOT is '$SNAPSHOT', and must be a point in time as Debian's snapshot service names it: 20250520T000000Z"
    [[ -z $SNAPSHOT || -n $ARCHIVE ]] || fail "SNAPSHOT needs ARCHIVE, the address of Debian's snapshot service"
    [[ -n $SNAPSHOT ]] || missing="SNAPSHOT, the point in time of Debian's packages"
    [[ $BASE == debootstrap || $BASE =~ @sha256:[0-9a-f]{64}$ ]] || missing="BASE with its digest: NAME@sha256:..."
    [[ -n $missing ]] || return 0
    [[ ${PINNED:-} != 1 ]] || fail "PINNED=1 needs $missing"
    say "not pinned, so another build may differ: there is no $missing"
}

choose_builder() {
    local name
    for name in ${BUILDER:-docker podman buildah}; do
        if [[ $name == buildah ]] && command -v buildah >/dev/null; then echo buildah; return; fi
        if command -v "$name" >/dev/null && "$name" info >/dev/null 2>&1; then echo "$name"; return; fi
    done
    fail "no builder works here: install docker, podman or buildah"
}

# Without a container engine beneath it: no overlay mounts, no namespaces; and the host's trust, for its mirrors.
buildah_here() { buildah --root "$OUT/storage" --runroot "$OUT/storage-run" --storage-driver vfs "$@"; }

build() {  # build NAME DOCKERFILE CONTEXT ARGUMENT...
    local name=$1 dockerfile=$2 context=$3; shift 3
    local arguments=() argument
    for argument in "$@"; do arguments+=(--build-arg "$argument"); done
    case $builder in
        docker) SOURCE_DATE_EPOCH=$EPOCH docker build -t "$name" -f "$dockerfile" "${arguments[@]}" "$context" ;;
        podman) podman build --timestamp "$EPOCH" -t "$name" -f "$dockerfile" "${arguments[@]}" "$context" ;;
        buildah)
            buildah_here bud --isolation chroot --timestamp "$EPOCH" \
                --volume "$TRUST:$TRUST:ro" "${volumes[@]}" \
                -t "$name" -f "$dockerfile" "${arguments[@]}" "$context" ;;
    esac
}

# What python:slim images have: Python in /usr/local/bin, pip, trust; no documentation.
make_base() {
    local root=$OUT/base mirror="" container
    [[ -z $SNAPSHOT ]] || mirror=$ARCHIVE/debian/$SNAPSHOT
    mirror=${DEBIAN_MIRROR:-${mirror:-$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/debian.sources | head -1)}}
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase --include=python3,python3-pip,ca-certificates bookworm "$root" ${mirror:+"$mirror"}
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/* \
        "$root"/usr/share/{doc,man,locale}/* "$root"/debootstrap
    find "$root/usr/lib" -name __pycache__ -prune -exec rm -rf {} +
    ln -s /usr/bin/python3 "$root/usr/local/bin/python3"
    container=$(buildah_here from scratch)
    buildah_here add -q "$container" "$root" / >/dev/null
    buildah_here config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --cmd bash "$container"
    buildah_here commit -q --rm --timestamp "$EPOCH" "$container" "$BASE" >/dev/null
    rm -rf "$root"
}

# The sample's build context, with its collection packed in $OUT/collections in place of Ansible Galaxy.
context_without_galaxy() {
    local context=$OUT/context
    rm -rf "$context"
    mkdir -p "$context"
    cp -r watches.yaml roles playbooks "$context"
    PYTHONPATH= .venv/bin/python tools/pack_collection.py "$OUT/collections" "$context"
    echo "$context"
}

unpack() {  # unpack NAME DIRECTORY
    local container
    rm -rf "$2"
    mkdir -p "$2"
    if [[ $builder == buildah ]]; then
        buildah_here inspect --type image "$1" | python3 -c "$OCI_CONFIG" >"$2.json"
        container=$(buildah_here from --pull-never "$1")
        tar -C "$(buildah_here mount "$container")" -c . | tar -C "$2" -xp
        buildah_here rm "$container" >/dev/null
    else
        "$builder" image inspect --format '{{json .Config}}' "$1" >"$2.json"
        container=$("$builder" create "$1")
        "$builder" export "$container" | tar -C "$2" -xp
        "$builder" rm "$container" >/dev/null
    fi
}

check_pins
builder=$([[ $BASE == debootstrap ]] && echo buildah || choose_builder)
context=.
volumes=()
mkdir -p "$OUT/collections"
if [[ $BASE == debootstrap ]]; then
    BASE=localhost/debootstrap:${SNAPSHOT:-latest}
    if ! buildah_here inspect "$BASE" >/dev/null 2>&1; then say "making the base"; make_base; fi
    context=$(context_without_galaxy)
fi
say "building $IMAGE with $builder"
build "$IMAGE" Dockerfile . "BASE=$BASE" "SNAPSHOT=$SNAPSHOT" "ARCHIVE=$ARCHIVE" "ANSIBLE_CORE=$ANSIBLE_CORE" \
    "COMMIT=$(git rev-parse HEAD)"
say "building $IMAGE-sample"
[[ $context == . ]] || volumes=(--volume "$OUT/collections:/collections:ro")
build "$IMAGE-sample" samples/Dockerfile "$context" "BASE_IMAGE=$IMAGE"
if [[ ${EXPORT:-} == 1 ]]; then
    say "unpacking"
    unpack "$IMAGE" "$OUT/root"
    unpack "$IMAGE-sample" "$OUT/sample-root"
    du -sm "$OUT/root" "$OUT/sample-root" >&2
fi
say "done"

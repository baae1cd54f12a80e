# The base image of Ansible operators; docs/image.md says what it promises.
# BASE: any Debian with Python as /usr/local/bin/python3, pip and ca-certificates; NAME@sha256:... to build it again.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS packages
# The release of ansible-core: one of those in requirements/ansible-*.txt.
ARG ANSIBLE_CORE=2.18
# Debian's own Python asks for the first; this stage is thrown away.
ENV PIP_BREAK_SYSTEM_PACKAGES=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY requirements/build.txt requirements/run.txt requirements/ansible-${ANSIBLE_CORE}.txt requirements/
RUN python3 -m pip install --quiet --no-compile --require-hashes --only-binary :all: \
        --ignore-installed --no-warn-script-location --root /packages --no-deps \
        -r requirements/run.txt -r requirements/ansible-${ANSIBLE_CORE}.txt \
    && python3 -m pip install --quiet --ignore-installed --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY runner runner
# The client's asyncio half is 30 MB that nothing here imports.
# Bytecode whose source is never looked at: whatever rewrites the times of files cannot make it stale.
RUN python3 -m pip install --quiet --no-compile --no-deps --no-build-isolation --no-index --no-warn-script-location \
        --root /packages . \
    && rm -r /packages/usr/local/lib/python3*/*-packages/kubernetes/aio \
    && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -s /packages -p / \
        /packages/usr/local/lib

FROM ${BASE}
# Debian's packages as they were at this point in time, such as 20250520T000000Z; without one, the current ones.
# ARCHIVE is the address of Debian's snapshot service, up to the directory that holds debian/ and debian-security/.
ARG SNAPSHOT=
ARG ARCHIVE=
# tini and curl; the account; bytecode of the standard library, which slim images of Python come without.
RUN . /etc/os-release \
    && if [ -n "$SNAPSHOT" ]; then \
        from='deb [check-valid-until=no signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]' \
        && echo "$from $ARCHIVE/debian/$SNAPSHOT $VERSION_CODENAME main" >/tmp/snapshot.list \
        && echo "$from $ARCHIVE/debian-security/$SNAPSHOT $VERSION_CODENAME-security main" >>/tmp/snapshot.list \
        && set -- -o Dir::Etc::SourceList=/tmp/snapshot.list -o Dir::Etc::SourceParts=-; \
    fi \
    && apt-get "$@" update \
    && DEBIAN_FRONTEND=noninteractive apt-get "$@" install -y --no-install-recommends curl tini \
    && apt-get clean \
    && rm -rf /tmp/snapshot.list /var/lib/apt/lists/* /var/log/* /var/cache/* \
    && ln -s /usr/bin/tini /tini \
    && echo 'ansible:x:1001:0:ansible:/opt/ansible:/usr/sbin/nologin' >> /etc/passwd \
    && mkdir -p /opt/ansible/.ansible/tmp \
    && chown -R 1001:0 /opt/ansible \
    && chmod -R ug+rwx /opt/ansible \
    && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -x '/(test|idlelib|lib2to3|site-packages)/' \
        "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')"
COPY image/ /
COPY --from=packages /packages/usr/local/ /usr/local/

ENV HOME=/opt/ansible \
    USER_NAME=ansible \
    USER_UID=1001 \
    TINI_VERSION=v0.19.0 \
    LANG=C.UTF-8
ARG COMMIT=
ENV ANSIBLE_OPERATOR_COMMIT=${COMMIT}
WORKDIR /opt/ansible
USER 1001:0
ENTRYPOINT ["/tini", "--", "/usr/local/bin/ansible-operator", "run", "--watches-file=./watches.yaml"]
LABEL org.opencontainers.image.title="ansible-operator-runner" \
      org.opencontainers.image.description="Runs Ansible roles and playbooks as a Kubernetes operator" \
      org.opencontainers.image.licenses="Apache-2.0"

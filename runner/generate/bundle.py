"""`generate bundle`: a project's files for OLM, in the layout registry+v1, made of its manifests."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.config.watchesfile import read_watches
from runner.config.yamlfile import Located
from runner.errors import SettingsError
from runner.generate import certificates, csv
from runner.generate.files import yaml_text as dump
from runner.generate.kustomize import built, containers, documents, kustomization
from runner.generate.layout import (
    ANNOTATIONS,
    CONFIGURATION,
    DOCKERFILE,
    MANIFESTS,
    Labels,
    annotations_file,
    dockerfile,
    scorecard_configuration,
)
from runner.generate.patches import Object
from runner.generate.webhooks import services
from runner.validate.bundle.files import SUPPORTED
from runner.validate.content.places import IMAGE_HOME, find_places
from runner.validate.content.reach import reach
from runner.validate.documents import shown
from runner.validate.manifests.crds import Watched
from runner.version import VERSION

BASES = Path("config/manifests/bases")
DEFAULT = Path("config/default")
SAMPLES = Path("config/samples")
SUFFIX = ".clusterserviceversion.yaml"
BUILDER = f"ansible-operator-runner-v{VERSION}"
_MANAGER = "manager"
_MADE_BY_OLM = (
    *("Namespace", "Deployment", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
    *("Certificate", "Issuer", "CustomResourceDefinition"),
)
_NOT_A_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says; what is empty is taken from the bundle that is there, or from the base.

    `manifests` is a file of built manifests, in place of config/default.
    """

    version: str = ""
    image: str = ""
    channels: str = ""
    default_channel: str = ""
    package: str = ""
    manifests: str = ""


def files(project: Path, asked: Asked, environment: Mapping[str, str]) -> dict[Path, str]:
    """The files of the bundle, and the base of its ClusterServiceVersion where there is none yet.

    Raises SettingsError, WatchesError.
    """
    package = asked.package or _package(project)
    labels = _labels(project, asked, package)
    base_file = BASES / f"{package}{SUFFIX}"
    base = _read_one(project / base_file) or csv.base(package)
    objects = _objects(project, asked)
    _set_image(objects, asked.image)
    manifests = csv.Manifests(objects, _samples(project, objects), _touched(project, environment))
    version = asked.version or _version(project, package, base)
    made = {
        MANIFESTS / f"{package}{SUFFIX}": dump(csv.made(base, package, version, manifests, BUILDER)),
        **{MANIFESTS / name: dump(found) for name, found in _others(manifests)},
        ANNOTATIONS: annotations_file(labels),
        CONFIGURATION: scorecard_configuration(),
        DOCKERFILE: dockerfile(labels),
    }
    _tell_of_strays(project, made)
    there = (project / base_file).exists()
    return made if there else {base_file: dump(csv.base(package)), **made}


def _package(project: Path) -> str:
    """That of the base, if there is one; else as the names in config/default begin, or the directory is named."""
    bases = sorted((project / BASES).glob(f"*{SUFFIX}"))
    if len(bases) > 1:
        raise SettingsError(f"{shown(project / BASES)} has several bases: say with --package which is meant")
    if bases:
        return bases[0].name.removesuffix(SUFFIX)
    file = kustomization(project / DEFAULT)
    prefix = documents(file)[0].text("namePrefix") if file else ""
    return prefix.strip("-") or _NOT_A_NAME.sub("-", project.name.lower()).strip("-") or "operator"


def _labels(project: Path, asked: Asked, package: str) -> Labels:
    before = (_read_one(project / ANNOTATIONS) or {}).get("annotations") or {}
    channels = asked.channels or str(before.get(Labels.CHANNELS, "alpha"))
    default = asked.default_channel or ("" if asked.channels else str(before.get(Labels.DEFAULT_CHANNEL, "")))
    return Labels(package, channels, default, BUILDER)


def _version(project: Path, package: str, base: Object) -> str:
    before = _read_one(project / MANIFESTS / f"{package}{SUFFIX}") or {}
    named = str(before.get("spec", {}).get("version") or base["spec"].get("version") or "0.0.0")
    return "0.0.1" if named == "0.0.0" else named


def _read_one(path: Path) -> Object | None:
    return documents(path)[0].node.plain() if path.is_file() else None


def _objects(project: Path, asked: Asked) -> list[Object]:
    return certificates.without(_built(project, asked))


def _built(project: Path, asked: Asked) -> list[Object]:
    if asked.manifests:
        return built(Path("/dev/stdin" if asked.manifests == "-" else asked.manifests))
    if not (project / DEFAULT).is_dir():
        raise SettingsError(
            f"{shown(project / DEFAULT)} is not there: a project of `ansible-operator init` has it; or hand built"
            " manifests over with --manifests FILE"
        )
    return built(project / DEFAULT)


def _samples(project: Path, objects: Iterable[Object]) -> list[Object]:
    """The custom resources of config/samples; objects that they need are no examples."""
    if not (project / SAMPLES).is_dir():
        return []
    kinds = {
        (found["spec"]["group"], found["spec"]["names"]["kind"])
        for found in objects
        if found["kind"] == "CustomResourceDefinition"
    }
    return [
        found
        for found in built(project / SAMPLES)
        if (str(found["apiVersion"]).rpartition("/")[0], found["kind"]) in kinds
    ]


def _touched(project: Path, environment: Mapping[str, str]) -> dict[str, list[tuple[str, str]]]:
    """For the kind of each watch the kinds that its tasks write, as far as its files tell. Raises WatchesError."""
    watches_file = project / "watches.yaml"
    if not watches_file.is_file():
        return {}
    reading = read_watches(Path(shown(watches_file)), project, environment, IMAGE_HOME)
    places = find_places(project, environment)
    found: dict[str, set[tuple[str, str]]] = {}
    for watch in reading.watches:
        of = reach(Watched(watch, shown(watches_file), Located(None, 1)), places)
        written = {
            (touch.kind, touch.api_version.rpartition("/")[2])
            for _, touch in of.touches
            if "create" in touch.verbs and not touch.subresource
        }
        found.setdefault(watch.gvk.kind, set()).update(written)
    return {kind: sorted(touched) for kind, touched in found.items()}


def _set_image(objects: Iterable[Object], image: str) -> None:
    for found in objects if image else ():
        if found["kind"] == "Deployment":
            all_ = containers(found["spec"]["template"]["spec"])
            next((one for one in all_ if one["name"] == _MANAGER), all_[0])["image"] = image


def _others(manifests: csv.Manifests) -> Iterable[tuple[str, Object]]:
    """What stands beside the ClusterServiceVersion: file name and object of each."""
    for crd in manifests.of_kind("CustomResourceDefinition"):
        # The conversion is OLM's to fill in, from `webhookdefinitions`.
        spec = {field: value for field, value in crd["spec"].items() if field != "conversion"}
        yield f"{spec['group']}_{spec['names']['plural']}.yaml", _bare({**crd, "spec": spec})
    consumed = _consumed(manifests)
    for found in manifests.objects:
        kind, name = found["kind"], found["metadata"]["name"]
        if kind in _MADE_BY_OLM or (kind, name) in consumed:
            continue
        if kind not in SUPPORTED:
            sys.stderr.write(f"left out: {kind} {name}, for a bundle cannot hold this kind\n")
            continue
        of = str(found["apiVersion"]).replace("/", "_")
        yield f"{name}_{of}_{kind.lower()}.yaml", _bare(found)


def _consumed(manifests: csv.Manifests) -> set[tuple[str, str]]:
    """What the ClusterServiceVersion says itself: accounts, what they may do, and the services of webhooks."""
    accounts = {csv.account_of(deployment) for deployment in manifests.of_kind("Deployment")}
    found = {("ServiceAccount", account) for account in accounts}
    found |= {("Service", name) for name in services(manifests.objects)}
    for role, binding in (("ClusterRole", "ClusterRoleBinding"), ("Role", "RoleBinding")):
        for account in accounts:
            found |= {(role, one["metadata"]["name"]) for one in csv.bound(manifests, account, role, binding)}
        found |= {
            (binding, one["metadata"]["name"])
            for one in manifests.of_kind(binding)
            if {subject["name"] for subject in one.get("subjects") or ()} <= accounts
        }
    return found


def _bare(found: Object) -> Object:
    """Without its namespace: it goes where the operator is installed."""
    dropped = ("namespace", "creationTimestamp")
    metadata: dict[str, Any] = {name: value for name, value in found["metadata"].items() if name not in dropped}
    return {**found, "metadata": metadata}


def _tell_of_strays(project: Path, made: Mapping[Path, str]) -> None:
    for path in sorted((project / MANIFESTS).glob("*")):
        if path.relative_to(project) not in made:
            sys.stderr.write(f"{shown(path)} is not of this bundle any more: remove it, unless you put it there\n")

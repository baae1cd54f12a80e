"""Volumes of the operator's pod that are smaller than what runs may leave in them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath

from runner.config.flags import RUN_FLAGS
from runner.config.golang import Bytes, parse_bytes
from runner.config.yamlfile import Located
from runner.validate.documents import Document, child, members, of_kind, text, texts
from runner.validate.findings import Finding

_DEFAULTS = {f"--{flag.name}": str(flag.default) for flag in RUN_FLAGS}
_POD = ("spec", "template", "spec")


def check(manifests: list[Document]) -> Iterator[Finding]:
    """One finding for each volume with a size limit that the artifacts of runs may exceed."""
    for manifest in of_kind(manifests, "Deployment", "StatefulSet"):
        volumes = {text(child(node, "name")): node for node in members(manifest.get(*_POD, "volumes"))}
        for container in members(manifest.get(*_POD, "containers")):
            arguments = texts(child(container, "args"))
            if not any(argument.partition("=")[0] in _DEFAULTS for argument in arguments):
                continue  # not the operator
            limit = _bytes(_given(arguments, "--runner-dir-limit"))
            volume = volumes.get(_volume_of(container, _given(arguments, "--runner-dir")))
            size = child(volume, "emptyDir", "sizeLimit") if volume else Located(None, 0)
            if limit and (room := _bytes(str(size.value))) is not None and room < limit:
                message = (
                    f"the volume is smaller than what runs may leave in it, {limit}, so that the kubelet may"
                    f" evict the pod: give the operator --runner-dir-limit={Bytes(room - room // 4)}, or more room"
                )
                yield Finding("volume-too-small", manifest.file, size.line, "emptyDir.sizeLimit", message)


def _given(arguments: list[str], name: str) -> str:
    """The value of a flag of `run`, in either spelling, or its default."""
    given = [argument.partition("=")[2] for argument in arguments if argument.startswith(f"{name}=")]
    given += [value for word, value in pairwise(arguments) if word == name]
    return given[-1] if given else _DEFAULTS[name]


def _volume_of(container: Located, directory: str) -> str:
    """The name of the volume that holds a directory; "" for the container's own file system."""
    nodes = members(child(container, "volumeMounts"))
    mounts = {text(child(node, "mountPath")): text(child(node, "name")) for node in nodes}
    holding = [path for path in mounts if path and PurePosixPath(directory).is_relative_to(path)]
    return mounts[max(holding, key=len)] if holding else ""


def _bytes(quantity: str) -> Bytes | None:
    try:
        return parse_bytes(quantity)
    except ValueError:
        return None

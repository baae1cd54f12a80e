"""Whether the operator's own manifests keep `prune` from deleting anything. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from runner.config.arguments import partial
from runner.config.yamlfile import Located
from runner.validate.documents import Document, child, members, of_kind, text, texts
from runner.validate.findings import Finding
from runner.validate.manifests.crds import Watched

_ARGUMENTS = "--ansible-args"
_UNOWNED = "--inject-owner-ref=false"
_PATH = ("spec", "template", "spec", "containers")


def check(watched: list[Watched], manifests: list[Document]) -> Iterator[Finding]:
    """One finding for each container that runs the operator so that nothing is ever pruned."""
    if not any(item.watch.prune for item in watched):
        return
    for manifest in of_kind(manifests, "Deployment", "StatefulSet"):
        for container in members(manifest.get(*_PATH)):
            if why := reason(texts(child(container, "args")), _environment(container)):
                message = f"watches.yaml asks for `prune`, and {why}: nothing is ever pruned"
                yield Finding("prune-never", manifest.file, container.line, ".".join(_PATH), message)


def reason(arguments: list[str], environment: Mapping[str, str]) -> str:
    """Why an operator with these arguments prunes nothing; empty where it may."""
    if _UNOWNED in arguments:
        return f"with {_UNOWNED} nothing is a dependent"
    given = [word.partition("=")[2] for word in arguments if word.startswith(f"{_ARGUMENTS}=")]
    given += [value for name, value in pairwise(arguments) if name == _ARGUMENTS]
    part = partial(" ".join(given), environment)
    return f"{part} leaves out a part of each run" if part else ""


def _environment(container: Located) -> dict[str, str]:
    entries = members(child(container, "env"))
    return {text(child(entry, "name")): text(child(entry, "value")) for entry in entries}

"""Which kinds of the Kubernetes API a project's operator, tasks and templates touch, and with which verbs.

What is decided at run time (a kind in a variable) is said as a text in place of a Touch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.config.watches import Watch
from runner.validate.documents import YAML, Document, read
from runner.validate.manifests.crds import crd_of

READ = ("get", "list", "watch")
CHANGE = ("patch", "update")
WRITE = ("create", "delete", *READ, *CHANGE)
_OF_STATE = {"absent": ("delete", *READ), "patched": (*READ, *CHANGE)}
"""Verbs of `k8s` with these states; with another, or one that is known at run time only, it may do anything."""


# What a module does: (subresource, verbs) of the kind that it is given, or of a Pod.
MODULES: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "k8s": (("", WRITE),),
    "k8s_info": (("", READ),),
    "k8s_facts": (("", READ),),
    "k8s_json_patch": (("", (*READ, *CHANGE)),),
    "k8s_scale": (("", (*READ, *CHANGE)), ("scale", ("get", *CHANGE))),
    "k8s_status": (("", READ), ("status", ("get", *CHANGE))),
    "k8s_exec": (("", READ), ("exec", ("create", "get"))),
    "k8s_cp": (("", READ), ("exec", ("create", "get"))),
    "k8s_log": (("", READ), ("log", ("get",))),
}
_OF_PODS = ("k8s_exec", "k8s_cp", "k8s_log")
KUBECONFIG = ("v1", "Config")
_FILE_FORMATS = re.compile(r"(audit|kubeadm|client\.authentication|[a-z.]+\.config)\.k8s\.io/")
"""Of what looks like an object and is a file's format, which no API server has."""
_FORCE = re.compile(r"\bforce\b[\"']?[ \t]*[:=]")
"""Of a task that replaces what is there; all others patch it. Which task a template belongs to cannot be told."""
_DEFINITIONS = ("definition", "resource_definition", "inline")
_FILES = ("src", "template")
_FIELD = r"^{}:[ \t]*[\"']?(?P<value>[^\s\"'#]+)"


@dataclass(frozen=True, order=True)
class Touch:
    """Verbs on a kind, or on its subresource."""

    api_version: str
    kind: str
    verbs: tuple[str, ...]
    subresource: str = ""

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


EVENTS = Touch("v1", "Event", ("create", "patch"))
"""The operator says how runs ended."""
LEASES = Touch("coordination.k8s.io/v1", "Lease", ("get", "create", "update"))
"""With `--leader-elect`."""


def of_watch(watch: Watch) -> Iterator[Touch]:
    """What the operator itself does with a kind that it watches."""
    gvk = watch.gvk
    version = f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version
    yield Touch(version, gvk.kind, (*READ, *(["update"] if watch.finalizer or watch.prune else [])))
    if watch.manage_status:
        yield Touch(version, gvk.kind, ("update",), "status")
    for reference in watch.references:
        yield Touch(reference.gvk.api_version, reference.gvk.kind, ("list", "watch"))
    for dependent in watch.reconcile_on:
        yield Touch(dependent.api_version, dependent.kind, READ)
    # For who may only set an owner reference to what they may finalize (OpenShift).
    yield Touch(version, gvk.kind, ("update",), "finalizers")


def of_content(project: Path) -> tuple[list[Touch], list[str]]:
    """What the project's roles and playbooks touch, and what cannot be told, each with its file."""
    touches: list[Touch] = []
    unknown: list[str] = []
    paths = sorted(path for place in ("roles", "playbooks") for path in (project / place).rglob("*"))
    files = [path for path in paths if path.is_file()]
    for file in files:
        for item in of_file(file):
            if isinstance(item, Touch):
                touches.append(item)
            else:
                unknown.append(f"{file.relative_to(project)}: {item}")
    return touches if any(map(_forces, files)) else [_patching(touch) for touch in touches], unknown


def _forces(file: Path) -> bool:
    return file.suffix in YAML and bool(_FORCE.search(file.read_text(encoding="utf-8", errors="replace")))


def _patching(touch: Touch) -> Touch:
    """Without what only tasks with `force` need."""
    kept = touch.verbs if touch.subresource else tuple(verb for verb in touch.verbs if verb != "update")
    return replace(touch, verbs=kept)


def of_file(file: Path) -> Iterator[Touch | str]:
    """What one file touches: tasks, plays, a template or a manifest."""
    if file.parent.name in ("templates", "files"):
        yield from of_text(file.read_text(encoding="utf-8", errors="replace"))
    elif file.suffix in YAML:
        documents, findings = read(file)
        yield from (finding.message for finding in findings)
        for document in documents:
            yield from of_tasks(document.node.plain())


def of_tasks(node: Any) -> Iterator[Touch | str]:  # noqa: ANN401  (any YAML)
    """What the tasks in `node` touch, however deep in blocks they are."""
    if isinstance(node, list):
        for item in node:
            yield from of_tasks(item)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        module = str(key).rpartition(".")[2]
        if module in MODULES and isinstance(value, dict):
            for found in _of_module(module, value):
                yield found if isinstance(found, Touch) else f"task {node.get('name', key)!r}: {found}"
        else:
            yield from of_tasks(value)


def _of_module(module: str, arguments: Mapping[str, Any]) -> Iterator[Touch | str]:
    for item in _of_arguments(module, arguments):
        if isinstance(item, str):
            yield item
        else:
            for subresource, verbs in MODULES[module]:
                of_state = _OF_STATE.get(str(arguments.get("state")), verbs) if module == "k8s" else verbs
                yield Touch(item.api_version, item.kind, of_state, subresource)


def _of_arguments(module: str, arguments: Mapping[str, Any]) -> Iterator[Touch | str]:
    """The kinds that a module's arguments name."""
    definition = next((arguments[name] for name in _DEFINITIONS if name in arguments), None)
    if definition is not None:
        yield from _of_definition(definition)
    elif any(name in arguments for name in _FILES):
        return  # a file of the role; every file of templates/ and files/ is looked at
    else:
        version = arguments.get("api_version", arguments.get("version", "v1"))
        yield _touch(str(version), str(arguments.get("kind", "Pod" if module in _OF_PODS else "")))


def _of_definition(definition: Any) -> Iterator[Touch | str]:  # noqa: ANN401  (any YAML)
    if isinstance(definition, list):
        for item in definition:
            yield from _of_definition(item)
    elif isinstance(definition, dict) and definition.get("kind") == "List":
        yield from _of_definition(definition.get("items") or [])
    elif isinstance(definition, dict):
        yield _touch(str(definition.get("apiVersion", "v1")), str(definition.get("kind", "")))
    elif "lookup(" not in str(definition):  # what a lookup reads is a file of the role
        yield from (
            of_text(str(definition)) if "kind:" in str(definition) else [f"its definition is {definition!r}"]
        )


def of_text(text: str) -> Iterator[Touch | str]:
    """The kinds of the manifests in `text`, a template or not, rendered or not."""
    for document in re.split(r"^---", text, flags=re.MULTILINE):
        kind, version = _field("kind", document), _field("apiVersion", document)
        if kind == "List":
            yield "it is a List, whose items are not looked at"
        elif kind and version and (version, kind) != KUBECONFIG and not _FILE_FORMATS.match(version):
            yield _touch(version, kind)


def _field(name: str, document: str) -> str:
    found = re.search(_FIELD.format(name), document, re.MULTILINE)
    return found["value"] if found else ""


def _touch(api_version: str, kind: str) -> Touch | str:
    if not kind or "{" in api_version + kind:
        return f"its kind is {kind!r} of {api_version!r}"
    return Touch(api_version, kind, WRITE)


def resource_of(touch: Touch, crds: list[Document]) -> str:
    """As rules name it: the plural, which a CRD says or which is guessed, and the subresource if there is one."""
    crd = crd_of(touch.group, touch.kind, crds)
    plural = (crd.text("spec", "names", "plural") if crd else "") or guessed_plural(touch.kind)
    return f"{plural}/{touch.subresource}" if touch.subresource else plural


def guessed_plural(kind: str) -> str:
    """As `UnsafeGuessKindToResource` of apimachinery guesses."""
    name = kind.lower()
    if name.endswith("s"):
        return name if name == "endpoints" else f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"

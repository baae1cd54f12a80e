"""Prints the ClusterRole that an operator needs, as far as its files tell.

    python tools/rbac.py [DIRECTORY] [--name NAME]

DIRECTORY holds watches.yaml and, if there are any, crds/, roles/ and playbooks/. The rules are those of the
watched kinds and of what tasks and templates name literally. What is decided at run time (a kind in a variable)
is listed on stderr: add its rule by hand, in a role of its own.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

READ = ("get", "list", "watch")
CHANGE = ("patch", "update")
WRITE = ("create", "delete", *READ, *CHANGE)


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
DEFINITIONS = ("definition", "resource_definition", "inline")
FILES = ("src", "template")
# Finalizers: for who may only set an owner reference to what they may finalize (OpenShift).
OWN_KIND = (("", READ), ("status", ("update",)), ("finalizers", ("update",)))
# The operator says how runs ended.
EVENTS = Touch("v1", "Event", ("create", "patch"))
_FIELD = r"^{}:[ \t]*[\"']?(?P<value>[^\s\"'#]+)"


class _Loader(yaml.SafeLoader):
    """Takes `!vault`, `!unsafe` and the like for what they stand in front of."""


_Loader.add_multi_constructor("!", lambda loader, _suffix, node: loader.construct_scalar(node))


class _Dumper(yaml.SafeDumper):
    """Indents lists, as ansible-lint wants them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def of_project(directory: Path) -> tuple[list[Touch], list[str]]:
    """What the operator in `directory` touches, and what cannot be told, each with its file."""
    touches, unknown = [EVENTS, *_of_watches(directory / "watches.yaml")], []
    for file in sorted(path for place in ("roles", "playbooks") for path in (directory / place).rglob("*")):
        if not file.is_file():
            continue
        found: Iterable[Touch | str]
        if file.parent.name in ("templates", "files"):
            found = of_text(file.read_text(errors="replace"))
        elif file.suffix in (".yml", ".yaml"):
            found = of_tasks(yaml.load(file.read_text(), _Loader))  # noqa: S506  (a safe loader, see above)
        else:
            continue
        for item in found:
            if isinstance(item, Touch):
                touches.append(item)
            else:
                unknown.append(f"{file.relative_to(directory)}: {item}")
    return touches, unknown


def _of_watches(file: Path) -> Iterator[Touch]:
    for watch in yaml.safe_load(file.read_text()):
        group, version = watch.get("group", ""), watch["version"]
        own = (*OWN_KIND, ("", ("update",))) if watch.get("finalizer") else OWN_KIND
        for subresource, verbs in own:
            yield Touch(f"{group}/{version}" if group else version, watch["kind"], verbs, subresource)


def of_tasks(node: Any) -> Iterator[Touch | str]:  # noqa: ANN401  (any YAML)
    """What the tasks in `node` touch, however deep in blocks they are; a text where that cannot be told."""
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
    named = list(_of_arguments(module, arguments))
    for item in named:
        if isinstance(item, str):
            yield item
        else:
            for subresource, verbs in MODULES[module]:
                yield Touch(item.api_version, item.kind, verbs, subresource)


def _of_arguments(module: str, arguments: Mapping[str, Any]) -> Iterator[Touch | str]:
    """The kinds that a module's arguments name."""
    definition = next((arguments[name] for name in DEFINITIONS if name in arguments), None)
    if definition is not None:
        yield from _of_definition(definition)
    elif any(name in arguments for name in FILES):
        return  # a file of the role; every file of templates/ and files/ is looked at
    else:
        version = arguments.get("api_version", arguments.get("version", "v1"))
        yield _touch(str(version), str(arguments.get("kind", "Pod" if module in _OF_PODS else "")))


def _of_definition(definition: Any) -> Iterator[Touch | str]:  # noqa: ANN401  (any YAML)
    if isinstance(definition, list):
        for item in definition:
            yield from _of_definition(item)
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
        if kind and version:
            yield _touch(version, kind)


def _field(name: str, document: str) -> str:
    found = re.search(_FIELD.format(name), document, re.MULTILINE)
    return found["value"] if found else ""


def _touch(api_version: str, kind: str) -> Touch | str:
    if not kind or "{" in api_version + kind:
        return f"its kind is {kind!r} of {api_version!r}"
    return Touch(api_version, kind, WRITE)


def plurals(crds: Path) -> dict[tuple[str, str], str]:
    """(group, kind) to the resource's name, from CustomResourceDefinitions."""
    documents = (item for file in sorted(crds.glob("*.y*ml")) for item in yaml.safe_load_all(file.read_text()))
    specs = (item["spec"] for item in documents if item and item.get("kind") == "CustomResourceDefinition")
    return {(spec["group"], spec["names"]["kind"]): spec["names"]["plural"] for spec in specs}


def guessed_plural(kind: str) -> str:
    """As `UnsafeGuessKindToResource` of apimachinery guesses."""
    name = kind.lower()
    if name.endswith("s"):
        return name if name == "endpoints" else f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def rules(touches: Iterable[Touch], known: Mapping[tuple[str, str], str]) -> list[dict[str, list[str]]]:
    """Rules of a role: one for each group and set of verbs, sorted."""
    verbs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for touch in touches:
        resource = known.get((touch.group, touch.kind)) or guessed_plural(touch.kind)
        verbs[touch.group, "/".join(filter(None, (resource, touch.subresource)))].update(touch.verbs)
    resources: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource), wanted in sorted(verbs.items()):
        resources[group, tuple(sorted(wanted))].append(resource)
    return [
        {"apiGroups": [group], "resources": names, "verbs": list(wanted)}
        for (group, wanted), names in sorted(resources.items())
    ]


def cluster_role(directory: Path, name: str) -> tuple[dict[str, Any], list[str]]:
    """The ClusterRole of the operator in `directory`, and what cannot be told."""
    touches, unknown = of_project(directory)
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules(touches, plurals(directory / "crds")),
    }, unknown


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the ClusterRole that an operator needs.")
    parser.add_argument("directory", nargs="?", type=Path, default=Path())
    parser.add_argument("--name", default="manager-role")
    parsed = parser.parse_args()
    role, unknown = cluster_role(parsed.directory, parsed.name)
    for item in unknown:
        sys.stderr.write(f"cannot tell: {item}\n")
    sys.stdout.write("# Made by tools/rbac.py; rules it cannot know belong in a role of their own.\n---\n")
    sys.stdout.write(yaml.dump(role, Dumper=_Dumper, sort_keys=False))


if __name__ == "__main__":
    main()

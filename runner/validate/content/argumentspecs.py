"""Mistakes in the argument specs of roles, which Ansible passes over in silence, or finds only in a run."""

from __future__ import annotations

from collections.abc import Iterator

from runner.config.yamlfile import Located
from runner.validate.content.closure import Closure
from runner.validate.content.modules import meant
from runner.validate.documents import child, entries, text
from runner.validate.findings import Finding

TYPES = ("str", "path", "int", "float", "bool", "list", "dict", "raw", "json", "jsonarg", "bytes", "bits")
KEYS = frozenset(
    (
        *("type", "elements", "required", "default", "choices", "description", "no_log", "aliases", "options"),
        *("apply_defaults", "fallback", "deprecated_aliases", "version_added", "removed_in_version"),
        *("removed_at_date", "removed_from_collection", "mutually_exclusive", "required_together"),
        *("required_one_of", "required_if", "required_by"),
    )
)
"""Those of an option. Other ones are taken for somebody's notes, unless they are nearly one of these, or empty."""


def check(closure: Closure) -> Iterator[Finding]:
    """What is wrong with the options of the roles that a content leads to."""
    for source in closure.sources:
        if source.kind == "meta" and source.path.stem == "argument_specs":
            for name, entry in entries(source.document.get("argument_specs")).items():
                yield from _options(source.file, entry, f"argument_specs.{name}")


def _options(file: str, holder: Located, place: str) -> Iterator[Finding]:
    for name, option in entries(child(holder, "options")).items():
        field = f"{place}.options.{name}"
        yield from _option(file, option, field)
        yield from _options(file, option, field)


def _option(file: str, option: Located, field: str) -> Iterator[Finding]:
    for key in ("type", "elements"):
        node = child(option, key)
        if (word := text(node)) and word not in TYPES:
            message = f"{word!r} is no type of Ansible's{meant(word, TYPES)}: use one of {', '.join(TYPES)}"
            yield Finding("argument-spec-type", file, node.line, f"{field}.{key}", message)
    for key, node in entries(option).items():
        if key not in KEYS and (node.value is None or meant(key, KEYS)):
            message = f"Ansible knows no {key!r} of an option, and passes over it{_hint(key, node)}"
            yield Finding("argument-spec-unknown", file, node.line, f"{field}.{key}", message)


def _hint(key: str, node: Located) -> str:
    quote = "; text with a comma in {…} needs quotes" if node.value is None else ""
    return meant(key, KEYS) or quote

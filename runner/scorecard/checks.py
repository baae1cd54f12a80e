"""The basic and OLM tests of operator-sdk's scorecard, with what an operator made of the examples. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from runner.validate.findings import Finding
from runner.validate.rules import Severity

Object = Mapping[str, Any]
_REGENERATE = "make the bundle anew with `ansible-operator generate bundle`"


class State(StrEnum):
    PASS = "pass"  # noqa: S105  (no password)
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a bundle.

    `examples` are those of its ClusterServiceVersion; `refused` is what the API server said against the bundle's
    objects and examples, by what it was; `reconciled` has each example as the operator left it.
    """

    csv: Object
    crds: Sequence[Object]
    examples: Sequence[Object]
    findings: Sequence[Finding] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    reconciled: Sequence[Object] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a test has to say: what is wrong (or not, only worth a thought), and what to do."""

    error: str = ""
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one test."""

    name: str
    errors: tuple[str, ...]
    suggestions: tuple[str, ...]
    log: str = ""

    @property
    def state(self) -> State:
        return State.FAIL if self.errors else State.PASS


def run(name: str, seen: Seen) -> Result:
    said = list(_TESTS[name](seen))
    errors = dict.fromkeys(one.error for one in said if one.error)
    suggestions = dict.fromkeys(one.suggestion for one in said if one.suggestion)
    log = f"{len(seen.examples)} examples, {len(seen.reconciled)} of them reconciled\n"
    return Result(name, tuple(errors), tuple(suggestions), log)


def named(example: Object) -> str:
    return f"{example.get('kind')} {example.get('metadata', {}).get('name')}"


def _check_spec(seen: Seen) -> Iterator[Said]:
    if not seen.examples:
        yield Said(
            "there are no examples", f"keep a custom resource of each kind in config/samples, and {_REGENERATE}"
        )
    for example in seen.examples:
        if example.get("spec") is None:
            yield Said(f"{named(example)} has no spec", f"give it one in config/samples, and {_REGENERATE}")


def _bundle_validation(seen: Seen) -> Iterator[Said]:
    for finding in seen.findings:
        text = f"{finding.file}:{finding.line}: {finding.field}: {finding.message}"
        yield Said(text, text) if finding.severity is Severity.ERROR else Said(suggestion=text)
    for what, why in seen.refused.items():
        yield Said(f"the API server refuses {what}: {why}", f"mend {what} in config/, and {_REGENERATE}")


def _crds_have_validation(seen: Seen) -> Iterator[Said]:
    for example in (*seen.examples, *seen.reconciled):
        schema = _schema_of(example, seen.crds)
        if schema is None:
            yield Said(f"{named(example)}: no CRD of the bundle defines its version", _REGENERATE)
            continue
        for part in ("spec", "status"):
            known = schema.get("properties", {}).get(part, {}).get("properties", {})
            for name in set(example.get(part) or ()) - set(known):
                kind = example["kind"]
                what = f"give `{name}` a type in the {part} of {kind}'s CRD"
                yield Said(f"{named(example)}: the schema has no {part}.{name}", what)


def _schema_of(example: Object, crds: Iterable[Object]) -> Object | None:
    group, _, version = str(example.get("apiVersion")).rpartition("/")
    for crd in crds:
        spec = crd["spec"]
        if (spec["group"], spec["names"]["kind"]) == (group, example.get("kind")):
            for one in spec["versions"]:
                if one["name"] == version:
                    found: Object = one.get("schema", {}).get("openAPIV3Schema", {})
                    return found
    return None


def _owned(seen: Seen) -> Sequence[Object]:
    found: Sequence[Object] = seen.csv["spec"].get("customresourcedefinitions", {}).get("owned") or ()
    return found


def _owned_of(example: Object, seen: Seen) -> Object | None:
    version = str(example.get("apiVersion")).rpartition("/")[2]
    kinds = [one for one in _owned(seen) if one.get("kind") == example.get("kind")]
    return next((one for one in kinds if one.get("version") == version), kinds[0] if kinds else None)


def _crds_have_resources(seen: Seen) -> Iterator[Said]:
    for one in _owned(seen):
        if not one.get("resources"):
            yield Said(
                f"{one.get('kind')} {one.get('version')} does not say which resources its runs make",
                f"list its `resources` in the base, config/manifests/bases, and {_REGENERATE}",
            )


def _spec_descriptors(seen: Seen) -> Iterator[Said]:
    for example in seen.examples:
        yield from _described(example, "spec", "specDescriptors", seen)


def _status_descriptors(seen: Seen) -> Iterator[Said]:
    for example in seen.reconciled:
        if not example.get("status"):
            yield Said(
                f"{named(example)}: the operator has written no status",
                "look at its log; with `manageStatus: false` the role has to write one",
            )
        yield from _described(example, "status", "statusDescriptors", seen)
    for example in seen.examples if not seen.reconciled else ():
        yield Said(f"{named(example)} was not reconciled", "see what the API server says against the bundle")


def _described(example: Object, part: str, list_: str, seen: Seen) -> Iterator[Said]:
    owned = _owned_of(example, seen)
    if owned is None:
        yield Said(f"{named(example)}: its kind is not among the owned ones", _REGENERATE)
        return
    known = {str(one.get("path")) for one in owned.get(list_) or ()}
    for name in sorted(set(example.get(part) or ()) - known):
        yield Said(
            f"{named(example)}: {part}.{name} has no descriptor",
            f"give `{name}` a type in the {part} of {example['kind']}'s CRD, and {_REGENERATE}",
        )


_TESTS: Mapping[str, Callable[[Seen], Iterator[Said]]] = {
    "basic-check-spec": _check_spec,
    "olm-bundle-validation": _bundle_validation,
    "olm-crds-have-validation": _crds_have_validation,
    "olm-crds-have-resources": _crds_have_resources,
    "olm-spec-descriptors": _spec_descriptors,
    "olm-status-descriptors": _status_descriptors,
}

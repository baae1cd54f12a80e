"""Holds the rights that manifests give an account against those it has used, by the API server's audit log.

`python -m tools.privileges AUDIT_LOG NAMESPACE/ACCOUNT` looks at config/rbac. It prints what was not used, and why
it is given, and fails where the account was refused anything, or docs/security.md has no reason for what it never
used.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
MANIFESTS = ROOT / "config/rbac"
REASONS = ROOT / "docs/security.md"
_REASON = "authorization.k8s.io/reason"
_DECISION = "authorization.k8s.io/decision"
_ALLOWED_BY = re.compile(r'of (?:ClusterRole|Role) "([^"]+)"')
_ROW = re.compile(r"^\| `([a-z, ]+)` \| ((?:`[^`]+`(?:, )?)+) \| (\S.*) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """A verb on a resource, named as people name it: `pods`, `podsets/status.sample.example.com`."""

    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}"


Given = set[tuple[str, Right]]
"""Rights, each with the name of the role that gives it."""


@dataclass(slots=True)
class Use:
    """What an account has asked for: by what role it was allowed, and what was refused."""

    requests: int = 0
    allowed: Given = field(default_factory=set)
    refused: set[Right] = field(default_factory=set)


def named(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource


def use_of(lines: Iterable[str], user: str) -> Use:
    """By the lines of the audit log; requests for no resource, such as discovery, are everybody's."""
    use = Use()
    for line in lines:
        event = json.loads(line)
        if event["user"]["username"] != user or "objectRef" not in event:
            continue
        use.requests += event["stage"] == "ResponseComplete"
        about, notes = event["objectRef"], event.get("annotations", {})
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        right = Right(named(about.get("apiGroup", ""), resource), event["verb"])
        role = _ALLOWED_BY.search(notes.get(_REASON, ""))
        if notes.get(_DECISION) == "forbid":
            use.refused.add(right)
        elif role:
            use.allowed.add((role[1], right))
    return use


def given_by(manifests: Iterable[dict[str, Any]], account: str) -> Given:
    """What the roles that are bound to the account allow."""
    objects = list(manifests)
    bound = {
        (one["roleRef"]["kind"], one["roleRef"]["name"])
        for one in objects
        if one["kind"] in ("RoleBinding", "ClusterRoleBinding")
        and any(f"{subject.get('namespace')}/{subject['name']}" == account for subject in one["subjects"])
    }
    roles = [one for one in objects if (one["kind"], one["metadata"]["name"]) in bound]
    return {(role["metadata"]["name"], right) for role in roles for right in _rights(role)}


def _rights(role: dict[str, Any]) -> Iterator[Right]:
    for rule in role["rules"]:
        for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"]):
            yield Right(named(group, resource), verb)


def explained(page: str) -> dict[Right, str]:
    """The reasons for what is given and not used, by the rows of the page's table: verbs, resources, reason."""
    return {
        Right(resource, verb): reason
        for verbs, resources, reason in _ROW.findall(page)
        for verb in verbs.split(", ")
        for resource in re.findall(r"`([^`]+)`", resources)
    }


def objections(given: Given, use: Use, reasons: Iterable[Right]) -> list[str]:
    """What is wrong: refused; given, not used and without a reason; a reason for what is not given.

    A reason for what is used is nothing wrong: some rights are used in one run and not in the next.
    """
    unused = {right for _, right in given - use.allowed}
    known = set(reasons)
    return [
        *(f"refused: {right}" for right in sorted(use.refused)),
        *(f"given, but not used, and there is no reason in the table: {one}" for one in sorted(unused - known)),
        *(f"in the table, but not given: {one}" for one in sorted(known - {right for _, right in given})),
    ]


def documents(directory: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(directory.glob("*.yaml")):
        yield from (one for one in yaml.safe_load_all(file.read_text()) if one)


def main(audit_log: str, account: str) -> int:
    given = given_by((one for one in documents(MANIFESTS) if one["kind"] != "Kustomization"), account)
    with Path(audit_log).open() as lines:
        use = use_of(lines, f"system:serviceaccount:{account.replace('/', ':')}")
    reasons = explained(REASONS.read_text())
    for role, right in sorted(given - use.allowed):
        sys.stdout.write(f"{role}: {right}: not used: {reasons.get(right, 'no reason is known')}\n")
    found = objections(given, use, reasons)
    used = len(given & use.allowed)
    sys.stdout.write(f"{use.requests} requests, {len(given)} rights: {used} used, {len(given) - used} not\n")
    sys.stderr.write("".join(f"{one}\n" for one in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

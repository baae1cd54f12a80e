"""Objects of the operator that no run may change through the API proxy, nor read if they are Secrets.

The operator's account may write these objects, so every run could. This is no boundary against code in the
operator's pod that reads the account's token: it keeps a role from being led there by a name in a custom resource.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runner.serve.forward import Target

EVERY = ""
"""The name that stands for every object of a resource in its namespace."""
_READS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class ProtectedObject:
    """One object; `namespace` is empty if its kind has none, `name` may be EVERY."""

    group: str
    plural: str
    namespace: str
    name: str

    @property
    def is_secret(self) -> bool:
        return (self.group, self.plural) == ("", "secrets")

    def __str__(self) -> str:
        kind = ".".join(filter(None, (self.plural, self.group)))
        return f"{kind} {'/'.join(filter(None, (self.namespace, self.name))) or '(all of them)'}"


class Protection:
    """The protected objects of all parts of the operator, as the API proxy asks for them."""

    def __init__(self) -> None:
        self.objects: frozenset[ProtectedObject] = frozenset()
        self._of_parts: dict[str, frozenset[ProtectedObject]] = {}

    def protect(self, part: str, objects: Iterable[ProtectedObject]) -> None:
        """Replace the objects that this part of the operator protects."""
        self._of_parts[part] = frozenset(objects)
        self.objects = frozenset().union(*self._of_parts.values())


def refusal(objects: Iterable[ProtectedObject], method: str, target: Target) -> str:
    """Why a run's request may not pass; empty if it may."""
    for one in objects:
        if _is_refused(one, method, target):
            forbidden = "read or change" if one.is_secret else "change"
            return f"{one} is the operator's own: the API proxy lets no run {forbidden} it (docs/security.md)"
    return ""


def _is_refused(one: ProtectedObject, method: str, target: Target) -> bool:
    """Lists pass, and so do creations, whose names are in their bodies: a protected object exists already."""
    if (target.group, target.plural) != (one.group, one.plural) or target.namespace not in ("", one.namespace):
        return False
    reads = method in _READS
    if not target.name:
        return method == "DELETE" or (one.name == EVERY and not reads)
    return one.name in (EVERY, target.name) and (one.is_secret or not reads)

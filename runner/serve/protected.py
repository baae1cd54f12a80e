"""Objects of the operator that no run may change through the API proxy, nor read if they are Secrets.

Lists of Secrets go to the API server with a field selector that leaves the protected ones out.

The operator's account may write these objects, so every run could. This is no boundary against code in the
operator's pod that reads the account's token: it keeps a role from being led there by a name in a custom resource.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runner.serve.forward import Target, selecting

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


def refusal(objects: Iterable[ProtectedObject], method: str, target: Target, *, upgrades: bool) -> str:
    """Why a run's request may not pass; empty if it may."""
    for one in objects:
        if _is_refused(one, method, target, upgrades=upgrades):
            forbidden = "read or change" if one.is_secret else "change"
            return f"{one} is the operator's own: the API proxy lets no run {forbidden} it (docs/security.md)"
    return ""


def narrowed(objects: Iterable[ProtectedObject], method: str, raw_path: str, target: Target | None) -> str:
    """The target of a request; of a list or watch of Secrets, without the protected ones.

    A selector knows no namespace and name together, so Secrets of that name in other namespaces are left out, too.
    """
    if target is None or method not in _READS:
        return raw_path
    names = [one.name for one in objects if _lists(one, target)]
    return selecting(raw_path, [f"metadata.name!={name}" for name in sorted(names)]) if names else raw_path


def _lists(one: ProtectedObject, target: Target) -> bool:
    """Whether the target is a collection that has this Secret."""
    return one.is_secret and not target.name and _is_among(one, target)


def _is_among(one: ProtectedObject, target: Target) -> bool:
    return (target.group, target.plural) == (one.group, one.plural) and target.namespace in ("", one.namespace)


def _is_refused(one: ProtectedObject, method: str, target: Target, *, upgrades: bool) -> bool:
    """Creations pass, as their names are in their bodies: a protected object exists already."""
    if not _is_among(one, target):
        return False
    concerned = one.is_secret or method not in _READS
    if target.name or one.name == EVERY:
        return concerned and one.name in (EVERY, target.name)
    return method == "DELETE" or (one.is_secret and method in _READS and upgrades)

"""Where modules find Ansible collections: Ansible's own finder belongs to the controller side."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType

_TOP = "ansible_collections"
_PLACES: list[str] = []
_CHOSEN: dict[str, str] = {}


class _Finder(MetaPathFinder, Loader):
    """Makes the three upper packages out of nothing, each collection in the one place that was chosen for it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002  (the protocol's signature)
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        parts = fullname.split(".")
        if parts[0] != _TOP or len(parts) > 3:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.submodule_search_locations = []
        if len(parts) == 3:
            place = _place(".".join(parts[1:]))
            if place is None:
                return None
            spec.submodule_search_locations = [os.path.join(place, *parts)]
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The default one."""

    def exec_module(self, module: ModuleType) -> None:
        """There is no code: a payload of Ansible's has empty files here."""


def install(places: Sequence[str]) -> None:
    """Let collections be imported from these directories, in this order."""
    _PLACES[:] = places
    sys.meta_path.insert(0, _Finder())


def use(chosen: dict[str, str]) -> None:
    """Import these collections (`namespace.name`) from these places and no others."""
    _CHOSEN.update(chosen)


def _place(collection: str) -> str | None:
    if collection in _CHOSEN:
        return _CHOSEN[collection]
    parts = collection.split(".")
    return next((place for place in _PLACES if os.path.isdir(os.path.join(place, _TOP, *parts))), None)

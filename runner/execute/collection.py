"""Where runs find the bundled collection `operator_sdk.util`: behind every place where a user may have their own.

Ansible looks for collections in its configured paths and then along Python's, so the bundled one goes to the end
of PYTHONPATH. Setting ANSIBLE_COLLECTIONS_PATH instead would override an ansible.cfg, or Ansible's defaults.
"""

from __future__ import annotations

import os
import site
from collections.abc import Iterable, Mapping
from pathlib import Path

COLLECTIONS = Path(__file__).parents[1] / "collections"
_UTIL = Path("ansible_collections", "operator_sdk", "util")


def python_path(environment: Mapping[str, str], installed: Iterable[str] | None = None) -> str | None:
    """PYTHONPATH for runs that inherit `environment`; None leaves it alone.

    `installed` are the directories of installed packages, which Python looks through after PYTHONPATH: a
    collection in one of them is the user's own. By default they are those of this Python, which runs Ansible, too.
    """
    places = _site_packages() if installed is None else installed
    if any((Path(place) / _UTIL).is_dir() for place in places):
        return None
    return os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), str(COLLECTIONS))))


def _site_packages() -> list[str]:
    return [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]

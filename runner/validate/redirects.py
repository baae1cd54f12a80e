"""The collections behind short module names: `k8s` is kubernetes.core.k8s, as ansible-core routes it."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_SECTION = re.compile(r"^  modules:\n(.*?)(?=^  \w)", re.MULTILINE | re.DOTALL)
_REDIRECT = re.compile(r"^    (\S+):\n      redirect: (\S+)$", re.MULTILINE)


@cache
def redirects() -> dict[str, str]:
    """Short name to full name; empty where ansible-core is not installed. Its file is read, it is not imported."""
    spec = find_spec("ansible")
    if spec is None or spec.origin is None:
        return {}
    try:
        text = (Path(spec.origin).parent / "config/ansible_builtin_runtime.yml").read_text(encoding="utf-8")
    except OSError:
        return {}
    section = _SECTION.search(text)
    return dict(_REDIRECT.findall(section[1])) if section else {}

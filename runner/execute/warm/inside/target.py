"""How a module is run on the target side, for each line of ansible-core."""

from __future__ import annotations

import runpy
import sys
from typing import Any, NoReturn

from ansible.module_utils import basic


def run(module: str, parameters: bytes, profile: str) -> NoReturn:
    """Run the module of this full name as a script. Raises SystemExit, and what the module raises."""
    place = {"_module_fqn": module, "_modlib_path": ""}
    sys.path[:] = [entry for entry in sys.path if entry not in {"", "."}]
    if profile:
        from ansible.module_utils._internal._ansiballz import _loader

        _loader.run_module(
            json_params=parameters,
            profile=profile,
            module_fqn=module,
            modlib_path="",
            extensions={},
            init_globals=place,
        )
    else:
        _run_legacy(module, parameters, place)
    sys.exit(1)


def _run_legacy(module: str, parameters: bytes, place: dict[str, Any]) -> None:
    """As the wrapper of ansible-core 2.18 does."""
    basic._ANSIBLE_ARGS = parameters
    runpy.run_module(mod_name=module, init_globals=place, run_name="__main__", alter_sys=True)
    print('{"msg": "New-style module did not handle its own exit", "failed": true}')  # noqa: T201

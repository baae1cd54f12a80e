"""What a case of the corpus is: a small project in `cases/<name>/`, and `case.yml` that says how it is run.

`case.yml` may use `$project`, `$work`, `$home`, `$rundir`, `$python` and what else the test knows (`$namespace`,
`$http`); `$$` is a dollar sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

import yaml

CASES = Path(__file__).with_name("cases")
METADATA = "case.yml"


@dataclass(frozen=True, slots=True)
class Case:
    """One run of Ansible.

    `content` is a playbook, or a role's directory if it begins with `roles/`; `return_code` is what the run must
    end with, `says` what its output must hold, so that a case which checks nothing any more is noticed; `needs`
    names what must be there (`kubernetes`, `http`); `volatile` are keys whose values differ from run to run by
    their nature; `unordered` says that the order of events is left to chance, by stock Ansible too, `polled` that
    the number of polls of a job is; `covered` says what the warm engine makes of the case: `warm`, `plugin` (warm,
    but the real plugin starts the module) or `cold`; `only` is the one release of ansible-core that it is for, if
    any.
    """

    name: str
    content: str = "playbook.yml"
    extra_vars: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: str = ""
    verbosity: int = 2
    gather_facts: bool = False
    return_code: int = 0
    says: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    unordered: bool = False
    polled: bool = False
    covered: str = "warm"
    only: str = ""

    @property
    def is_role(self) -> bool:
        return self.content.startswith("roles/")


RELEASE = ".".join(version("ansible-core").split(".")[:2])
"""The release of ansible-core that is installed: what a case says of it under `releases` goes before the rest."""


def names(directory: Path = CASES) -> list[str]:
    """The cases there are for the release of ansible-core that is installed, in order."""
    found = sorted(path.parent.name for path in directory.glob(f"*/{METADATA}"))
    return [name for name in found if read(name, directory=directory).only in ("", RELEASE)]


def read(name: str, values: Mapping[str, str] | None = None, directory: Path = CASES) -> Case:
    """The case of that name. Raises ValueError for a key that means nothing."""
    text = (directory / name / METADATA).read_text(encoding="utf-8")
    given = yaml.safe_load(Template(text).safe_substitute(values or {})) or {}
    given |= given.pop("releases", {}).get(RELEASE, {})
    if unknown := set(given) - {known.name for known in fields(Case)}:
        raise ValueError(f"{name}/{METADATA}: {', '.join(sorted(unknown))} means nothing here")
    return Case(name, **{key: _frozen(value) for key, value in given.items()})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

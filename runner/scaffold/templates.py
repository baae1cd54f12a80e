"""The templates of files, which come with this package: `<<name>>` stands for a value, all else for itself.

Neither Jinja nor a shell writes anything like it, so templates of roles, Makefiles and manifests read as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

_DIRECTORY = Path(__file__).parent / "templates"
_PLACE = re.compile(r"<<(\w+)>>")
_DOT = re.compile(r"^dot-")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Raises KeyError for a place that has no value."""
    return _PLACE.sub(lambda found: values[found[1]], text)


def template(name: str, values: Mapping[str, str]) -> str:
    """The text of one template."""
    return fill((_DIRECTORY / name).read_text(encoding="utf-8"), values)


def tree(name: str, values: Mapping[str, str]) -> dict[Path, str]:
    """The files of a directory of templates, by their paths in it; `dot-` begins the name of a hidden one."""
    return {
        Path(*(_DOT.sub(".", part) for part in path.parts)): template(f"{name}/{path}", values)
        for path in _files(_DIRECTORY / name)
    }


def _files(directory: Path) -> Iterator[PurePosixPath]:
    for path in sorted(directory.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield PurePosixPath(path.relative_to(directory).as_posix())

"""Generated files of a project: written, or compared with what is there."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from runner.errors import SettingsError

Files = Mapping[Path, str]
"""What each file is to hold, by its path in the project."""


def check(project: Path, files: Files) -> int:
    """Print how the project's files differ; the exit code is 1 where one does. Raises SettingsError."""
    found = differences(project, files)
    sys.stdout.write(found)
    return 1 if found else 0


def write(project: Path, files: Files) -> int:
    """Write them and say which; the exit code. Raises SettingsError for one that cannot be written."""
    for path, text in files.items():
        try:
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            (project / path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"{path} cannot be written: {error.strerror}") from error
        sys.stdout.write(f"{path}\n")
    return 0


def differences(project: Path, files: Files) -> str:
    """A unified diff from the files as they are to what they should be."""
    return "".join(_difference(path, _read(project / path), text) for path, text in files.items())


def _difference(path: Path, old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(path), f"{path} (generated)")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _read(path: Path) -> str:
    """Nothing where there is no file. Raises SettingsError for one that cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error


def yaml_text(document: Any) -> str:  # noqa: ANN401  (JSON)
    """JSON as YAML, in the order it is in, with its lists indented and its long texts broken."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Indents lists, as ansible-lint wants them, and writes texts of several lines as such, all out."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, _data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)

"""kubeconfig files as kubectl reads them: several files, first value wins, paths relative to their file.

kopf's `login_with_kubeconfig` is not used: it reads one environment variable only, fails on a file of the list
that is absent, resolves paths against the working directory and knows neither token files nor exec plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from runner.errors import CredentialsError

Section = Mapping[str, Any]
PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster and the user of the current context; paths are absolute. `user` holds secrets."""

    context: str
    cluster: Section
    user: Section = field(repr=False)
    directory: Path


def read(files: Iterable[Path]) -> Target:
    """The current context of these files together; absent files are skipped.

    Raises CredentialsError: none exists, one cannot be read, or the context is incomplete.
    """
    paths = list(files)
    found = [(path, _parse(path)) for path in paths if path.is_file()]
    if not found:
        raise CredentialsError(f"no kubeconfig found at {_names(paths)}: give the path of one that exists")
    where = _names(path for path, _ in found)
    current = next((text for _, body in found if (text := body.get("current-context"))), "")
    if not current:
        raise CredentialsError(f"{where}: no current-context: set it with `kubectl config use-context`")
    context = _named(found, "contexts", "context", current, where)[0]
    cluster, home = _named(found, "clusters", "cluster", context.get("cluster", ""), where)
    user, user_home = _named(found, "users", "user", context.get("user", ""), where)
    if not cluster.get("server"):
        raise CredentialsError(f"{where}: the cluster of context {current!r} names no server")
    return Target(current, _absolute(cluster, home), _absolute(user, user_home), user_home)


def _parse(path: Path) -> Section:
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise CredentialsError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # Not the error's own text: it quotes the file, which holds secrets.
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise CredentialsError(f"{path}: not valid YAML{line}") from None
    if not isinstance(body, dict):
        raise CredentialsError(f"{path}: not a kubeconfig: the top level must be a mapping")
    return body


def _named(
    found: Iterable[tuple[Path, Section]], section: str, key: str, name: str, where: str
) -> tuple[Section, Path]:
    for path, body in found:
        for item in body.get(section) or ():
            if item.get("name") == name:
                return item.get(key) or {}, path.parent.absolute()
    raise CredentialsError(f"{where}: {section} has no entry named {name!r}, which the current context needs")


def _absolute(section: Section, home: Path) -> Section:
    paths = {key: str(home / Path(section[key]).expanduser()) for key in PATHS if section.get(key)}
    return {**section, **paths}


def _names(paths: Iterable[Path]) -> str:
    return ", ".join(map(str, paths))

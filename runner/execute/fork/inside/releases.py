"""What differs between releases of ansible-core in how a module is packed: all that is private and used of it."""

from __future__ import annotations

import datetime
import inspect
import json
import os
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ansible import constants as C  # noqa: N812  (ansible's own name for it)
from ansible.executor import module_common
from ansible.release import __version__ as VERSION  # noqa: N812

Call = Mapping[str, Any]
"""The arguments of one call of Ansible's `modify_module`."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A module call: its parameters as JSON, how results are encoded, `#!` line, limit of open files (0: none)."""

    parameters: str
    profile: str
    shebang: str
    open_files: int


class Release(Protocol):
    """One release of ansible-core."""

    def build(self, path: str, archive: zipfile.ZipFile) -> str:
        """Write the payload of a module; its full name, empty if it has none or is no new-style Python module."""
        ...

    def pack(self, call: Call) -> Packed:
        """Everything of a module call but the payload. Raises what Ansible raises."""
        ...

    def answer(self, data: bytes, packed: Packed) -> object:
        """What `modify_module` returns."""
        ...

    def data(self, answer: Any) -> bytes:
        """What is to be run, from that which `modify_module` returns."""
        ...


def release() -> Release | None:
    """That of the ansible-core that is installed; None for one that nobody has looked at."""
    known: dict[str, Callable[[], Release]] = {"2.18": _Release218, "2.19": _Release219}
    make = known.get(".".join(VERSION.split(".")[:2]))
    return make() if make else None


class _Release218:
    def build(self, path: str, archive: zipfile.ZipFile) -> str:
        data, name = _python(path)
        if not name:
            return ""
        now = time.gmtime()[:6]
        module_common.recursive_finder(Path(path).stem, name, data, archive, now)
        module_common._add_module_to_zip(archive, now, name, data)
        return name

    def pack(self, call: Call) -> Packed:
        from ansible.parsing.ajson import AnsibleJSONEncoder

        parameters = {"ANSIBLE_MODULE_ARGS": call["module_args"]}
        limit = _open_files(call)
        if not isinstance(limit, int):
            limit = int(call["templar"].template(limit))
        return Packed(
            json.dumps(parameters, cls=AnsibleJSONEncoder, vault_to_text=True), "", _shebang(call), limit
        )

    def answer(self, data: bytes, packed: Packed) -> object:
        return data, "new", packed.shebang

    def data(self, answer: Any) -> bytes:
        return bytes(answer[0])


class _Release219:
    def build(self, path: str, archive: zipfile.ZipFile) -> str:
        from ansible._internal._datatag._tags import Origin

        data, name = _python(path)
        if not name:
            return ""
        now = datetime.datetime.now(datetime.UTC)
        manager = _extensions({})
        metadata = module_common.recursive_finder(
            Path(path).stem, name, Origin(path=path).tag(data), archive, now, manager
        )
        if metadata.serialization_profile != "legacy":
            return ""
        module_common._add_module_to_zip(archive, now, name, data, path, manager)
        return name

    def pack(self, call: Call) -> Packed:
        from ansible._internal._templating._engine import TemplateOptions
        from ansible.module_utils.common.json import Direction, get_module_encoder

        encoder = get_module_encoder("legacy", Direction.CONTROLLER_TO_MODULE)
        parameters = json.dumps({"ANSIBLE_MODULE_ARGS": call["module_args"]}, cls=encoder)
        limit = _open_files(call)
        if not isinstance(limit, int):
            engine = call["templar"]._engine
            limit = int(engine.template(limit, options=TemplateOptions(value_for_omit=0)))
        return Packed(parameters, "legacy", _shebang(call), limit)

    def answer(self, data: bytes, packed: Packed) -> object:
        return module_common._BuiltModule(
            b_module_data=data,
            module_style="new",
            shebang=packed.shebang,
            serialization_profile=packed.profile,
        )

    def data(self, answer: Any) -> bytes:
        return bytes(answer.b_module_data)


def _python(path: str) -> tuple[bytes, str]:
    data = Path(path).read_bytes()
    new = module_common.NEW_STYLE_PYTHON_MODULE_RE.search(data) and module_common.REPLACER not in data
    if not new or module_common._is_binary(data):
        return data, ""
    try:
        return data, str(module_common._get_ansible_module_fqn(path))
    except ValueError:
        return data, ""  # a role's own


def _extensions(task_vars: Mapping[str, Any]) -> Any:
    from ansible._internal._ansiballz import _builder

    return _builder.ExtensionManager.create(task_vars=task_vars)


def extended(call: Call) -> bool:
    """Whether a debugger or the measuring of coverage is asked for, which belong into a payload."""
    if "_ANSIBLE_COVERAGE_CONFIG" in os.environ:
        return True
    return not VERSION.startswith("2.18") and bool(_extensions(call["task_vars"]).extension_names)


def _open_files(call: Call) -> Any:
    return C.config.get_config_value("PYTHON_MODULE_RLIMIT_NOFILE", variables=call["task_vars"])


def _shebang(call: Call) -> str:
    data = Path(call["module_path"]).read_bytes()
    interpreter, arguments = module_common._extract_interpreter(data)
    shebang, _ = module_common._get_shebang(
        interpreter or "/usr/bin/python",
        call["task_vars"],
        call["templar"],
        arguments,
        remote_is_local=call["remote_is_local"],
    )
    return str(shebang)


def call_of(arguments: tuple[Any, ...], named: dict[str, Any]) -> Call:
    """The arguments of `modify_module`, by name."""
    bound = _SIGNATURE.bind(*arguments, **named)
    bound.apply_defaults()
    return {**bound.arguments, "task_vars": bound.arguments["task_vars"] or {}}


_SIGNATURE = inspect.signature(module_common.modify_module)

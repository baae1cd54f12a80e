"""What differs between releases of ansible-core: the only place that asks which one this is.

Three processes read this: the operator, that of plays, and that of modules, of which only plays may import
Ansible's controller side. Therefore Ansible is imported within functions.
"""

from __future__ import annotations

import datetime
import inspect
import json
import os
import runpy
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from . import patches

Call = Mapping[str, Any]
"""The arguments of one call of Ansible's `modify_module`."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A module call: its parameters as JSON, `#!` line, limit of open files (0: none)."""

    parameters: str
    shebang: str
    open_files: int


class Release(Protocol):
    """One release of ansible-core."""

    imports_of_plays: tuple[str, ...]
    """What a run imports when it first needs it."""
    imports_of_modules: tuple[str, ...]
    """What a module's payload imports before the module."""
    detaches_workers: bool
    """Whether a worker has standard streams of its own, which it looks into after its task."""

    def template_environment(self) -> Any:
        """Jinja's environment as Ansible has it, new."""
        ...

    def worker_context(self, process: Any) -> AbstractContextManager[Any]:
        """What a worker sets up around its task."""
        ...

    def build(self, path: str, archive: zipfile.ZipFile) -> str:
        """Write the payload of a module; its full name, empty if it has none or is no new-style Python module."""
        ...

    def is_extended(self, call: Call) -> bool:
        """Whether a debugger or the measuring of coverage is asked for, which belong into a payload."""
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

    def run(self, module: str, parameters: bytes) -> None:
        """In the process of a module: run the one of this full name as a script. Raises what it raises."""
        ...


class _Release218:
    imports_of_plays: tuple[str, ...] = ()
    imports_of_modules: tuple[str, ...] = ()
    detaches_workers = False

    def template_environment(self) -> Any:
        from ansible.template import AnsibleEnvironment

        return AnsibleEnvironment()

    def worker_context(self, process: Any) -> AbstractContextManager[Any]:
        process._save_stdin()
        return nullcontext()

    def build(self, path: str, archive: zipfile.ZipFile) -> str:
        data, name = _python(path)
        if not name:
            return ""
        now = time.gmtime()[:6]
        common = _module_common()
        common.recursive_finder(Path(path).stem, name, data, archive, now)
        common._add_module_to_zip(archive, now, name, data)
        return name

    def is_extended(self, call: Call) -> bool:  # noqa: ARG002  (the protocol's)
        return _measures_coverage()

    def pack(self, call: Call) -> Packed:
        from ansible.parsing.ajson import AnsibleJSONEncoder

        parameters = {"ANSIBLE_MODULE_ARGS": call["module_args"]}
        limit = _open_files(call)
        if not isinstance(limit, int):
            limit = int(call["templar"].template(limit))
        return Packed(json.dumps(parameters, cls=AnsibleJSONEncoder, vault_to_text=True), _shebang(call), limit)

    def answer(self, data: bytes, packed: Packed) -> object:
        return data, "new", packed.shebang

    def data(self, answer: Any) -> bytes:
        return bytes(answer[0])

    def run(self, module: str, parameters: bytes) -> None:
        """As the wrapper of a payload does."""
        patches.give_parameters(parameters)
        runpy.run_module(mod_name=module, init_globals=_globals(module), run_name="__main__", alter_sys=True)
        print('{"msg": "New-style module did not handle its own exit", "failed": true}')  # noqa: T201


class _Release219:
    _PROFILE = "legacy"
    """How parameters and results are encoded; a module that asks for another one is none of ours."""
    imports_of_plays: tuple[str, ...] = (
        "ansible.module_utils._internal._json._profiles._module_legacy_c2m",
        "ansible.module_utils._internal._json._profiles._module_legacy_m2c",
    )
    imports_of_modules: tuple[str, ...] = ("ansible.module_utils._internal._ansiballz._loader", *imports_of_plays)
    detaches_workers = True

    def template_environment(self) -> Any:
        from ansible._internal._templating._jinja_bits import AnsibleEnvironment

        return AnsibleEnvironment()

    def worker_context(self, process: Any) -> AbstractContextManager[Any]:
        from ansible._internal._task import TaskContext

        context: AbstractContextManager[Any] = TaskContext(process._task)
        return context

    def build(self, path: str, archive: zipfile.ZipFile) -> str:
        from ansible._internal._datatag._tags import Origin

        data, name = _python(path)
        if not name:
            return ""
        now = datetime.datetime.now(datetime.UTC)
        common, manager = _module_common(), self._extensions({})
        metadata = common.recursive_finder(
            Path(path).stem, name, Origin(path=path).tag(data), archive, now, manager
        )
        if metadata.serialization_profile != self._PROFILE:
            return ""
        common._add_module_to_zip(archive, now, name, data, path, manager)
        return name

    def is_extended(self, call: Call) -> bool:
        return _measures_coverage() or bool(self._extensions(call["task_vars"]).extension_names)

    def pack(self, call: Call) -> Packed:
        from ansible._internal._templating._engine import TemplateOptions
        from ansible.module_utils.common.json import Direction, get_module_encoder

        encoder = get_module_encoder(self._PROFILE, Direction.CONTROLLER_TO_MODULE)
        parameters = json.dumps({"ANSIBLE_MODULE_ARGS": call["module_args"]}, cls=encoder)
        limit = _open_files(call)
        if not isinstance(limit, int):
            engine = call["templar"]._engine
            limit = int(engine.template(limit, options=TemplateOptions(value_for_omit=0)))
        return Packed(parameters, _shebang(call), limit)

    def answer(self, data: bytes, packed: Packed) -> object:
        return _module_common()._BuiltModule(
            b_module_data=data,
            module_style="new",
            shebang=packed.shebang,
            serialization_profile=self._PROFILE,
        )

    def data(self, answer: Any) -> bytes:
        return bytes(answer.b_module_data)

    def run(self, module: str, parameters: bytes) -> None:
        from ansible.module_utils._internal._ansiballz import _loader

        _loader.run_module(
            json_params=parameters,
            profile=self._PROFILE,
            module_fqn=module,
            modlib_path="",
            extensions={},
            init_globals=_globals(module),
        )

    @staticmethod
    def _extensions(task_vars: Mapping[str, Any]) -> Any:
        from ansible._internal._ansiballz import _builder

        return _builder.ExtensionManager.create(task_vars=task_vars)


_KNOWN: dict[str, Callable[[], Release]] = {"2.18": _Release218, "2.19": _Release219}


class UnknownReleaseError(Exception):
    """Nobody has looked at the ansible-core that is installed."""


def unknown(version: str) -> str:
    """Why no run can be forked with this ansible-core, else an empty string."""
    return "" if _release_of(version) in _KNOWN else f"ansible-core {version} is not one that it knows"


def release() -> Release:
    """That of the ansible-core which this process imports. Raises UnknownReleaseError."""
    from ansible.release import __version__

    if reason := unknown(__version__):  # PYTHONPATH may lead to another one than the operator has seen
        raise UnknownReleaseError(reason)
    return _KNOWN[_release_of(__version__)]()


def _release_of(version: str) -> str:
    return ".".join(version.split(".")[:2])


def call_of(arguments: tuple[Any, ...], named: dict[str, Any]) -> Call:
    """The arguments of `modify_module`, by name."""
    bound = _signature().bind(*arguments, **named)
    bound.apply_defaults()
    return {**bound.arguments, "task_vars": bound.arguments["task_vars"] or {}}


@cache
def _signature() -> inspect.Signature:
    """Ansible's, also once the function is replaced in the modules that have imported it."""
    return inspect.signature(_module_common().modify_module)


def _module_common() -> Any:
    from ansible.executor import module_common

    return module_common


def _python(path: str) -> tuple[bytes, str]:
    common, data = _module_common(), Path(path).read_bytes()
    new = common.NEW_STYLE_PYTHON_MODULE_RE.search(data) and common.REPLACER not in data
    if not new or common._is_binary(data):
        return data, ""
    try:
        return data, str(common._get_ansible_module_fqn(path))
    except ValueError:
        return data, ""  # a role's own


def _measures_coverage() -> bool:
    return "_ANSIBLE_COVERAGE_CONFIG" in os.environ


def _open_files(call: Call) -> Any:
    from ansible import constants as C  # noqa: N812

    return C.config.get_config_value("PYTHON_MODULE_RLIMIT_NOFILE", variables=call["task_vars"])


def _shebang(call: Call) -> str:
    common = _module_common()
    interpreter, arguments = common._extract_interpreter(Path(call["module_path"]).read_bytes())
    shebang, _ = common._get_shebang(
        interpreter or "/usr/bin/python",
        call["task_vars"],
        call["templar"],
        arguments,
        remote_is_local=call["remote_is_local"],
    )
    return str(shebang)


def _globals(module: str) -> dict[str, Any]:
    """What a module finds of the payload that it would be in."""
    return {"_module_fqn": module, "_modlib_path": ""}

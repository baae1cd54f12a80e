"""The cause in what a task's result says, without what Ansible puts around it. Pure.

ansible-core 2.19 nests the cause in sentences, each with `Origin: file:line` in what it prints; 2.18 wraps it in
one sentence and an excerpt of the task's file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.execute.refusal import refusal

_HIDDEN = "A task failed, and no_log hides its output"
_WRITTEN_BY = {
    f"{prefix}{name}": default
    for prefix in ("", "ansible.builtin.", "ansible.legacy.")
    for name, default in (("fail", "Failed as requested from task"), ("assert", "Assertion failed"))
}
"""Modules whose message the role's author writes, and their message where he does not."""
_AROUND = re.compile(
    r"\A(?:Task failed: |Action failed: |Module failed: |Finalization of task args for '[^']*' failed: "
    r"|Error while resolving value for '[^']*': |The task includes an option with an undefined variable\.\. "
    r"|AnsibleUndefinedVariable: |AnsibleError: |Error rendering template: "
    r"|The conditional check '.{0,500}?' failed\. The error was: )",
    re.DOTALL,
)
_AFTER = re.compile(
    r"\n\nThe error appears to be in |\nSearched in:|\. String: |\. Supported parameters include:"
    r"| was not found in (?:[\w.]+:)?/| on the Ansible Controller|\. Please read the module documentation"
    r"|\nSee stdout/stderr for the exact error|\nOriginal traceback:|\nIf you are using a module and expect"
)
_NO_TEMPLATE = re.compile(
    r"\A(?:Task failed: (?:Finalization of|Error while|Error rendering|Syntax error)"
    r"|The task includes an option with an undefined|The conditional check '|template error while templating"
    r"|the field 'args' has an invalid value|Unexpected templating type error)"
)
"""How the message of `fail` and `assert` begins where what its author wrote could not be rendered."""
_ORIGIN = re.compile(r"^Origin: (/[^\n]{1,1000}?)(?::(\d+))?(?::\d+)?\s*$", re.MULTILINE)
_APPEARS = re.compile(r"The error appears to be in '(/[^'\n]{1,1000})': line (\d+)")
_OWN_FILES = re.compile(r"/[^\s':]*/project/([^/\s':]+)")
"""A file that Ansible looks for beside the play that the operator writes."""
_NO_CONTENTS = re.compile(r"\AUnable to retrieve file contents\.?\n")
_CRASHED = "Task failed: Module failed: "
"""How 2.19 begins where a module has ended with an exception; what a module says itself has no such beginning."""
_TRACEBACK = "Traceback (most recent call last)"
ERROR_LINE = re.compile(r"^(?:\x1b\[[0-9;]*m)?(?:\[ERROR\]: |ERROR! )", re.MULTILINE)
"""How an error of Ansible's begins, and the first line of one."""
_YAML_18 = re.compile(r"Syntax Error while loading YAML\.\s*([^\n]+)")
_LONGEST_READ = 128 * 1024
_LONGEST_SAID = 4096
"""Characters: of a text that is looked through once, and of one in which sentences are sought."""
_KILLED = frozenset({137, -9})


@dataclass(frozen=True, slots=True)
class Cause:
    """`file` (absolute) and `line` are where Ansible says that it is; `written` is the author's own text."""

    text: str
    file: str = ""
    line: str = ""
    written: bool = False


def of(action: str, result: Mapping[str, Any], text: str) -> Cause:
    """Why this result of that action is a failure; `text` is what Ansible printed of it."""
    text = ends(text, _LONGEST_READ)
    if "censored" in result:
        return Cause(_HIDDEN)
    said = _said(result)
    if action in _WRITTEN_BY and not _NO_TEMPLATE.match(said):
        return _written(action, said, result)
    if told := refusal(said, _arguments(result)):
        return Cause(told)
    if told := _ended(said, result):
        return Cause(told)
    file, line = _where(said, text)
    short = _fuller(_bare(said), text).removesuffix(".")
    if result.get("failed_when_result"):
        short = ": ".join(filter(None, ("failed_when is true", short)))
    elif said.startswith(_CRASHED):
        short = f"the module crashed: {short}"
    return Cause(f"{short or 'it failed without a message'}{_in_template(file, line)}", file, line)


def with_error(error: str, text: str) -> str:
    """What is known of an error, with the next piece of output: a new error takes its place."""
    if ERROR_LINE.match(text):
        return text[:_LONGEST_SAID]
    return error if len(error) > _LONGEST_SAID else f"{error}\n{text[:_LONGEST_SAID]}"


def of_output(error: str) -> Cause:
    """The cause in an error that Ansible printed, with the lines that follow it."""
    text = ERROR_LINE.sub("", error, count=1)
    file, line = _where(text, text)
    yaml = _YAML_18.search(text)
    said = f"YAML parsing failed: {yaml[1]}" if yaml else _bare(_NO_CONTENTS.sub("", text).partition("\n")[0])
    return Cause(said.removesuffix("."), file, line)


def ends(text: str, limit: int) -> str:
    """Beginning and end of a text that is longer than `limit`."""
    return text if len(text) <= limit else f"{text[: limit // 2]}…{text[-limit // 2 :]}"


def killed(code: int) -> bool:
    """Whether this is the exit code of what was killed."""
    return code in _KILLED


def _said(result: Mapping[str, Any]) -> str:
    for name in ("msg", "reason", "message"):
        text = result.get(name)
        if isinstance(text, str) and text.strip() and not text.endswith("Unknown error."):
            return ends(text, _LONGEST_READ)
    return ""


def _written(action: str, said: str, result: Mapping[str, Any]) -> Cause:
    if said != _WRITTEN_BY[action]:
        return Cause(said.rstrip(), written=True)
    assertion = result.get("assertion")
    return Cause(f"{said}: {assertion}" if isinstance(assertion, str) else said)


def _ended(said: str, result: Mapping[str, Any]) -> str:
    """Of a command, or a module, that ended with an exit code or a traceback."""
    code = result.get("rc")
    output = str(result.get("module_stderr") or result.get("stderr") or result.get("stdout") or "")
    last = _last_line(output)
    if "module_stderr" in result:
        if isinstance(code, int) and killed(code):
            return f"the module was killed (exit code {code}), likely for want of memory"
        crashed = _TRACEBACK in output or not last
        return f"the module crashed: {last or _bare(said)}" if crashed else f"{_bare(said)}: {last}"
    if said == "non-zero return code" and isinstance(code, int):
        why = " (killed, perhaps for want of memory)" if killed(code) else ""
        return f"exit code {code}{why}" + (f": {last}" if last else "")
    return ""


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def _bare(said: str) -> str:
    """Without the sentences around it."""
    said = ends(said, _LONGEST_SAID)
    while (inner := _AROUND.sub("", said, count=1)) != said:
        said = inner
    if after := _AFTER.search(said):
        said = said[: after.start()] + (" was not found" if after[0].startswith(" was not found") else "")
    if said.startswith("Failed to connect to the host via ssh:"):
        said = f"Failed to connect to the host via ssh: {_last_line(said.partition('ssh:')[2])}"
    return _OWN_FILES.sub(r"\1", said).strip()


def _fuller(short: str, text: str) -> str:
    """What Ansible printed, where that goes on after the message: a result of 2.19 may lack the second half."""
    if error := ERROR_LINE.search(text):
        printed = _bare(text[error.end() :].partition("\n")[0])
        if short and printed.startswith(short.removesuffix(".")):
            return printed
    return short


def _where(said: str, text: str) -> tuple[str, str]:
    """The innermost place that Ansible names; file and line, the latter not for a template's file in 2.19."""
    if appears := _APPEARS.search(said):
        return appears[1], appears[2]
    origins = list(_ORIGIN.finditer(text))
    return (origins[-1][1], origins[-1][2] or "") if origins else ("", "")


def _in_template(file: str, line: str) -> str:
    """A template's file is not the task's, so it is named in the cause."""
    name = file.rpartition("/templates/")[2] if "/templates/" in file else ""
    return f" in templates/{name}{f':{line}' if line else ''}" if name else ""


def _arguments(result: Mapping[str, Any]) -> Mapping[str, Any]:
    invocation = result.get("invocation")
    arguments = invocation.get("module_args") if isinstance(invocation, Mapping) else None
    return arguments if isinstance(arguments, Mapping) else {}

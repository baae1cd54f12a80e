"""The command line: parse, call, exit code. What a command does is in the module that COMMANDS names for it."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import structlog

from runner.config.flags import RUN_FLAGS, join_values, spell_out_booleans
from runner.config.settings import encoder
from runner.errors import OperatorError, UsageError, WatchesError
from runner.logs import configure_logs
from runner.version import line

PROGRAM = "ansible-operator"
SHELLS = {
    "bash": "for bash: source <(ansible-operator completion bash)",
    "zsh": "for zsh: ansible-operator completion zsh > _ansible-operator, in a directory of fpath",
    "fish": "for fish: ansible-operator completion fish | source",
    "powershell": "for PowerShell: ansible-operator completion powershell | Out-String | Invoke-Expression",
}

_Commands = argparse._SubParsersAction  # noqa: SLF001  (argparse has no public name for it)


@dataclass(frozen=True, slots=True)
class Command:
    """One command: what `--help` says of it, and the module that has its arguments and does it.

    `on_error` is the exit code for an OperatorError, `as_run` says that it takes flags as `run` does.
    """

    text: str
    module: str
    as_run: bool = False
    on_error: int = 1


class Module(Protocol):
    """What such a module offers. Imported when its command is called: the others must not pay for it."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def main(self, parsed: argparse.Namespace, environment: Mapping[str, str]) -> int: ...


COMMANDS = {
    "init": Command("make a project", "scaffold.project"),
    "create": Command("add a kind to a project, or a webhook", "commands.create"),
    "run": Command("run the operator", "commands.run", as_run=True),
    "run-once": Command(
        "reconcile one custom resource from here, and show it as ansible-playbook does",
        "commands.once",
        as_run=True,
    ),
    "preview": Command(
        "show what applying a custom resource would change in the cluster, and change nothing",
        "commands.preview",
        as_run=True,
        on_error=2,  # where 1 says that something would change
    ),
    "validate": Command("find the mistakes of a project, without a cluster", "validate.project"),
    "rbac": Command("print the ClusterRole that the operator of a project needs", "validate.clusterrole"),
    "pause": Command("leave a custom resource alone until it is resumed", "commands.annotate"),
    "resume": Command("reconcile a paused custom resource again", "commands.annotate"),
    "reconcile": Command("reconcile a custom resource now", "commands.annotate"),
    "runs": Command("list the runs of custom resources, or show what one of them did", "commands.runs"),
    "generate": Command("make files of a project", "commands.generate"),
    "scorecard": Command("try a bundle on the local control plane, and score it", "scorecard.command"),
    "dev": Command("a local Kubernetes control plane, without containers", "commands.dev", as_run=True),
}
_IGNORE_MORE_WORDS = ("run", "version", "help", None)


class _Parser(argparse.ArgumentParser):
    """Ends with one `Error: …` and exit code 1; the usage of all flags is for who asks for it.

    Where something has to be chosen first, such as WHAT to create, the error lists what there is to choose.
    """

    def error(self, message: str) -> NoReturn:
        lines = [message, *self._choices(message), f"Run '{self.prog} --help' for usage."]
        raise UsageError("\n".join(lines))

    def _choices(self, message: str) -> list[str]:
        commands = self._subparsers._group_actions[0] if self._subparsers else None  # noqa: SLF001  (no public name)
        if not isinstance(commands, _Commands) or f"{commands.metavar}" not in message:
            return []
        known = [(known.dest, known.help) for known in commands._get_subactions()]  # noqa: SLF001
        width = max(len(name) for name, _ in known)
        return [f"  {name:<{width}}  {text}" for name, text in known]

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401  (as it has it)
        """As ever, but for a choice that the error lists line by line: argparse would list it in the sentence."""
        if isinstance(action, _Commands) and value not in action.choices:
            unknown = f'unknown {action.metavar} "{value}" for "{self.prog}"{_nearest(value, action.choices)}'
            raise argparse.ArgumentError(None, unknown)
        super()._check_value(action, value)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401  (as it has them)
        """As ever; `parser` of what was parsed is the innermost, such as that of `dev run`."""
        parsed, more = super().parse_known_args(args, namespace)
        parsed.parser = getattr(parsed, "parser", self)
        return parsed, more


def main(arguments: Sequence[str] | None = None) -> int:
    """The `ansible-operator` command; returns its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    command = COMMANDS.get(words[0]) if words else None
    if command is not None and command.as_run:
        words = join_values(spell_out_booleans(words))
    as_json = words[:1] == ["run"] and encoder(words, terminal=sys.stderr.isatty()) == "json"
    if as_json:
        configure_logs("info", "json")
    elif arguments is None and words[:1] != ["run"] and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what they have begun they undo
    try:
        return _parse_and_call(words, own_process=arguments is None)
    except OperatorError as error:
        _complain(error, as_json=as_json)
        return command.on_error if command is not None else 1
    except KeyboardInterrupt:
        return 130


def _parse_and_call(words: list[str], *, own_process: bool) -> int:
    parser, commands = parser_for(words[0] if words else "")
    if words == ["--version"]:
        words = ["version"]
    if words and not words[0].startswith("-") and words[0] not in commands.choices:
        return _unknown_command(words[0])
    parsed, more = parser.parse_known_args(words)
    chosen: argparse.ArgumentParser = parsed.parser
    _refuse(more, chosen, parsed.command)
    match parsed.command:
        case "version":
            sys.stdout.write(line() + "\n")
            return 0
        case "completion":
            return _completion(parser, parsed.shell)
        case None | "help":
            return _help(getattr(parsed, "topic", None), parser, commands)
        case name:
            parsed.own_process, parsed.complain = own_process, chosen.error
            return _module(COMMANDS[name]).main(parsed, os.environ)


def parser_for(command: str) -> tuple[argparse.ArgumentParser, _Commands[argparse.ArgumentParser]]:
    """The parser and its commands, of which `command` alone has its arguments; all have them for help."""
    parser = _Parser(prog=PROGRAM, description="Runs Ansible roles and playbooks as a Kubernetes operator.")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands: _Commands[argparse.ArgumentParser]
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    for name, known in COMMANDS.items():
        added = commands.add_parser(name, help=known.text, description=known.text, allow_abbrev=False)
        if command in (name, "help", "completion"):
            _module(known).add_arguments(added)
    commands.add_parser("version", help="print the version")
    completion = commands.add_parser("completion", help="print a completion script for a shell")
    shells = completion.add_subparsers(dest="shell", metavar="SHELL", required=True)
    for name, text in SHELLS.items():
        shells.add_parser(name, help=text, description=text)
    helping = commands.add_parser("help", help="print this help, or that of a command")
    helping.add_argument("topic", nargs="?", metavar="COMMAND")
    return parser, commands


def _module(command: Command) -> Module:
    module: Module = importlib.import_module(f"runner.{command.module}")
    return module


def _complain(error: OperatorError, *, as_json: bool) -> None:
    # As it is configured now: it is twice, first for what is wrong with flags.
    log = structlog.get_logger(__name__)
    if not as_json:
        sys.stderr.write(f"Error: {error}\n")
    elif isinstance(error, WatchesError):
        for problem in error.problems:
            log.error(str(problem), file=problem.file, line=problem.line, field=problem.field)
    else:
        log.error(str(error))


def _unknown_command(word: str) -> int:
    sys.stderr.write(f'Error: unknown command "{word}" for "{PROGRAM}"{_nearest(word, COMMANDS)}\n')
    sys.stderr.write(f"Run '{PROGRAM} --help' for usage.\n")
    return 1


def _refuse(more: Sequence[str], parser: argparse.ArgumentParser, command: str | None) -> None:
    """End for a flag that nobody knows; more words are ignored where the Go operator ignores them."""
    for word in more:
        if word.startswith("-"):
            flag = word.partition("=")[0]
            parser.error(f"unknown flag: {flag}{_meant(flag) if command == 'run' else ''}")
        if command not in _IGNORE_MORE_WORDS:
            parser.error(f"unexpected argument: {word}")


def _meant(flag: str) -> str:
    return _nearest(flag, [f"--{known.name}" for known in RUN_FLAGS if not (known.alias_of or known.ignored)])


def _nearest(word: str, names: Iterable[str]) -> str:
    return "".join(f", did you mean {name}?" for name in difflib.get_close_matches(word, names, n=1))


def _completion(parser: argparse.ArgumentParser, shell: str) -> int:
    import shtab  # noqa: PLC0415  (only this command pays for importing it)

    sys.stdout.write(shtab.complete(parser, shell) + "\n")
    return 0


def _help(topic: str | None, parser: argparse.ArgumentParser, commands: _Commands[argparse.ArgumentParser]) -> int:
    if topic is not None and topic not in commands.choices:
        return _unknown_command(topic)
    (commands.choices[topic] if topic else parser).print_help()
    return 0

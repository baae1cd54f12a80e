"""The command line: parse, call, exit code."""

from __future__ import annotations

import argparse
import asyncio
import difflib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import structlog

from runner.commands import COMMANDS, add_commands, annotate
from runner.config.flags import RUN_FLAGS, add_flags, deprecations, join_values, spell_out_booleans
from runner.config.settings import encoder, read_settings
from runner.config.watchesfile import load_watches
from runner.errors import OperatorError, UsageError, WatchesError
from runner.logs import configure_logs, log_everything_else
from runner.version import line

PROGRAM = "ansible-operator"
SHELLS = ("bash", "zsh", "fish", "powershell")
_IGNORE_MORE_WORDS = ("run", "version", "help", None)

_Commands = argparse._SubParsersAction  # noqa: SLF001  (argparse has no public name for it)


class _Parser(argparse.ArgumentParser):
    """Ends with one `Error: …` and exit code 1; the usage of all flags is for who asks for it."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\nRun '{self.prog} --help' for usage.")


def main(arguments: Sequence[str] | None = None) -> int:
    """The `ansible-operator` command; returns its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json = False
    if words[:1] in (["run"], ["run-once"], ["preview"]):
        words = join_values(spell_out_booleans(words))
    if words[:1] == ["run"]:
        as_json = encoder(words, terminal=sys.stderr.isatty()) == "json"
    if as_json:
        configure_logs("info", "json")
    elif arguments is None and words[:1] != ["run"] and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what they have begun they undo
    try:
        return _parse_and_call(words, own_process=arguments is None)
    except OperatorError as error:
        _complain(error, as_json=as_json)
        return 2 if words[:1] == ["preview"] else 1  # where 1 says that something would change
    except KeyboardInterrupt:
        return 130


def _parse_and_call(words: list[str], *, own_process: bool) -> int:
    parser, commands = _parser(words[0] if words else "")
    if words == ["--version"]:
        words = ["version"]
    if words and not words[0].startswith("-") and words[0] not in commands.choices:
        return _unknown_command(words[0])
    parsed, more = parser.parse_known_args(words)
    _refuse(more, commands.choices.get(parsed.command, parser), parsed.command)
    parsed.own_process = own_process
    return _call(parsed, parser, commands)


def _log() -> structlog.typing.FilteringBoundLogger:
    """As it is configured now: it is twice, the first time for what is wrong with the flags."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(__name__)
    return logger


def _complain(error: OperatorError, *, as_json: bool) -> None:
    if not as_json:
        sys.stderr.write(f"Error: {error}\n")
    elif isinstance(error, WatchesError):
        for problem in error.problems:
            _log().error(str(problem), file=problem.file, line=problem.line, field=problem.field)
    else:
        _log().error(str(error))


def _call(
    parsed: argparse.Namespace, parser: argparse.ArgumentParser, commands: _Commands[argparse.ArgumentParser]
) -> int:
    with_flags = {
        "run": _run,
        "run-once": _run_once,
        "preview": _preview,
        "validate": _validate,
        "rbac": _rbac,
        "generate": _generate,
        "dev": _dev,
        **dict.fromkeys(COMMANDS, _annotate),
    }
    match parsed.command:
        case command if command in with_flags:
            return with_flags[command](parsed)
        case "version":
            sys.stdout.write(line() + "\n")
            return 0
        case "completion":
            return _completion(parser, parsed.shell)
        case _:
            return _help(getattr(parsed, "topic", None), parser, commands)


def _parser(command: str) -> tuple[argparse.ArgumentParser, _Commands[argparse.ArgumentParser]]:
    """The parser, and its commands; that of `dev` is whole only where `command` needs it, for it takes long."""
    parser = _Parser(prog=PROGRAM, description="Runs Ansible roles and playbooks as a Kubernetes operator.")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands: _Commands[argparse.ArgumentParser]
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    run = commands.add_parser("run", help="run the operator", allow_abbrev=False)
    add_flags(run)
    run.add_argument("ignored", nargs="*", help=argparse.SUPPRESS)
    run.set_defaults(complain=run.error)
    if command in ("run-once", "help", "completion"):
        from runner.once import add_parser as add_once  # noqa: PLC0415  (run must not pay for importing it)

        add_once(commands)
    else:
        commands.add_parser("run-once", help="reconcile one custom resource from here, and show it")
    if command in ("preview", "help", "completion"):
        from runner.preview import add_parser as add_preview  # noqa: PLC0415  (the same)

        add_preview(commands)
    else:
        commands.add_parser("preview", help="show what applying a custom resource would change in the cluster")
    _add_validate(commands)
    _add_rbac(commands)
    add_commands(commands)
    _add_generate(commands)
    if command in ("dev", "help", "completion"):
        from runner.dev.cli import add_parser  # noqa: PLC0415  (run must not pay for importing it)

        add_parser(commands)
    else:
        commands.add_parser("dev", help="a local Kubernetes control plane, without containers")
    commands.add_parser("version", help="print the version")
    completion = commands.add_parser("completion", help="print a completion script for a shell")
    completion.add_argument("shell", choices=SHELLS, metavar="|".join(SHELLS))
    helping = commands.add_parser("help", help="print this help, or that of a command")
    helping.add_argument("topic", nargs="?", metavar="COMMAND")
    return parser, commands


def _add_validate(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add_of_project(commands, "validate", "find the mistakes of a project, without a cluster")
    parser.add_argument(
        "--watches-file", default="watches.yaml", metavar="VALUE", help="from DIRECTORY (default: watches.yaml)"
    )
    formats = ("text", "json", "sarif", "github")
    parser.add_argument("--format", choices=formats, default="text", help="what is printed (default: text)")
    parser.add_argument("--output", dest="format", choices=formats, help=argparse.SUPPRESS)  # its former name


def _add_rbac(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = _add_of_project(commands, "rbac", "print the ClusterRole that the operator of a project needs")
    parser.add_argument(
        "--name", default="manager-role", metavar="VALUE", help="of the ClusterRole (default: manager-role)"
    )


def _add_generate(commands: _Commands[argparse.ArgumentParser]) -> None:
    text = "make files of a project"
    whats: _Commands[argparse.ArgumentParser] = commands.add_parser(
        "generate", help=text, description=text
    ).add_subparsers(dest="what", metavar="WHAT", required=True, parser_class=_Parser)
    parser = _add_of_project(
        whats, "schema", "the JSON schema of watches.yaml, by which editors complete and check it"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 with a diff if a file differs")


def _add_of_project(commands: _Commands[argparse.ArgumentParser], name: str, text: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.add_argument(
        "directory", nargs="?", default=".", metavar="DIRECTORY", help="the project (default: here)"
    )
    return parser


def _unknown_command(word: str) -> int:
    sys.stderr.write(f'Error: unknown command "{word}" for "{PROGRAM}"\nRun \'{PROGRAM} --help\' for usage.\n')
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
    names = [f"--{known.name}" for known in RUN_FLAGS if not (known.alias_of or known.ignored)]
    return "".join(f", did you mean {name}?" for name in difflib.get_close_matches(flag, names, n=1))


def _run(parsed: argparse.Namespace) -> int:
    from runner.manager import run_operator  # noqa: PLC0415  (help and version must not pay for importing it)

    try:
        settings = read_settings(parsed, os.environ, terminal=sys.stderr.isatty())
    except UsageError as error:
        parsed.complain(str(error))
    configure_logs(
        settings.log_level,
        settings.log_encoder,
        stacktrace_level=settings.log_stacktrace_level,
        time_encoding=settings.log_time_encoding,
        colors=settings.log_colors,
    )
    if parsed.own_process and settings.log_encoder == "json":
        log_everything_else()
    for notice in deprecations(parsed):
        _log().warning(notice)
    watches, notes = load_watches(settings.watches_file, Path.cwd(), settings.environment)
    for note in notes:
        _log().warning(str(note), file=note.file, line=note.line, field=note.field, said=str(note))
    by_kind = {watch.gvk: watch for watch in watches}
    if settings.watch:
        from runner.reloading import run_reloading  # noqa: PLC0415  (only development pays for importing it)

        return asyncio.run(run_reloading(settings, by_kind))
    return asyncio.run(run_operator(settings, by_kind))


def _run_once(parsed: argparse.Namespace) -> int:
    from runner.once import main as once_main  # noqa: PLC0415  (help and version must not pay for importing it)

    return once_main(parsed, os.environ)


def _preview(parsed: argparse.Namespace) -> int:
    from runner.preview import main as preview_main  # noqa: PLC0415  (help and version must not pay for importing it)

    return preview_main(parsed, os.environ)


def _validate(parsed: argparse.Namespace) -> int:
    from runner.validate.project import main as validate_main  # noqa: PLC0415  (run must not pay for importing it)

    return validate_main(parsed, os.environ)


def _rbac(parsed: argparse.Namespace) -> int:
    from runner.validate.clusterrole import main as rbac_main  # noqa: PLC0415  (run must not pay for importing it)

    return rbac_main(parsed, os.environ)


def _annotate(parsed: argparse.Namespace) -> int:
    return annotate(parsed, os.environ)


def _generate(parsed: argparse.Namespace) -> int:
    from runner.generate.files import main as generate_main  # noqa: PLC0415  (run must not pay for importing it)

    return generate_main(parsed)


def _dev(parsed: argparse.Namespace) -> int:
    from runner.dev.cli import main as dev_main  # noqa: PLC0415  (only role authors pay for importing it)

    return dev_main(parsed)


def _completion(parser: argparse.ArgumentParser, shell: str) -> int:
    import shtab  # noqa: PLC0415  (only this command pays for importing it)

    sys.stdout.write(shtab.complete(parser, shell) + "\n")
    return 0


def _help(topic: str | None, parser: argparse.ArgumentParser, commands: _Commands[argparse.ArgumentParser]) -> int:
    if topic is not None and topic not in commands.choices:
        return _unknown_command(topic)
    (commands.choices[topic] if topic else parser).print_help()
    return 0

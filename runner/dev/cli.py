"""`ansible-operator dev`: a local control plane from the command line."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from runner.dev import processes
from runner.dev.accounts import parse, write_kubeconfig_of
from runner.dev.components import NAMES, AuditLevel, Options
from runner.dev.controlplane import ComponentStatus, ControlPlane
from runner.dev.layout import OPERATOR, default_directory
from runner.dev.processes import tail
from runner.dev.programs import MIRROR_VARIABLE, Search, find_programs
from runner.errors import DevError

INTERVAL = 0.2
Commands = argparse._SubParsersAction  # noqa: SLF001  (argparse has no public name for it)

# As a shell reports a process that the signal has ended: 128 and the signal's number.
EXIT_INTERRUPT = 128 + signal.SIGINT
EXIT_PIPE = 128 + signal.SIGPIPE


def read(files: Mapping[str, Path], lines: int, *, follow: bool) -> Iterator[str]:
    """The last `lines` of each file, then, with `follow`, whatever is added, without end.

    With several files each line begins with its component's name.
    """
    width = max(map(len, files)) if len(files) > 1 else 0
    positions = {name: _size(file) for name, file in files.items()}
    for name, file in files.items():
        for line in tail(file, lines).splitlines():
            yield _labelled(name, line, width)
    while follow:
        for name, file in files.items():
            added, positions[name] = added_lines(file, positions[name])
            for line in added:
                yield _labelled(name, line, width)
        time.sleep(INTERVAL)


def added_lines(file: Path, position: int) -> tuple[list[str], int]:
    """The whole lines after byte `position`, and where to go on; a file that began anew is read anew."""
    size = _size(file)
    if size == position:
        return [], position
    start = position if size > position else 0
    with file.open("rb") as opened:
        opened.seek(start)
        content = opened.read()
    whole = content[: content.rfind(b"\n") + 1]
    return whole.decode(errors="replace").splitlines(), start + len(whole)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _labelled(name: str, line: str, width: int) -> str:
    return f"{name:<{width}}  {line}" if width else line


def place_parser() -> argparse.ArgumentParser:
    """The flags that say which control plane is meant."""
    place = argparse.ArgumentParser(add_help=False)
    place.add_argument("--name", default="default", help="which control plane, when there are several")
    place.add_argument(
        "--dir", type=Path, help="its directory, new or empty at first (default: by name, in the state directory)"
    )
    return place


def programs_parser() -> argparse.ArgumentParser:
    """The flags that say where its programs are found."""
    programs = argparse.ArgumentParser(add_help=False)
    programs.add_argument("--binaries", type=Path, help="look here for the programs first (or KUBEBUILDER_ASSETS)")
    programs.add_argument("--mirror", help=f"download from here instead (or {MIRROR_VARIABLE})")
    return programs


def add_arguments(parser: argparse.ArgumentParser) -> Commands[argparse.ArgumentParser]:
    """Its own commands."""
    commands: Commands[argparse.ArgumentParser] = parser.add_subparsers(
        dest="dev_command", metavar="COMMAND", required=True
    )
    place = place_parser()

    text = "start it, until pods can be created"
    up = commands.add_parser("up", parents=[place, programs_parser()], help=text)
    up.add_argument("--keep", action="store_true", help="keep the data on `down`")
    up.add_argument(
        "--audit",
        type=AuditLevel,
        choices=list(AuditLevel),
        nargs="?",
        const=AuditLevel.METADATA,
        help="write an audit log (level: %(const)s)",
    )

    down = commands.add_parser("down", parents=[place], help="end it, and remove its data unless kept")
    down.add_argument("--delete", action="store_true", help="remove kept data, too")

    commands.add_parser("status", parents=[place], help="what runs; exit code 1 unless all of it does")

    kubeconfig = commands.add_parser("kubeconfig", parents=[place], help="the path of the kubeconfig")
    kubeconfig.add_argument("--content", action="store_true", help="print the file itself")
    kubeconfig.add_argument(
        "--as",
        dest="account",
        metavar="serviceaccount/NAMESPACE/NAME",
        help="one that is this ServiceAccount, by a token that is good for a day: to try its RBAC",
    )

    _add_logs(commands, place)
    return commands


def _add_logs(commands: Commands[argparse.ArgumentParser], place: argparse.ArgumentParser) -> None:
    log = commands.add_parser("logs", parents=[place], help="the components' logs")
    log.add_argument("component", nargs="?", choices=(*NAMES, OPERATOR), help="only this component's")
    log.add_argument("-f", "--follow", action="store_true", help="go on as the logs grow")
    log.add_argument("-n", "--lines", type=int, default=20, help="how many of the last lines (%(default)s)")


def main(args: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Run the parsed `dev` command; the exit code."""
    commands = {"up": _up, "down": _down, "status": _status, "kubeconfig": _kubeconfig, "logs": _logs}
    return called(commands[args.dev_command], args)


def called(command: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """The exit code of a command that has to do with a control plane; its errors are said."""
    try:
        code = command(args)
        sys.stdout.flush()  # here, where a reader that is gone is no surprise
    except DevError as error:
        sys.stderr.write("\n".join([f"error: {error}", *_notes(error)]) + "\n")
        return 1
    except BrokenPipeError:
        # The reader, such as `head`, has had enough; nothing may be written any more, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_PIPE
    except OSError as error:  # it names the file: no directory, no space, no right to it
        sys.stderr.write("\n".join([f"error: {error}", *_notes(error)]) + "\n")
        return 1
    except KeyboardInterrupt as error:
        sys.stderr.write("".join(f"\n{note}\n" for note in _notes(error)))
        return EXIT_INTERRUPT
    return code


def _notes(error: BaseException) -> list[str]:
    """What became of what had been begun."""
    return list(getattr(error, "__notes__", ()))


def _directory(args: argparse.Namespace) -> Path:
    return args.dir or default_directory(args.name)


def start(args: argparse.Namespace, options: Options) -> ControlPlane:
    """The control plane that the flags name, started if it was not. Raises DevError."""
    search = Search(explicit=args.binaries, mirror=args.mirror)
    plane = ControlPlane(_directory(args), options, programs=partial(find_programs, search), report=_report)
    began = time.monotonic()
    with _ended_in_order():
        started = plane.start()
    if started:
        sys.stdout.write(f"ready in {time.monotonic() - began:.1f} s\n")
    else:
        sys.stdout.write(f"already running in {plane.layout.directory}\n")
    return plane


def _up(args: argparse.Namespace) -> int:
    plane = start(args, Options(keep=args.keep, audit=args.audit))
    if plane.audit_log.exists():
        sys.stdout.write(f"audit log: {plane.audit_log}\n")
    sys.stdout.write(f"export KUBECONFIG={plane.kubeconfig}\n")
    return 0


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP end the process as Ctrl-C does, so that nothing is left of what was begun."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(step: str, seconds: float) -> None:
    sys.stdout.write(f"  {step:<30} {seconds:5.1f} s\n")
    sys.stdout.flush()


def _down(args: argparse.Namespace) -> int:
    plane = ControlPlane(_directory(args))
    found = plane.stop(delete=args.delete)
    if not found:
        sys.stdout.write(f"nothing runs in {plane.layout.directory}\n")
    elif plane.layout.data.exists():
        sys.stdout.write(f"ended; its data is kept in {plane.layout.directory}\n")
    else:
        sys.stdout.write("ended, and its data removed\n")
    return 0


def _status(args: argparse.Namespace) -> int:
    plane = ControlPlane(_directory(args))
    rows = [("COMPONENT", "STATE", "PID", "MEMORY"), *(_row(status) for status in plane.status())]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")
    current = plane.state()
    if current is not None:
        sys.stdout.write(f"\n{current.ports.server}\nexport KUBECONFIG={plane.kubeconfig}\n")
    return 0 if plane.is_running() else 1


def _row(status: ComponentStatus) -> tuple[str, str, str, str]:
    if status.process is None:
        return status.name, "stopped", "-", "-"
    megabytes = processes.memory(status.process) / 2**20
    return status.name, "running", str(status.process.pid), f"{megabytes:.0f} MiB"


def _kubeconfig(args: argparse.Namespace) -> int:
    plane = ControlPlane(_directory(args))
    if not plane.kubeconfig.exists():
        raise DevError(f"{plane.layout.directory}: no control plane here; start it with `ansible-operator dev up`")
    file = plane.kubeconfig
    if args.account:
        file, until = write_kubeconfig_of(parse(args.account), plane.api(), plane.layout, plane.ports)
        sys.stderr.write(f"its token is good until {until.astimezone():%Y-%m-%d %H:%M}; then ask for another\n")
    sys.stdout.write(file.read_text() if args.content else f"{file}\n")
    return 0


def _logs(args: argparse.Namespace) -> int:
    plane = ControlPlane(_directory(args))
    names = (args.component,) if args.component else (*NAMES, OPERATOR)
    files = {name: plane.layout.log(name) for name in names}
    if not args.component and not files[OPERATOR].exists():
        del files[OPERATOR]
    if not any(file.exists() for file in files.values()):
        raise DevError(f"{plane.layout.logs}: no logs here; start it with `ansible-operator dev up`")
    for line in read(files, args.lines, follow=args.follow):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    return 0

"""Where the process begins: `ansible-operator`, and the same as `python -m runner`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """The exit code of the command."""
    # Ctrl-C while all is imported ends the process without a traceback; the operator waits for it later on.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from runner.cli import main as command  # noqa: PLC0415  (it takes long)

    return command()


if __name__ == "__main__":
    sys.exit(main())

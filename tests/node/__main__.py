"""`python -m tests.node up|down`: a cluster with one real node, by hand; `programs|image`: what it needs.

`figures` measures the operator in a pod of a cluster of its own; needs `image`.
`guest COMMAND...` runs a command in a guest of this machine that has cgroups of version 2 alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from runner.errors import DevError
from tests.node import figures, guest, network, operators
from tests.node.local import LocalCluster
from tests.node.programs import find_programs

DIRECTORY = Path("build/node")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.node", description=__doc__)
    parser.add_argument("action", choices=("programs", "image", "up", "down", "figures", "guest"))
    parser.add_argument("--dir", type=Path, default=DIRECTORY, help=f"what `up` makes (default: {DIRECTORY})")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what a guest runs")
    parsed = parser.parse_args()
    try:
        if parsed.action == "guest":
            return guest.run(parsed.command)
        _act(parsed.action, parsed.dir.absolute())
    except DevError as error:
        sys.stderr.write("\n".join([f"Error: {error}", *getattr(error, "__notes__", ())]) + "\n")
        return 1
    return 0


def _act(action: str, directory: Path) -> None:
    if action == "programs":
        find_programs()
    elif action == "image":
        operators.build_image()
    elif action == "up":
        cluster = LocalCluster(directory, lambda step, seconds: print(f"{step}: {seconds:.1f} s"))
        cluster.start()
        print(f"export KUBECONFIG={cluster.kubeconfig}")
    elif action == "figures":
        with tempfile.TemporaryDirectory() as temporary, LocalCluster(Path(temporary)) as cluster:
            operators.load_image(cluster, Path(temporary))
            for what, measured in figures.figures(cluster):
                print(f"{what:50} {measured}", flush=True)
    else:
        LocalCluster(network.running() or directory).stop()


if __name__ == "__main__":
    sys.exit(main())

"""Watches files that are refused, and some that look as if they should be: one short process each.

Each is started with a proxy port that is taken, so that it ends either way: what names the port was accepted.
"""

from __future__ import annotations

import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.parity.operator import bare_environment, free_port, own_flags
from tests.parity.stage import Stage

GOOD = "group: g.example.com, version: v1, kind: A, role: tell"
FILES = {
    "map": "version: v1\nkind: A\nrole: tell\n",
    "empty": "",
    "null": "null\n",
    "comments": "# nothing\n",
    "list": "[]\n",
    "null item": "-\n",
    "coerced": "- {group: g, version: 1, kind: yes, role: tell}\n" * 2,
    "quoted bool": f'- {{{GOOD}, manageStatus: "true"}}\n',
    "quoted int": f'- {{{GOOD}, maxRunnerArtifacts: "5"}}\n',
    "no version": "- {group: g, kind: A, role: tell}\n",
    "no kind": "- {group: g, version: v1, role: tell}\n",
    "neither": "- {group: g, version: v1, kind: A}\n",
    "duplicate": "- {group: dup.example.com, version: v1, kind: A, role: tell}\n" * 2,
    "two versions": (
        "- {group: dup.example.com, version: v1, kind: A, role: tell}\n"
        "- {group: dup.example.com, version: v1beta1, kind: A, role: tell}\n"
    ),
    "period number": f"- {{{GOOD}, reconcilePeriod: 60}}\n",
    "period zero": f"- {{{GOOD}, reconcilePeriod: 0}}\n",
    "period empty": f'- {{{GOOD}, reconcilePeriod: ""}}\n',
    "period null": f"- {{{GOOD}, reconcilePeriod: null}}\n",
    "period quoted zero": f'- {{{GOOD}, reconcilePeriod: "0"}}\n',
    "odd blacklist": f"- {{{GOOD}, blacklist: [{{kind: Nothing}}, {{}}]}}\n",
    "selector operator": f"- {{{GOOD}, selector: {{matchExpressions: [{{key: a, operator: Has}}]}}}}\n",
    "selector exists": (
        f"- {{{GOOD}, selector: {{matchExpressions: [{{key: a, operator: Exists, values: []}}]}}}}\n"
    ),
    "finalizer name": f"- {{{GOOD}, finalizer: {{vars: {{a: 1}}}}}}\n",
    "finalizer empty": f"- {{{GOOD}, finalizer: {{name: x/y}}}}\n",
    "finalizer wrong": f"- {{{GOOD}, finalizer: {{name: x/y, role: none}}}}\n",
    "finalizer wrong path": f"- {{{GOOD}, finalizer: {{name: x/y, role: none, vars: {{a: 1}}}}}}\n",
    "playbook missing": "- {group: g, version: v1, kind: A, playbook: none.yml}\n",
    "playbook directory": "- {group: g, version: v1, kind: A, playbook: roles}\n",
    "role missing": "- {group: g, version: v1, kind: A, role: none}\n",
}


def observe(stage: Stage, facts: dict[str, Any]) -> None:
    stage.role("tell", "[]")
    with socket.create_server(("127.0.0.1", 0)) as taken, ThreadPoolExecutor(2) as threads:
        port = taken.getsockname()[1]
        facts.update(threads.map(lambda name: (name, attempt(stage, name, port)), FILES))


def attempt(stage: Stage, name: str, port: int) -> dict[str, Any]:
    file = stage.write(f"files/{name.replace(' ', '-')}.yaml", FILES[name])
    flags = (f"--proxy-port={port}", f"--watches-file={file}", "--metrics-bind-address=0")
    probes = f"--health-probe-bind-address=127.0.0.1:{free_port()}"
    ended = subprocess.run(
        [*stage.command, "run", *own_flags(stage.command), *flags, probes],
        cwd=stage.project,
        env={**bare_environment(), "KUBECONFIG": str(stage.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    # A logger may quote the text once more.
    text = (ended.stdout + ended.stderr).replace("\\", "")
    return {"code": ended.returncode, "text": text, "refused": str(port) not in text}

#!/usr/bin/python
"""As the filter does, but in a module."""
import builtins
import json
import os
import random
import signal
import sys
import tempfile

from ansible.module_utils import basic
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils import stateful


def main():
    module = AnsibleModule({"poison": {"type": "bool"}})
    stateful.USES.append(1)
    umask = os.umask(0)
    os.umask(umask)
    found = dict(
        uses=len(stateful.USES), poisoned=os.environ.get("POISONED_IN_MODULE"), cwd=os.getcwd(), umask=umask,
        path=[entry for entry in sys.path if "poisoned" in entry], builtins=hasattr(builtins, "poisoned"),
        classes=[hasattr(json.dumps, "poisoned"), hasattr(AnsibleModule, "poisoned"), hasattr(basic, "POISONED")],
        signals=str(signal.getsignal(signal.SIGUSR1)), tempdir=tempfile.gettempdir(),
        seeded=random.random() == random.Random(42).random(), yaml="poisoned" in dir(sys.modules.get("yaml")),
        kubernetes="poisoned" in dir(sys.modules.get("kubernetes")),
    )
    if module.params["poison"]:
        os.environ["POISONED_IN_MODULE"] = "yes"
        os.chdir("/")
        os.umask(0)
        sys.path.insert(0, "/poisoned")
        builtins.poisoned = AnsibleModule.poisoned = basic.POISONED = True
        dumps = json.dumps
        json.dumps = lambda *given, **named: dumps(*given, **named)
        json.dumps.poisoned = True
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        tempfile.tempdir = "/tmp"
        random.seed(42)
        import kubernetes
        import yaml
        kubernetes.poisoned = yaml.poisoned = True
        kubernetes.client.Configuration.poisoned = True
    module.exit_json(**found)


if __name__ == "__main__":
    main()

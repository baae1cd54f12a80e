#!/usr/bin/python
"""Changes all that a process can change of itself, and leaves a daemon and a file."""
import locale
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile

from ansible.module_utils import basic
from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule({"left": {"type": "path"}})
    os.chdir("/")
    os.umask(0)
    os.environ["LEFT_BEHIND"] = "yes"
    locale.setlocale(locale.LC_ALL, "C")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.alarm(1000)
    sys.path.insert(0, "/left/behind")
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    os.nice(5)
    basic._load_params = None
    keep = [open(os.devnull), socket.socket()]
    with open(os.path.join(module.tmpdir, "in-the-module-tmpdir"), "w") as file:
        file.write("x")
    with open(os.path.join(module.params["left"], "tmpdir-exists"), "w") as file:
        file.write(str(os.path.isdir(module.tmpdir)))
    tempfile.mkstemp(prefix="left-", dir=module.params["left"] + "/nowhere") if False else None
    subprocess.Popen(
        ["sh", "-c", "echo a daemon >%s/daemon; exec sleep 1000" % module.params["left"]],
        start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    module.exit_json(changed=True, opened=len(keep))


if __name__ == "__main__":
    main()

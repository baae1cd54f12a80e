#!/usr/bin/python
"""What a module sees of the process that it is."""
import decimal
import importlib
import locale
import os
import resource
import signal
import stat
import sys
import tempfile
import threading
import time

from ansible.module_utils.basic import AnsibleModule


def main():
    descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
    descriptors = {number: kind(number) for number in descriptors if exists(number)}
    umask = os.umask(0)
    os.umask(umask)
    module = AnsibleModule({})
    try:
        imported = importlib.import_module("from_pythonpath").WORD
    except ImportError as error:
        imported = str(error)
    module.exit_json(
        argv=sys.argv[1:],
        cwd=os.getcwd(),
        descriptors=descriptors,
        environ={name: value for name, value in os.environ.items() if name != "_"},
        executable=sys.executable,
        imported=imported,
        limits={name: resource.getrlimit(getattr(resource, name)) for name in ("RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_AS")},
        locale=locale.setlocale(locale.LC_ALL),
        name=__name__,
        nice=os.nice(0),
        precision=decimal.getcontext().prec,
        recursion=sys.getrecursionlimit(),
        signals={number.name: str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP, signal.SIGALRM)},
        blocked=sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        flags=[sys.flags.optimize, sys.flags.dont_write_bytecode, sys.flags.no_user_site, sys.flags.utf8_mode],
        encodings=[sys.stdout.encoding, sys.getfilesystemencoding(), locale.getpreferredencoding()],
        tempdir=tempfile.gettempdir(),
        threads=threading.active_count(),
        main_thread=threading.current_thread() is threading.main_thread(),
        tz=time.strftime("%Z"),
        umask=umask,
        uid=[os.getuid(), os.geteuid(), os.getgid()],
        warnings=sys.warnoptions,
    )


def exists(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def kind(number):
    mode = os.fstat(number).st_mode
    return [name for name in ("ISREG", "ISFIFO", "ISCHR", "ISSOCK", "ISDIR") if getattr(stat, "S_" + name)(mode)]


if __name__ == "__main__":
    main()

"""Changes whatever a process can change of itself, and goes on working; and says what it finds changed."""
import atexit
import builtins
import decimal
import gc
import json
import locale
import os
import random
import re
import resource
import signal
import sys
import tempfile
import threading
import time
import warnings

from ansible import constants
from ansible.module_utils.basic import AnsibleModule
from ansible.plugins.loader import filter_loader, module_loader
from ansible.template import Templar
from ansible.utils.display import Display

STATE = {"uses": 0}


def poison(value, way):
    STATE["uses"] += 100
    os.environ["POISONED"] = way
    os.environ["ANSIBLE_FORKS"] = "77"
    os.environ.pop("HOME", None)
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    os.chdir("/")
    os.umask(0o007)
    sys.path.insert(0, "/poisoned")
    sys.argv.append("poisoned")
    sys.modules["poisoned_module"] = json
    sys.setrecursionlimit(3210)
    sys.setswitchinterval(0.123)
    sys.excepthook = lambda *_: None
    builtins.poisoned = way
    dumps = json.dumps
    json.dumps = lambda *given, **named: dumps(*given, **named)
    json.dumps.poisoned = True
    Display.poisoned = True
    Display.verbosity = 2
    AnsibleModule.poisoned = True
    Templar.poisoned = True
    constants.POISONED = way
    constants.DEFAULT_FORKS = 66
    module_loader.add_directory("/poisoned")
    filter_loader.add_directory("/poisoned")
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(os.open("/etc/passwd", os.O_RDONLY), True)
    tempfile.mkdtemp(prefix="poisoned-", dir=os.environ["TMPDIR"])
    tempfile.tempdir = "/var/tmp"
    random.seed(42)
    locale.setlocale(locale.LC_ALL, "C")
    decimal.getcontext().prec = 5
    gc.disable()
    warnings.simplefilter("ignore")
    re.purge()
    threading.Thread(target=time.sleep, args=(0.01,)).start()
    atexit.register(lambda: None)
    resource.setrlimit(resource.RLIMIT_NOFILE, (500, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(3)
    os.system("setsid sleep 1000 </dev/null >/dev/null 2>&1 &")
    return value


def sensed(value, way):
    STATE["uses"] += 1
    umask = os.umask(0)
    os.umask(umask)
    return {
        "uses": STATE["uses"] if way == "main" else STATE["uses"] % 1 + (STATE["uses"] >= 100),
        "environment": {name: os.environ.get(name) for name in ("POISONED", "ANSIBLE_FORKS", "HOME", "TZ", "TMPDIR")},
        "tz": time.strftime("%Z"),
        "cwd": os.getcwd(),
        "umask": umask,
        "path": [entry for entry in sys.path if "poisoned" in entry],
        "argv": "poisoned" in sys.argv,
        "modules": "poisoned_module" in sys.modules,
        "recursion": sys.getrecursionlimit(),
        "interval": sys.getswitchinterval(),
        "hook": sys.excepthook is sys.__excepthook__ or "ansible" in getattr(sys.excepthook, "__module__", ""),
        "builtins": hasattr(builtins, "poisoned"),
        "classes": [hasattr(json.dumps, "poisoned"), hasattr(Display, "poisoned"), hasattr(AnsibleModule, "poisoned"), hasattr(Templar, "poisoned")],
        "constants": [hasattr(constants, "POISONED"), constants.DEFAULT_FORKS],
        "loaders": [str(place) for loader in (module_loader, filter_loader) for place in loader._get_paths(subdirs=False) if "poisoned" in str(place)],
        "signals": [str(signal.getsignal(number)) for number in (signal.SIGUSR1,)],
        "blocked": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "opened": sorted(name for name in map(opened, os.listdir("/proc/self/fd")) if name in ("/etc/passwd", "/poisoned")),
        "tempdir": tempfile.gettempdir(),
        "left": [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("poisoned")],
        "seeded": random.random() == SEEDED,
        "locale": locale.setlocale(locale.LC_ALL),
        "precision": decimal.getcontext().prec,
        "gc": gc.isenabled(),
        "limits": [resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE)],
        "nice": os.nice(0),
    }


def opened(name):
    try:
        return os.readlink("/proc/self/fd/" + name)
    except OSError:
        return ""


SEEDED = random.Random(42).random()


class FilterModule:
    def filters(self):
        return {"poison": poison, "sensed": sensed}

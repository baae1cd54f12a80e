#!/usr/bin/python
import atexit
import ctypes
import json
import os
import signal
import sys
import threading

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule({"how": {"type": "str"}})
    how = module.params["how"]
    if how == "exit":
        os._exit(3)
    if how == "exit0":
        os._exit(0)
    if how == "sysexit":
        sys.exit("a word at the end")
    if how == "segfault":
        ctypes.string_at(0)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "abort":
        os.abort()
    if how == "raise":
        raise RuntimeError("raised on purpose: ü")
    if how == "recursion":
        main_again = lambda: main_again()
        main_again()
    if how == "junk before":
        print("junk before\nmore junk {not json}")
    if how == "not json":
        print("this is no json at all")
        sys.exit(0)
    if how == "nothing":
        sys.exit(0)
    if how == "stderr":
        sys.stderr.write("words on stderr\n")
        os.write(2, b"\xff raw bytes\n")
    if how == "fd1":
        os.write(1, b"written to the descriptor\n")
    if how == "atexit":
        atexit.register(lambda: print("junk at exit"))
    if how == "json after":
        print(json.dumps({"changed": True, "said": "printed by hand"}))
        print("junk after")
        sys.exit(0)
    if how == "list":
        print("[1, 2]")
        sys.exit(0)
    if how == "failed rc":
        print(json.dumps({"said": "fine", "rc": 5}))
        sys.exit(5)
    if how == "thread":
        found = []
        thread = threading.Thread(target=lambda: found.append("thread ran"))
        thread.start()
        thread.join()
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        module.exit_json(said=found)
    if how == "close":
        os.close(1)
        os.open(os.devnull, os.O_WRONLY)
    if how == "nonfinite":
        module.exit_json(number=float("inf"), bytes_=b"\xffbytes", set_=sorted({1, 2}))
    module.exit_json(said="survived " + how)


if __name__ == "__main__":
    main()

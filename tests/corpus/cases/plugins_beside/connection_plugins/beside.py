DOCUMENTATION = """
name: beside
short_description: local, with a word
description: x
author: nobody
"""
from ansible.plugins.connection.local import Connection as Local
from ansible.utils.display import Display


class Connection(Local):
    transport = "beside"

    def exec_command(self, cmd, in_data=None, sudoable=True):
        code, out, err = super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        if "marked" in cmd:
            Display().display("beside connection")
        return code, out, err

#!/usr/bin/python
from ansible.module_utils.no_such_util import anything

#!/usr/bin/python
import no_such_python_module

#!/usr/bin/python3
# shebang of its own
import json
import sys
#<<INCLUDE_ANSIBLE_MODULE_COMMON>>
def main():
    print(json.dumps({"said": "shebang of its own", "executable": sys.executable}))
main()

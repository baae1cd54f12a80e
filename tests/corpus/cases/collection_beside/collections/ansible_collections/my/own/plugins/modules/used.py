#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.my.own.plugins.module_utils.helping import help_with
from ..module_utils.deep.er import WORD


def main():
    module = AnsibleModule({"word": {"type": "str", "required": True}, "default_word": {}})
    module.exit_json(said="collection module", helped=help_with(module.params["word"]), word=WORD, default=module.params["default_word"])


if __name__ == "__main__":
    main()

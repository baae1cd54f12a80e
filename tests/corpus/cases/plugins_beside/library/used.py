#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.helping import help_with


def main():
    module = AnsibleModule({"word": {"type": "str", "required": True}}, supports_check_mode=True)
    module.exit_json(said="beside module", helped=help_with(module.params["word"]))


if __name__ == "__main__":
    main()

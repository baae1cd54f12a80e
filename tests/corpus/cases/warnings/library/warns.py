#!/usr/bin/python
import warnings

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.warnings import deprecate, warn


def main():
    module = AnsibleModule(
        {"old": {"aliases": ["older"], "deprecated_aliases": [{"name": "older", "version": "9.0"}]}, "gone": {"removed_in_version": "9.1"}},
    )
    module.warn("a module warned")
    warn("a module warned otherwise")
    module.deprecate("a module is deprecated", version="9.9")
    deprecate("dated", date="2030-01-01", collection_name="my.own")
    warnings.warn("python's own warning")
    module.exit_json(changed=False, warnings=["in the result"], deprecations=[("in the result too", "8.8")])


if __name__ == "__main__":
    main()

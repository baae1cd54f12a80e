#!/usr/bin/env python3
import json
print(json.dumps({"made": {"hosts": ["dyn"], "vars": {"where": "dynamic host"}}, "_meta": {"hostvars": {"dyn": {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}}}}))

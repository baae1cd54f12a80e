"""Roles that several batches use."""

from __future__ import annotations


def tell(what: str = "dump", *, extra: str = "{}", when: str = "") -> str:
    """A task that runs the probe; `extra` is a Jinja expression for a map that it passes on."""
    condition = f"\n  when: {when}" if when else ""
    return f"""\
- name: Tell
  ansible.builtin.command:
    argv:
      - "{{{{ ansible_playbook_python }}}}"
      - "{{{{ lookup('ansible.builtin.env', 'PARITY_PROBE') }}}}"
      - {what}
      - "{{{{ ansible_operator_meta.name }}}}"
      - "{{{{ {extra} | to_json }}}}"
  changed_when: false{condition}
"""


SEEN = (
    "{'role_path': role_path | default(''), 'playbook_dir': playbook_dir, 'facts': ansible_facts | length,"
    " 'text': text | default(''), 'meta': meta | default({})}"
)
"""What a role sees of Ansible's own variables."""

"""The mistakes that `validate` finds in roles, playbooks and templates: one row each, and what is said of it."""

from __future__ import annotations

import pytest

from tests.unit.validate.conftest import CRD, WATCHES, Sound
from tests.unit.validate.mistakes import Mistake, check

TASKS = "roles/thing/tasks/main.yml"
TEMPLATE = "roles/thing/templates/deployment.yml.j2"
PLAY = "play.yml"
SPEC = """\
            spec:
              type: object
              properties:
                size: {type: integer}
                imageName: {type: string}
                service:
                  type: object
                  properties:
                    targetPort: {type: integer}
"""
WITH_SPEC = CRD.replace("            status:\n", f"{SPEC}            status:\n")

ALLOWED = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager}
rules:
  - {apiGroups: ["*"], resources: ["*"], verbs: ["*"]}
"""


def task(name: str, text: str, rule: str, line: int, says: str) -> Mistake:
    return Mistake(name, rule, f"{TASKS}:{line}", says, write={TASKS: text})


def of_files(name: str, files: dict[str, str], rule: str, place: str, says: str) -> Mistake:
    return Mistake(name, rule, place, says, write=files)


SPECS = "roles/thing/meta/argument_specs.yml"


def _specs(option: str) -> str:
    return f"argument_specs:\n  main:\n    options:\n      size: {option}\n"


ADMIT = "roles/thing/tasks/admit.yml"


def reviewed(text: str) -> dict[str, str]:
    """The files of a project whose watch has these tasks asked before a Thing is stored."""
    return {"watches.yaml": f"{WATCHES}  admission: {{validate: {{tasks: admit}}}}\n", ADMIT: text}


MISTAKES = [
    task(
        "a module that is misspelt",
        "- name: Say\n  ansible.builtin.debgu:\n    msg: x\n",
        "module-unknown",
        1,
        "[0].ansible.builtin.debgu: ansible.builtin.debgu is no module; did you mean ansible.builtin.debug?",
    ),
    task(
        "a short name that is misspelt",
        "- name: Say\n  debgu: {msg: x}\n",
        "module-unknown",
        1,
        "[0].debgu: debgu is neither a module nor a keyword; did you mean debug?",
    ),
    task(
        "a module that a collection does not have",
        "- kubernetes.core.k8s_inf: {kind: Pod}\n",
        "module-unknown",
        1,
        "[0].kubernetes.core.k8s_inf: kubernetes.core.k8s_inf is no module; did you mean"
        " kubernetes.core.k8s_info?",
    ),
    task(
        "a module that was removed",
        "- kubernetes.core.k8s_facts: {kind: Pod}\n",
        "module-removed",
        1,
        "[0].kubernetes.core.k8s_facts: kubernetes.core.k8s_facts was removed: Use"
        " kubernetes.core.k8s_info instead.",
    ),
    task(
        "a keyword that is misspelt",
        "- ansible.builtin.debug: {msg: x}\n  whn: true\n",
        "keyword-unknown",
        2,
        "[0].whn: whn is no keyword of a task; did you mean when?",
    ),
    task(
        "a keyword of tasks at a block",
        "- block:\n    - ansible.builtin.debug: {msg: x}\n  register: out\n",
        "keyword-unknown",
        3,
        "[0].register: register is no keyword of a block",
    ),
    task("a task without a module", "- name: Nothing\n  when: true\n", "task-invalid", 1, "[0]: has no module"),
    task(
        "a task with two modules",
        "- ansible.builtin.debug: {msg: x}\n  ansible.builtin.fail: {msg: x}\n",
        "task-invalid",
        1,
        "[0]: has two modules, ansible.builtin.debug and ansible.builtin.fail: make it two tasks",
    ),
    task(
        "an option that is misspelt",
        "- kubernetes.core.k8s:\n    state: present\n    definitoin: {}\n",
        "option-unknown",
        3,
        "[0].kubernetes.core.k8s.definitoin: kubernetes.core.k8s has no option definitoin; did you"
        " mean definition?",
    ),
    task(
        "an option in a text that is misspelt",
        "- ansible.builtin.file: path=/tmp/x stat=directory\n",
        "option-unknown",
        1,
        "[0].ansible.builtin.file.stat: ansible.builtin.file has no option stat; did you mean state?",
    ),
    task(
        "a key of an option that is misspelt",
        "- kubernetes.core.k8s:\n    wait_condition:\n      typ: Ready\n",
        "suboption-unknown",
        3,
        "[0].kubernetes.core.k8s.wait_condition.typ: wait_condition of kubernetes.core.k8s has no"
        " option typ; did you mean type?",
    ),
    task(
        "an option that is required and missing",
        "- ansible.builtin.template:\n    src: deployment.yml.j2\n",
        "option-missing",
        1,
        "[0].ansible.builtin.template: ansible.builtin.template needs the option dest: add it",
    ),
    task(
        "a choice that there is not",
        "- kubernetes.core.k8s:\n    state: presnt\n",
        "option-value",
        2,
        "[0].kubernetes.core.k8s.state: kubernetes.core.k8s takes for state absent, present,"
        ' patched, not "presnt"; did you mean present?',
    ),
    task(
        "a word for a number",
        "- kubernetes.core.k8s:\n    wait_timeout: long\n",
        "option-value",
        2,
        "[0].kubernetes.core.k8s.wait_timeout: kubernetes.core.k8s takes for wait_timeout a whole"
        ' number, not "long"',
    ),
    task(
        "a word for true or false",
        "- kubernetes.core.k8s:\n    wait: maybe\n",
        "option-value",
        2,
        '[0].kubernetes.core.k8s.wait: kubernetes.core.k8s takes for wait true or false, not "maybe"',
    ),
    task(
        "braces that are not closed in a task",
        '- ansible.builtin.debug:\n    msg: "{{ size }"\n',
        "jinja-syntax",
        2,
        "[0].ansible.builtin.debug.msg: Jinja cannot parse this: unexpected '}'",
    ),
    task(
        "a condition that does not parse",
        "- ansible.builtin.debug: {msg: x}\n  when: size = 3\n",
        "jinja-syntax",
        2,
        "[0].when: Jinja cannot parse this: expected token 'end of print statement', got '='",
    ),
    task(
        "a condition of assert that does not parse",
        "- ansible.builtin.assert:\n    that:\n      - size >\n",
        "jinja-syntax",
        3,
        "[0].ansible.builtin.assert.that[0]: Jinja cannot parse this",
    ),
    of_files(
        "a loop that is not closed in a template",
        {TEMPLATE: "kind: Deployment\n{% for x in [1] %}\nname: {{ x }}\n"},
        "jinja-syntax",
        f"{TEMPLATE}:3",
        "Jinja cannot parse this: Unexpected end of template",
    ),
    of_files(
        "a default that does not parse",
        {"roles/thing/defaults/main.yml": '---\nthing_size: "{{ size | default(1 }}"\n'},
        "jinja-syntax",
        "roles/thing/defaults/main.yml:2",
        "thing_size: Jinja cannot parse this: unexpected '}', expected ')'",
    ),
    task(
        "a filter that is misspelt",
        '- ansible.builtin.debug:\n    msg: "{{ size | defualt(1) }}"\n',
        "filter-unknown",
        2,
        "[0].ansible.builtin.debug.msg: there is no filter defualt; did you mean default?",
    ),
    task(
        "a test that is misspelt",
        "- ansible.builtin.debug: {msg: x}\n  when: size is definde\n",
        "test-unknown",
        2,
        "[0].when: there is no test definde; did you mean defined?",
    ),
    task(
        "a lookup that is misspelt",
        "- ansible.builtin.debug:\n    msg: \"{{ lookup('tempalte', 'x.j2') }}\"\n",
        "lookup-unknown",
        2,
        "[0].ansible.builtin.debug.msg: there is no lookup tempalte; did you mean template?",
    ),
    task(
        "a loop over a lookup that is misspelt",
        "- ansible.builtin.debug: {msg: x}\n  with_itmes: [1]\n",
        "lookup-unknown",
        2,
        "[0].with_itmes: there is no lookup itmes; did you mean items?",
    ),
    task(
        "a filter of a collection that is nowhere",
        "- ansible.builtin.debug:\n    msg: \"{{ [] | community.general.json_query('a') }}\"\n",
        "collection-missing",
        2,
        "[0].ansible.builtin.debug.msg: filter community.general.json_query needs the collection"
        " community.general, which is not installed",
    ),
    task(
        "a template that is not there",
        "- ansible.builtin.template: {src: other.yml.j2, dest: /tmp/x}\n",
        "file-missing",
        1,
        "[0].ansible.builtin.template: other.yml.j2 was not found, neither in templates/ nor beside this file",
    ),
    task(
        "a template of k8s that is not there",
        "- kubernetes.core.k8s:\n    template: other.yml.j2\n",
        "file-missing",
        2,
        "[0].kubernetes.core.k8s.template: other.yml.j2 was not found",
    ),
    task(
        "a template of a lookup that is not there",
        "- kubernetes.core.k8s:\n    definition: \"{{ lookup('ansible.builtin.template', 'other.yml.j2') }}\"\n",
        "file-missing",
        2,
        "[0].kubernetes.core.k8s.definition: other.yml.j2 was not found in templates/",
    ),
    task(
        "a file that is not there",
        "- ansible.builtin.copy: {src: settings.conf, dest: /tmp/x}\n",
        "file-missing",
        1,
        "[0].ansible.builtin.copy: settings.conf was not found, neither in files/",
    ),
    task(
        "a file of tasks that is not there",
        "- ansible.builtin.include_tasks: more.yml\n",
        "file-missing",
        1,
        "[0].ansible.builtin.include_tasks: more.yml was not found, neither in tasks/",
    ),
    task(
        "a file of variables that is not there",
        "- ansible.builtin.include_vars: more.yml\n",
        "file-missing",
        1,
        "[0].ansible.builtin.include_vars: more.yml was not found, neither in vars/",
    ),
    of_files(
        "a file of tasks that another role does not have",
        {TASKS: "- include_role: {name: other, tasks_from: delete}\n", "roles/other/tasks/main.yml": "[]"},
        "file-missing",
        f"{TASKS}:1",
        "[0].include_role.tasks_from: role other has no tasks/delete",
    ),
    of_files(
        "a template that a template includes and that is not there",
        {TEMPLATE: "a: 1\n{% include 'labels.j2' %}\n"},
        "file-missing",
        f"{TEMPLATE}:2",
        "labels.j2 was not found in templates/",
    ),
    of_files(
        "variables of a play that are not there",
        {PLAY: "- hosts: localhost\n  vars_files:\n    - vars/more.yml\n  tasks: []\n"},
        "file-missing",
        f"{PLAY}:3",
        "[0].vars_files[0]: vars/more.yml was not found",
    ),
    of_files(
        "a handler that is not there",
        {
            TASKS: "- ansible.builtin.debug: {msg: x}\n  changed_when: true\n  notify: Restrat\n",
            "roles/thing/handlers/main.yml": "- name: Restart\n  ansible.builtin.debug: {msg: x}\n",
        },
        "handler-missing",
        f"{TASKS}:3",
        "[0].notify: there is no handler Restrat; did you mean Restart?",
    ),
    task(
        "a variable that is misspelt",
        '- ansible.builtin.debug:\n    msg: "{{ sizee }}"\n',
        "variable-undefined",
        2,
        "[0].ansible.builtin.debug.msg: nothing defines sizee: no default, no task, and no field of"
        " Thing; did you mean size?",
    ),
    task(
        "a field of the spec in camelCase",
        '- ansible.builtin.debug:\n    msg: "{{ imageName }}"\n',
        "variable-undefined",
        2,
        "[0].ansible.builtin.debug.msg: nothing defines imageName: no default, no task, and no field"
        " of Thing; did you mean image_name?",
    ),
    of_files(
        "a variable of a template that nobody defines",
        {TEMPLATE: "kind: Deployment\nspec:\n  replicas: {{ replicas }}\n"},
        "variable-undefined",
        f"{TEMPLATE}:3",
        "nothing defines replicas: no default, no task, and no field of Thing; give it a default",
    ),
    task(
        "a field that the CRD prunes",
        '- ansible.builtin.debug:\n    msg: "{{ service.port }}"\n',
        "field-pruned",
        2,
        "[0].ansible.builtin.debug.msg: the CRD of Thing has no field for service.port, which is"
        " never there: add the field, or mend the name",
    ),
    task(
        "a field of the whole object that the CRD prunes",
        '- ansible.builtin.debug:\n    msg: "{{ _example_com_thing.spec.image_name }}"\n',
        "field-pruned",
        2,
        "[0].ansible.builtin.debug.msg: the CRD of Thing has no field for"
        " _example_com_thing.spec.image_name, which is never there; did you mean imageName?",
    ),
    task(
        "a field of ansible_operator_meta that there is not",
        '- ansible.builtin.debug:\n    msg: "{{ ansible_operator_meta.labels }}"\n',
        "meta-field-unknown",
        2,
        "[0].ansible.builtin.debug.msg: ansible_operator_meta has name and namespace alone, no labels",
    ),
    of_files(
        "a field of ansible_operator_admission that there is not",
        reviewed('- ansible.builtin.assert: {that: ansible_operator_admission.username == "x"}\n'),
        "meta-field-unknown",
        f"{ADMIT}:1",
        "[0].ansible.builtin.assert.that: ansible_operator_admission has operation, user, old_object and"
        " dry_run alone, no username",
    ),
    of_files(
        "a module that is misspelt in a task of admission",
        reviewed("- ansible.builtin.asert: {that: size < 3}\n"),
        "module-unknown",
        f"{ADMIT}:1",
        "[0].ansible.builtin.asert: ansible.builtin.asert is no module; did you mean ansible.builtin.assert?",
    ),
    of_files(
        "a variable that a task of admission has as little as a run",
        reviewed("- ansible.builtin.assert: {that: sizes < 3}\n"),
        "variable-undefined",
        f"{ADMIT}:1",
        "[0].ansible.builtin.assert.that: nothing defines sizes: no default, no task, and no field of Thing",
    ),
    of_files(
        "a task of admission that would change the cluster",
        reviewed("- kubernetes.core.k8s: {state: absent, api_version: v1, kind: Event, name: x}\n"),
        "admission-writes",
        f"{ADMIT}:1",
        "[0]: the tasks of admission may read the cluster, and change nothing: the API proxy refuses to"
        " delete Event",
    ),
    *(
        of_files(
            f"a task that would change the cluster, which admission comes to by {how}",
            {
                **reviewed(f"- ansible.builtin.{how}: admit/deep.yml\n"),
                "roles/thing/tasks/admit/deep.yml": "- block:\n    - ansible.builtin.include_tasks: twice.yml\n",
                "roles/thing/tasks/admit/twice.yml": (
                    "- kubernetes.core.k8s: {state: absent, api_version: v1, kind: Event, name: x}\n"
                    "- ansible.builtin.import_tasks: admit/deep.yml\n"
                ),
            },
            "admission-writes",
            "roles/thing/tasks/admit/twice.yml:1",
            "[0]: the tasks of admission may read the cluster, and change nothing: ",
        )
        for how in ("include_tasks", "import_tasks")
    ),
    task(
        "a password that is printed",
        '- ansible.builtin.debug:\n    msg: "{{ admin_password }}"\n  vars: {admin_password: x}\n',
        "no-log-missing",
        1,
        "[0].ansible.builtin.debug: this task prints admin_password: remove it, or set `no_log: true`",
    ),
    task(
        "a password in a command line",
        '- ansible.builtin.command: "login {{ admin_password }}"\n  vars: {admin_password: x}\n',
        "no-log-missing",
        1,
        "[0].ansible.builtin.command: this task shows admin_password in its command line: pass it in"
        " `environment` or `stdin`",
    ),
    task(
        "a Secret that is written in the open",
        "- kubernetes.core.k8s:\n    definition:\n      kind: Secret\n      apiVersion: v1\n"
        '      metadata: {name: a, namespace: b}\n      stringData: {key: "{{ image_name }}"}\n',
        "no-log-missing",
        1,
        "[0].kubernetes.core.k8s: this task writes a Secret, which the run's output and artifacts"
        " show: set `no_log: true`",
    ),
    of_files(
        "an option whose type Ansible does not know",
        {SPECS: _specs("{type: integer}")},
        "argument-spec-type",
        f"{SPECS}:4",
        "argument_specs.main.options.size.type: 'integer' is no type of Ansible's: use one of str, path, int",
    ),
    of_files(
        "an option of a list whose key is misspelt",
        {SPECS: _specs("{type: list, elements: dict, options: {a: {choises: [b]}}}")},
        "argument-spec-unknown",
        f"{SPECS}:4",
        "argument_specs.main.options.size.options.a.choises: Ansible knows no 'choises'"
        " of an option, and passes over it; did you mean choices?",
    ),
    of_files(
        "a description that a comma has cut",
        {SPECS: _specs("{type: int, description: How many, as of now}")},
        "argument-spec-unknown",
        f"{SPECS}:4",
        "argument_specs.main.options.size.as of now: Ansible knows no 'as of now'"
        " of an option, and passes over it; text with a comma in {…} needs quotes",
    ),
    of_files(
        "a play for hosts that there are not",
        {PLAY: "- hosts: webservers\n  tasks: []\n"},
        "play-hosts",
        f"{PLAY}:1",
        "[0].hosts: no host matches webservers, and nothing would be run: the operator's inventory"
        " has localhost alone",
    ),
    of_files(
        "a play without hosts",
        {PLAY: "- name: Do\n  tasks: []\n"},
        "play-hosts",
        f"{PLAY}:1",
        "[0]: a play must have hosts: write `hosts: localhost`",
    ),
    of_files(
        "a keyword of a play that is misspelt",
        {PLAY: "- hosts: localhost\n  gather_fact: false\n  tasks: []\n"},
        "keyword-unknown",
        f"{PLAY}:2",
        "[0].gather_fact: gather_fact is no keyword of a play; did you mean gather_facts?",
    ),
    of_files(
        "a collection that requirements.yml lacks",
        {
            TASKS: "- kubernetes.core.k8s_info: {kind: Pod}\n",
            "requirements.yml": "collections: []\n",
        },
        "collection-unlisted",
        f"{TASKS}:1",
        "[0].kubernetes.core.k8s_info: module kubernetes.core.k8s_info needs the collection"
        " kubernetes.core, which is here and not in",
    ),
]


@pytest.fixture
def thing(sound: Sound) -> Sound:
    """The sound project with a spec, a template, and a role that allows everything."""
    sound.write({"config/crd/thing.yaml": WITH_SPEC, TEMPLATE: "a: 1\n", "config/rbac/role.yaml": ALLOWED})
    return sound


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_the_mistake_is_found_where_it_is(thing: Sound, mistake: Mistake) -> None:
    if PLAY in mistake.write:
        thing.replace("watches.yaml", "role: thing", "playbook: play.yml")
    check(thing, mistake)


GOOD = {
    TASKS: """\
- name: Read settings
  ansible.builtin.include_vars: settings.yml
- name: Derive
  ansible.builtin.set_fact:
    thing_labels: "{{ {'app': ansible_operator_meta.name} | combine(extra_labels | default({})) }}"
- name: Keep it
  kubernetes.core.k8s:
    state: "{{ 'present' if size > 0 else 'absent' }}"
    template: deployment.yml.j2
    wait: yes
    wait_timeout: "30"
  register: thing_kept
  loop: [1]
  loop_control: {loop_var: round, index_var: place}
  until: thing_kept is succeeded
  when:
    - round > place
    - not (thing_kept | default({})).failed | default(false)
  notify: Say
- name: Old forms
  action: debug msg="{{ setting }} and k=v"
- local_action: {module: ansible.builtin.debug, var: thing_labels.app}
- ansible.builtin.command: echo a=b
  args: {chdir: /tmp}
  changed_when: false
- ansible.builtin.debug:
    msg: "{{ item.key }} {{ service.target_port }} {{ _example_com_thing.spec.imageName }}"
  with_dict: {a: 1}
- ansible.builtin.debug:
    msg: !unsafe "{{ not jinja }} {% at all"
- name: "Not evaluated {{ whatever }}"
  ansible.builtin.meta: flush_handlers
- ansible.builtin.debug: {msg: "{{ [1] | map('string') | select('match', '1') | list }} {{ size is defined }}"}
- ansible.builtin.debug: {msg: "{{ admin_password }}"}
  no_log: true
  vars: {admin_password: x}
- ansible.builtin.include_tasks: "{{ image_name }}.yml"
- ansible.builtin.script: run.sh with arguments
- ansible.builtin.script: {cmd: run.sh with arguments}
- ansible.builtin.template: {src: deployment.yml.j2, dest: /tmp/x, newline_sequence: "\\r\\n"}
- in_shell: {}
""",
    "roles/thing/files/run.sh": "echo",
    "roles/thing/library/in_shell.sh": "#!/bin/sh",
    "roles/thing/handlers/main.yml": "- name: Tell\n  listen: Say\n  ansible.builtin.debug: {msg: x}\n",
    "roles/thing/vars/settings.yml": "setting: 1\n",
    TEMPLATE: "{% set name = image_name %}\n"
    "{% for x in range(size) %}\na: {{ x }}{{ loop.index }}{{ name }}\n{% endfor %}\n",
}


def test_notes_of_ones_own_in_an_argument_spec_are_left_alone(thing: Sound) -> None:
    thing.write({SPECS: _specs("{type: int, example: 3}")})
    assert thing.validate() == []


def test_good_content_has_no_finding(thing: Sound) -> None:
    thing.write(GOOD)
    assert thing.validate() == []


def test_a_spec_that_keeps_unknown_fields_may_define_any_variable(thing: Sound) -> None:
    spec = "            spec:\n              type: object\n"
    thing.replace(
        "config/crd/thing.yaml", spec, f"{spec}              x-kubernetes-preserve-unknown-fields: true\n"
    )
    thing.write({TASKS: '- ansible.builtin.debug: {msg: "{{ other }}"}\n'})
    assert thing.validate() == []


def test_the_modules_and_filters_that_a_project_brings_along_are_known(thing: Sound) -> None:
    thing.write(
        {
            TASKS: "- my_module: {anything: goes}\n- ansible.builtin.debug: {msg: \"{{ 'x' | my_filter }}\"}\n",
            "roles/thing/library/my_module.py": "",
            "roles/thing/filter_plugins/mine.py": "class FilterModule:\n    def filters(self):\n    "
            "    return {'my_filter': str}",
        }
    )
    assert thing.validate() == []


def test_delimiters_of_a_templates_own_are_left_alone(thing: Sound) -> None:
    options = "src: deployment.yml.j2, dest: /tmp/x, variable_start_string: '[['"
    thing.write({TASKS: f"- ansible.builtin.template: {{{options}}}\n", TEMPLATE: "{{ shell }} {{\n"})
    assert thing.validate() == []


@pytest.mark.parametrize("schema", ["[]", "{spec: []}", "{spec: {type: object, properties: [a]}}"])
def test_a_schema_that_is_none_defines_nothing_and_is_said_elsewhere(thing: Sound, schema: str) -> None:
    crd = WITH_SPEC.partition("          properties:\n")[0] + f"          properties: {schema}\n"
    thing.write({"config/crd/thing.yaml": crd, TASKS: '- ansible.builtin.debug: {msg: "{{ size.a }}"}\n'})
    assert any("schema-" in finding for finding in thing.validate())

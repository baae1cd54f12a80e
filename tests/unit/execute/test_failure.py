# ruff: noqa: E501  (texts as they are)
"""What people read of a failure: recorded results of real runs of both releases, and what nobody expects."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pytest

from runner.execute.failure import LONGEST, LONGEST_WRITTEN, Failure, failed, shown_place
from runner.execute.outcome import Ending, Outcome, State, conclude, fold

RECORDED = Path(__file__).parent / "recorded"
BOTH = {
    "argspec": "Validation of arguments failed: missing required arguments: size"
    " (Validating arguments against arg spec 'main', role argspec)",
    "assert": "size must be below 5",
    "assertplain": "Assertion failed: size | int < 5 (Check the size, roles/assertplain/tasks/main.yml:1)",
    "async": "async task did not complete within the requested time - 1s (Slow, roles/async/tasks/main.yml:1)",
    "badmodule": "couldn't resolve module/action 'ansible.builtin.debg'. This often indicates a misspelling, missing"
    " collection, or incorrect module path (roles/badmodule/tasks/main.yml:1)",
    "badopt2": "Unsupported parameters for (kubernetes.core.k8s) module: stat (Say, roles/badopt2/tasks/main.yml:1)",
    "command": "exit code 2: ls: cannot access '/nosuch/file': No such file or directory"
    " (Run it, roles/command/tasks/main.yml:1)",
    "exec": 'pods nosuch refused (404): pods "nosuch" not found (Exec it, roles/exec/tasks/main.yml:1)',
    "fail": "the size must be at most 5,\nand it is 7",
    "failedwhen": "failed_when is true (Run it, roles/failedwhen/tasks/main.yml:1)",
    "forbidden": 'Secret blog refused (403): the operator may not get resource "secrets" in'
    ' API group "" in the namespace "default" (Create the Secret, roles/forbidden/tasks/main.yml:1)',
    "forbidinfo": 'Secret refused (403): the operator may not list resource "secrets" in'
    ' API group "" in the namespace "default" (Read Secrets, roles/forbidinfo/tasks/main.yml:1)',
    "importtasks": "Could not find or access 'nosuch.yml'",
    "includetasks": "Could not find or access 'nosuch.yml' (Include it, roles/includetasks/tasks/main.yml:1)",
    "k8sstatus2": "missing required arguments: name (Set status, roles/k8sstatus2/tasks/main.yml:1)",
    "k8swait": '"Pod" "never": Timed out waiting on resource (Wait for it, roles/k8swait/tasks/main.yml:1)',
    "loop": 'ConfigMap Two Bad refused (422): metadata.name: Invalid value: "Two Bad": a lowercase RFC 1123'
    " subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric"
    " character (Create the Deployment, roles/loop/tasks/main.yml:1, item 2 of 3)",
    "loopfail": "the two is wrong\nthe three is wrong",
    "missingrole": "the role 'nosuchrole' was not found (roles/missingrole/meta/main.yml:1)",
    "missingvar": "Could not find or access 'nosuch.yml' (Say, roles/missingvar/tasks/main.yml:1)",
    "nokind": "Failed to find exact match for foo.example.com/v1.Blog by [kind, name, singularName, shortNames]"
    " (Make it, roles/nokind/tasks/main.yml:1)",
    "nolog": "A task failed, and no_log hides its output (Use the secret, roles/nolog/tasks/main.yml:1)",
    "nologloop": "A task failed, and no_log hides its output (Use the secret, roles/nologloop/tasks/main.yml:1)",
    "notfoundns": 'ConfigMap blog refused (404): namespaces "nosuchns" not found'
    " (Make it, roles/notfoundns/tasks/main.yml:1)",
    "refuse422": "Deployment blog refused (400): spec.replicas: got string, want int32"
    " (Create the Deployment, roles/refuse422/tasks/main.yml:1)",
    "refuse422b": "Deployment blog refused (422): spec.replicas: Invalid value: -1: must be greater than or equal to"
    ' 0; spec.template.metadata.labels: Invalid value: {"app":"other"}: `selector` does not match template `labels`;'
    " and 1 more (Create the Deployment, roles/refuse422b/tasks/main.yml:1)",
    "rescue": "non-zero return code",
    "retries": "exit code 1 (Wait for it, roles/retries/tasks/main.yml:1, after 2 attempts)",
    "shellquiet": "exit code 3: hello (Run it, roles/shellquiet/tasks/main.yml:1)",
    "syntax2": "conflicting action statements: ansible.builtin.debug, wehn (roles/syntax2/tasks/main.yml:3)",
    "tmplmissing": "Could not find or access 'nope.j2' (Write the page, roles/tmplmissing/tasks/main.yml:1)",
    "unreachable": "Host localhost is unreachable: Failed to connect to the host via ssh: ssh: connect to host"
    " 127.0.0.9 port 1: Connection refused (Ask it, roles/unreachable/tasks/main.yml:3)",
}
TOLD = {
    ("2.19", "commandnone"): "Error executing command: [Errno 2] No such file or directory: b'nosuchprogram'"
    " (Run it, roles/commandnone/tasks/main.yml:1)",
    ("2.18", "commandnone"): "[Errno 2] No such file or directory: b'nosuchprogram'"
    " (Run it, roles/commandnone/tasks/main.yml:1)",
    ("2.19", "crash"): "the module crashed: 'nokey' (Crash, roles/crash/tasks/main.yml:1)",
    ("2.18", "crash"): "the module crashed: KeyError: 'nokey' (Crash, roles/crash/tasks/main.yml:1)",
    (
        "2.19",
        "missinglib",
    ): "the module crashed: No module named 'nosuchlib' (Lib, roles/missinglib/tasks/main.yml:1)",
    ("2.18", "missinglib"): "the module crashed: ModuleNotFoundError: No module named 'nosuchlib'"
    " (Lib, roles/missinglib/tasks/main.yml:1)",
    (
        "2.19",
        "includerole",
    ): "the role 'nosuchrole' was not found (Include it, roles/includerole/tasks/main.yml:1)",
    (
        "2.18",
        "includerole",
    ): "the role 'nosuchrole' was not found (Include it, roles/includerole/tasks/main.yml:2)",
    ("2.19", "includebad"): "YAML parsing failed: While parsing a flow node did not find expected node content"
    " (Include it, roles/includebad/tasks/bad.yml:5)",
    ("2.18", "includebad"): "YAML parsing failed: did not find expected node content. while parsing a flow node"
    " (Include it, roles/includebad/tasks/bad.yml:5)",
    ("2.19", "killed"): "the module was killed (exit code 137), likely for want of memory"
    " (Kill, roles/killed/tasks/main.yml:1)",
    ("2.19", "syntax"): "YAML parsing failed: While scanning a quoted scalar found unexpected end of stream"
    " (roles/syntax/tasks/main.yml:6)",
    ("2.18", "syntax"): "YAML parsing failed: found unexpected end of stream. while scanning a quoted scalar"
    " (roles/syntax/tasks/main.yml:6)",
    ("2.19", "timeout"): "Timed out after 1 second(s) (Slow, roles/timeout/tasks/main.yml:1)",
    ("2.19", "jinjasyntax"): "Syntax error in template: expected token 'name', got 'end of print statement'"
    " (Bad jinja, roles/jinjasyntax/tasks/main.yml:2)",
    ("2.18", "jinjasyntax"): "template error while templating string: expected token 'name', got 'end of print"
    " statement' (Bad jinja, roles/jinjasyntax/tasks/main.yml:1)",
    ("2.19", "tmplfile"): "Syntax error in template: No filter named 'nosuch' in templates/page.j2"
    " (Write the page, roles/tmplfile/tasks/main.yml:1)",
    ("2.18", "tmplfile"): "template error while templating string: Could not load \"nosuch\": 'nosuch'"
    " (Write the page, roles/tmplfile/tasks/main.yml:1)",
    ("2.19", "tmplundef"): "'title' is undefined in templates/page.j2 (Write the page,"
    " roles/tmplundef/tasks/main.yml:1)",
    ("2.18", "tmplundef"): "'title' is undefined (Write the page, roles/tmplundef/tasks/main.yml:1)",
    ("2.19", "type"): 'can only concatenate str (not "int") to str (Filter, roles/type/tasks/main.yml:2)',
    ("2.19", "undef"): "'mesage' is undefined (Say something, roles/undef/tasks/main.yml:3)",
    ("2.18", "undef"): "'mesage' is undefined (Say something, roles/undef/tasks/main.yml:1)",
    ("2.19", "undefloop"): "'nolist' is undefined (Say something, roles/undefloop/tasks/main.yml:3)",
    ("2.19", "undefwhen"): "Error while evaluating conditional: 'mesage' is undefined"
    " (Say something, roles/undefwhen/tasks/main.yml:3)",
    ("2.18", "undefwhen"): "error while evaluating conditional (mesage == 3): 'mesage' is undefined"
    " (Say something, roles/undefwhen/tasks/main.yml:3)",
}
TABLE = {(release, name): told for release in ("2.18", "2.19") for name, told in BOTH.items()} | TOLD


@cache
def recorded(release: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((RECORDED / f"failures-{release}.json").read_text())
    return loaded


def outcome(release: str, name: str) -> Outcome:
    run = recorded(release)[name]
    return conclude(reduce(fold, run["events"], State()), ending=Ending.FINISHED, return_code=run["return_code"])


def told(result: Any, action: str = "debug", text: str = "", **data: Any) -> str:
    return failed({"host": "localhost", "task_action": action, "res": result, **data}, text=text).told


@pytest.mark.parametrize(("release", "name"), sorted(TABLE), ids=lambda value: str(value))
def test_a_recorded_failure_is_told_by_its_cause_and_its_place(release: str, name: str) -> None:
    (failure,) = outcome(release, name).failures
    assert failure.told == TABLE[release, name]


@pytest.mark.parametrize("release", ["2.18", "2.19"])
def test_no_recorded_failure_is_longer_than_it_may_be(release: str) -> None:
    for name in recorded(release):
        for failure in outcome(release, name).failures:
            assert 0 < len(failure.told) <= LONGEST


@pytest.mark.parametrize("release", ["2.18", "2.19"])
def test_the_text_of_the_go_operator_is_kept_beside_it(release: str) -> None:
    assert outcome(release, "loop").messages == ("One or more items failed",)
    assert outcome(release, "nolog").messages == ("unknown playbook failure",)
    assert outcome(release, "syntax").messages == ()


def test_a_refusal_in_python_bytes_is_read_like_any_other() -> None:
    status = {
        "kind": "Status",
        "message": "no 'such' thing",
        "code": 409,
        "details": {"kind": "jobs", "name": "x"},
    }
    text = f"Failed to create object: {json.dumps(status).encode()!r}"
    assert told({"msg": text}) == "jobs x refused (409): no 'such' thing (debug)"


def test_a_schema_of_a_custom_resource_is_told_like_a_type_of_go() -> None:
    cause = {
        "field": "spec.size",
        "message": 'Invalid value: "string": spec.size in body must be of type integer: "string"',
    }
    status = {"kind": "Status", "code": 422, "details": {"kind": "Blog", "name": "one", "causes": [cause]}}
    assert (
        told({"msg": json.dumps(status)}) == "Blog one refused (422): spec.size: got string, want integer (debug)"
    )


@pytest.mark.parametrize(
    ("definition", "named"),
    [
        ('---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {}\n  name: "blog"\n', "ConfigMap blog"),
        ("kind: 'ConfigMap'\nmetadata:\n  generateName: x\ndata:\n  name: no\n", "ConfigMap"),
        ("kind: A\n---\nkind: B\n", "websites one"),
    ],
)
def test_an_object_of_a_template_is_named_as_one_of_a_map(definition: str, named: str) -> None:
    details = {"kind": "websites", "name": "one"}
    status = {"kind": "Status", "code": 409, "message": "no such thing", "details": details}
    result = {"msg": json.dumps(status), "invocation": {"module_args": {"definition": definition}}}
    assert told(result) == f"{named} refused (409): no such thing (debug)"


def test_a_huge_value_does_not_hide_what_is_wrong_with_it() -> None:
    cause = {"field": "spec.size", "message": f'Invalid value: "{"x" * 9000}": must be small'}
    status = {"kind": "Status", "code": 422, "details": {"kind": "Blog", "name": "one", "causes": [cause]}}
    shown = told({"msg": json.dumps(status)}, task="Make it", task_path="/opt/ansible/roles/blog/tasks/main.yml:7")
    assert len(shown) == LONGEST
    assert shown.startswith('Blog one refused (422): spec.size: Invalid value: "xxx')
    assert shown.endswith('": must be small (Make it, roles/blog/tasks/main.yml:7)')


@pytest.mark.parametrize(
    "text", ['{"kind":"Status"', 'b\'{"kind":"Status"', '{"kind":' * 1000 + "Status", "Status b'{"]
)
def test_half_a_refusal_is_told_as_it_is(text: str) -> None:
    assert told({"msg": text}).startswith(text[:50])


def test_what_an_author_wrote_may_be_longer_and_is_whole_up_to_what_an_event_carries() -> None:
    text = "word " * 150
    assert told({"msg": text}, "ansible.builtin.fail") == text.rstrip()
    assert len(told({"msg": text * 10}, "ansible.builtin.assert")) == LONGEST_WRITTEN


def test_fail_without_a_message_names_its_task() -> None:
    assert (
        told({"msg": "Failed as requested from task"}, "fail", task="Stop")
        == "Failed as requested from task (Stop)"
    )


def test_an_author_s_text_that_cannot_be_rendered_is_no_author_s_text() -> None:
    around = "Task failed: Finalization of task args for 'fail' failed: Error while resolving value for 'msg': "
    message = around + "'x' is undefined"
    assert told({"msg": message}, "fail", task="Stop") == "'x' is undefined (Stop)"


def test_control_characters_of_a_tenant_are_written_out_and_take_no_line_of_their_own() -> None:
    shown = told({"msg": "a\x1b]0;title\x07\nFailure: b\u2028c\x00"}, task="T\x1b[31m\nx")
    assert shown == "a\\x1b]0;title\\x07 Failure: b\\u2028c\\x00 (T x)"


def test_every_part_is_bounded() -> None:
    huge = "x" * 10_000_000
    shown = told({"msg": huge}, text=huge, task=huge, task_path=f"/{huge}:1", role=huge)
    assert len(shown) <= LONGEST


@pytest.mark.parametrize("text", ["/" * 1_000_000, "b'{" * 300_000, '{"kind":' * 300_000, "\nOrigin: /" * 100_000])
def test_no_text_takes_long_to_be_read(text: str) -> None:
    assert len(told({"msg": text + "Status"}, text=text)) <= LONGEST


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        {"msg": None},
        {"msg": ["a"]},
        {"results": "text"},
        {"results": [None, 3]},
        {"invocation": 7},
        {"rc": "x"},
    ],
    ids=repr,
)
def test_a_result_of_any_shape_has_a_text(result: Any) -> None:
    assert told(result, task="Odd") == "it failed without a message (Odd)"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/opt/ansible/roles/website/tasks/main.yml:5", "roles/website/tasks/main.yml:5"),
        ("/home/me/.ansible/collections/ansible_collections/acme/web/roles/site/tasks/main.yml:5",
         "acme.web/roles/site/tasks/main.yml:5"),
        ("/usr/share/ansible/main.yml:1", "/usr/share/ansible/main.yml:1"),
        ("/srv/operator/playbooks/site.yml:9", "playbooks/site.yml:9"),
        ("/runner/web.example.com/v1/Website/default/blog/project/961e68b1288e435e9be89e031839f909:1", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_path_is_shown_as_its_author_knows_it(path: str, shown: str) -> None:
    assert shown_place(path) == shown


def test_a_task_of_a_playbook_is_found_beside_it() -> None:
    data = {"playbook": "/srv/site.yml", "task_path": "/srv/tasks/more.yml:3"}
    assert told({"msg": "no"}, task="More", **data) == "no (More, tasks/more.yml:3)"


def began(task: str) -> State:
    data = {"task": task, "task_path": "/opt/ansible/roles/web/tasks/main.yml:8"}
    return fold(State(), {"event": "playbook_on_task_start", "event_data": data, "stdout": ""})


def test_a_run_that_is_ended_by_its_deadline_names_the_limit_and_the_task() -> None:
    (failure,) = conclude(began("Wait"), ending=Ending.DEADLINE, return_code=254, deadline=30.0).failures
    assert failure.told == (
        "The run was ended because it took longer than 30 s (--run-deadline) (Wait, roles/web/tasks/main.yml:8)"
    )


@pytest.mark.parametrize("code", [-9, 137])
def test_a_command_that_is_killed_names_the_likely_cause(code: int) -> None:
    result = {"msg": "non-zero return code", "rc": code}
    assert told(result, task="Grow") == f"exit code {code} (killed, perhaps for want of memory) (Grow)"


def test_a_run_that_is_killed_names_its_task() -> None:
    (failure,) = conclude(began("Grow"), ending=Ending.FINISHED, return_code=137).failures
    assert failure.told == (
        "Ansible was killed (exit code 137), likely for want of memory (Grow, roles/web/tasks/main.yml:8)"
    )


def test_a_run_that_ends_without_a_word_says_so() -> None:
    (failure,) = conclude(State(), ending=Ending.FINISHED, return_code=3).failures
    assert failure.told == "Ansible ended without a recap, exit code 3"


def test_a_run_that_was_cancelled_has_no_failure() -> None:
    assert conclude(State(), ending=Ending.CANCELLED, return_code=254).failures == ()


def test_a_failure_without_a_cause_is_told_by_its_message() -> None:
    assert replace(Failure("localhost", "it broke"), task="A task").told == "it broke (A task)"

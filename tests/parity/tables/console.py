"""What is logged and printed of runs."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row

OPENING = "--------------------------- Ansible Task StdOut -------------------------------"


def records(facts: Facts, name: str, message: str) -> list[dict[str, Any]]:
    return [record for record in facts[f"{name} records"] if record["msg"] == message]


def started(facts: Facts, name: str) -> list[str]:
    return [
        record["EventData.Name"].rpartition(" : ")[2] for record in records(facts, name, "[playbook task start]")
    ]


def titled(task: str) -> str:
    return f"\n TASK [{task}] ******************************** \n"


def is_record(facts: Facts, title: str) -> bool:
    return title in {record["msg"] for record in facts["tasks blocks"]}


def recap(facts: Facts, name: str) -> str:
    return f"Ansible Task Status Event StdOut ({facts['group']}/v1, Kind=Shown, {name}/{facts['namespace']})"


TASKS = (
    Row(
        id="console-start",
        says="[playbook task start] for each task but set_fact and debug",
        batch="console",
        seen=lambda f: started(f, "tasks"),
        expected=["Full debug", "Looped", "Ignored", "Refused", "Tell"],
    ),
    Row(
        id="console-start-literal",
        says="action names compare literally",
        batch="console",
        seen=lambda f: "Full debug" in started(f, "tasks"),
    ),
    Row(
        id="console-start-level",
        says="as INFO",
        batch="console",
        seen=lambda f: {record["level"] for record in records(f, "tasks", "[playbook task start]")},
        expected={"info"},
    ),
    Row(
        id="console-start-block",
        says="with a block",
        batch="console",
        seen=lambda f: "TASK [shown : Looped] ****" in f["tasks out"],
    ),
    Row(
        id="console-debug",
        says="[playbook debug] for debug",
        batch="console",
        seen=lambda f: len(records(f, "tasks", "[playbook debug]")),
        expected=1,
    ),
    Row(
        id="console-debug-args",
        says="with EventData.TaskArgs",
        batch="console",
        seen=lambda f: "EventData.TaskArgs" in records(f, "tasks", "[playbook debug]")[0],
    ),
    Row(
        id="console-debug-block",
        says="and a block with the task's title",
        batch="console",
        seen=lambda f: titled("Short debug") in f["tasks out"] or titled("shown : Short debug") in f["tasks out"],
    ),
    Row(
        id="console-debug-literal",
        says="not for ansible.builtin.debug",
        batch="console",
        seen=lambda f: "full words" in f["tasks out"],
        expected=False,
    ),
    Row(
        id="console-items",
        says="an item that is ok: a block only",
        batch="console",
        seen=lambda f: "(item=one)" in f["tasks out"] and "(item=two)" in f["tasks out"],
    ),
    Row(
        id="console-failed",
        says="[playbook task failed], as ERROR, also when ignored",
        batch="console",
        seen=lambda f: [record["level"] for record in records(f, "tasks", "[playbook task failed]")],
        expected=["error"],
    ),
    Row(
        id="console-failed-fields",
        says="with EventData.Task, .TaskArgs, .FailedTaskPath",
        batch="console",
        seen=lambda f: (
            {"EventData.Task", "EventData.TaskArgs", "EventData.FailedTaskPath"}
            <= set(records(f, "tasks", "[playbook task failed]")[0])
        ),
    ),
    Row(
        id="console-failed-block",
        says="and a block",
        batch="console",
        seen=lambda f: "never mind" in f["tasks out"],
    ),
    Row(
        id="console-opening",
        says="a block opens with the known line, or is a JSON record of that title",
        batch="console",
        seen=lambda f: OPENING in f["tasks out"].splitlines() or is_record(f, "Ansible Task StdOut"),
    ),
    Row(
        id="console-closing",
        says="and closes with one of dashes, where it is text",
        batch="console",
        seen=lambda f: "-" * 79 in f["tasks out"].splitlines() or is_record(f, "Ansible Task StdOut"),
    ),
    Row(
        id="console-fields",
        says="records carry job, name, namespace, gvk and event_type",
        batch="console",
        seen=lambda f: (
            {"job", "name", "namespace", "gvk", "event_type"} <= set(records(f, "tasks", "[playbook debug]")[0])
        ),
    ),
    Row(
        id="console-logger",
        says="their logger is logging_event_handler",
        batch="console",
        seen=lambda f: records(f, "tasks", "[playbook debug]")[0]["logger"],
        expected="logging_event_handler",
    ),
    Row(
        id="console-gvk",
        says="gvk is the GVK text",
        batch="console",
        seen=lambda f: records(f, "tasks", "[playbook debug]")[0]["gvk"] == f"{f['group']}/v1, Kind=Shown",
    ),
    Row(
        id="console-recap",
        says="the recap's block with its title",
        batch="console",
        seen=lambda f: recap(f, "tasks") in f["tasks out"] and "PLAY RECAP" in f["tasks out"],
    ),
    Row(
        id="console-exit",
        says="Ansible-runner exited successfully",
        batch="console",
        seen=lambda f: len(records(f, "tasks", "Ansible-runner exited successfully")),
        expected=1,
    ),
    Row(
        id="console-exit-failed",
        says="else an ERROR whose msg is the complete output",
        batch="console",
        seen=lambda f: any(
            record["level"] == "error" and "refused for good" in record["msg"] and "PLAY RECAP" in record["msg"]
            for record in f["failed records"]
        ),
    ),
    Row(
        id="console-case",
        says="the level's case does not matter",
        batch="console",
        seen=lambda f: (bool(started(f, "tasks")), started(f, "nothing")),
        expected=(True, []),
    ),
)

OTHERS = (
    Row(
        id="console-verbosity",
        says="with the verbosity annotation: raw output",
        batch="console",
        seen=lambda f: "never mind" in f["verbose out"],
    ),
    Row(
        id="console-verbosity-no-blocks",
        says="without blocks",
        batch="console",
        seen=lambda f: OPENING in f["verbose out"] or titled("shown : Short debug") in f["verbose out"],
        expected=False,
    ),
    Row(
        id="console-verbosity-no-records",
        says="and records",
        batch="console",
        seen=lambda f: started(f, "verbose"),
        expected=[],
    ),
    Row(
        id="console-verbosity-recap",
        says="but with the recap",
        batch="console",
        seen=lambda f: recap(f, "verbose") in f["verbose out"],
    ),
    Row(
        id="console-everything",
        says="everything: a record with the event's data for every event",
        batch="console",
        seen=lambda f: len([record for record in f["everything records"] if "EventData" in record]) > 20,
    ),
    Row(
        id="console-everything-types",
        says="of every type",
        batch="console",
        seen=lambda f: (
            {
                "playbook_on_start",
                "playbook_on_task_start",
                "runner_on_start",
                "runner_on_ok",
                "runner_on_failed",
                "playbook_on_stats",
            }
            <= {record.get("event_type") for record in f["everything records"]}
        ),
    ),
    Row(
        id="console-everything-block",
        says="with blocks",
        batch="console",
        seen=lambda f: "full words" in f["everything out"],
    ),
    Row(
        id="console-nothing",
        says="nothing: no blocks",
        batch="console",
        seen=lambda f: OPENING in f["nothing out"] or "full words" in f["nothing out"].split("Debug Result")[0],
        expected=False,
    ),
    Row(
        id="console-nothing-records",
        says="no records of events",
        batch="console",
        seen=lambda f: [record for record in f["nothing records"] if record["msg"].startswith("[playbook")],
        expected=[],
    ),
    Row(
        id="console-nothing-recap",
        says="but the recap",
        batch="console",
        seen=lambda f: recap(f, "nothing") in f["nothing out"],
    ),
    Row(
        id="console-nothing-exit",
        says="and Ansible-runner exited successfully",
        batch="console",
        seen=lambda f: len(records(f, "nothing", "Ansible-runner exited successfully")),
        expected=1,
    ),
    Row(
        id="console-debug-logs",
        says="ANSIBLE_DEBUG_LOGS: the whole output, titled",
        batch="console",
        seen=lambda f: (
            f"Ansible Debug Result ({f['group']}/v1, Kind=Shown, nothing/{f['namespace']})" in f["nothing out"]
            and "full words" in f["nothing out"]
        ),
    ),
    Row(
        id="console-odd",
        says="an unknown level is tasks",
        batch="console",
        seen=lambda f: started(f, "odd") == started(f, "tasks") and bool(started(f, "odd")),
    ),
    Row(
        id="console-odd-said",
        says="and said in the log",
        batch="console",
        seen=lambda f: any("log-events" in text or "log level" in text for text in f["odd errors"]),
    ),
)

ROWS = (
    *TASKS,
    *OTHERS,
)

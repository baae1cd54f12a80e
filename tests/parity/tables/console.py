"""What is logged and printed of runs."""

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, console

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
    console(
        "console-start",
        "[playbook task start] for each task but set_fact and debug",
        lambda f: started(f, "tasks"),
        ["Full debug", "Looped", "Ignored", "Refused", "Tell"],
    ),
    console(
        "console-start-literal", "action names compare literally", lambda f: "Full debug" in started(f, "tasks")
    ),
    console(
        "console-start-level",
        "as INFO",
        lambda f: {record["level"] for record in records(f, "tasks", "[playbook task start]")},
        {"info"},
    ),
    console("console-start-block", "with a block", lambda f: "TASK [shown : Looped] ****" in f["tasks out"]),
    console(
        "console-debug", "[playbook debug] for debug", lambda f: len(records(f, "tasks", "[playbook debug]")), 1
    ),
    console(
        "console-debug-args",
        "with EventData.TaskArgs",
        lambda f: "EventData.TaskArgs" in records(f, "tasks", "[playbook debug]")[0],
    ),
    console(
        "console-debug-block",
        "and a block with the task's title",
        lambda f: titled("Short debug") in f["tasks out"] or titled("shown : Short debug") in f["tasks out"],
    ),
    console(
        "console-debug-literal", "not for ansible.builtin.debug", lambda f: "full words" in f["tasks out"], False
    ),
    console(
        "console-items",
        "an item that is ok: a block only",
        lambda f: "(item=one)" in f["tasks out"] and "(item=two)" in f["tasks out"],
    ),
    console(
        "console-failed",
        "[playbook task failed], as ERROR, also when ignored",
        lambda f: [record["level"] for record in records(f, "tasks", "[playbook task failed]")],
        ["error"],
    ),
    console(
        "console-failed-fields",
        "with EventData.Task, .TaskArgs, .FailedTaskPath",
        lambda f: (
            {"EventData.Task", "EventData.TaskArgs", "EventData.FailedTaskPath"}
            <= set(records(f, "tasks", "[playbook task failed]")[0])
        ),
    ),
    console("console-failed-block", "and a block", lambda f: "never mind" in f["tasks out"]),
    console(
        "console-opening",
        "a block opens with the known line, or is a JSON record of that title",
        lambda f: OPENING in f["tasks out"].splitlines() or is_record(f, "Ansible Task StdOut"),
    ),
    console(
        "console-closing",
        "and closes with one of dashes, where it is text",
        lambda f: "-" * 79 in f["tasks out"].splitlines() or is_record(f, "Ansible Task StdOut"),
    ),
    console(
        "console-fields",
        "records carry job, name, namespace, gvk and event_type",
        lambda f: (
            {"job", "name", "namespace", "gvk", "event_type"} <= set(records(f, "tasks", "[playbook debug]")[0])
        ),
    ),
    console(
        "console-logger",
        "their logger is logging_event_handler",
        lambda f: records(f, "tasks", "[playbook debug]")[0]["logger"],
        "logging_event_handler",
    ),
    console(
        "console-gvk",
        "gvk is the GVK text",
        lambda f: records(f, "tasks", "[playbook debug]")[0]["gvk"] == f"{f['group']}/v1, Kind=Shown",
    ),
    console(
        "console-recap",
        "the recap's block with its title",
        lambda f: recap(f, "tasks") in f["tasks out"] and "PLAY RECAP" in f["tasks out"],
    ),
    console(
        "console-exit",
        "Ansible-runner exited successfully",
        lambda f: len(records(f, "tasks", "Ansible-runner exited successfully")),
        1,
    ),
    console(
        "console-exit-failed",
        "else an ERROR whose msg is the complete output",
        lambda f: any(
            record["level"] == "error" and "refused for good" in record["msg"] and "PLAY RECAP" in record["msg"]
            for record in f["failed records"]
        ),
    ),
    console(
        "console-case",
        "the level's case does not matter",
        lambda f: (bool(started(f, "tasks")), started(f, "nothing")),
        (True, []),
    ),
)

OTHERS = (
    console(
        "console-verbosity",
        "with the verbosity annotation: raw output",
        lambda f: "never mind" in f["verbose out"],
    ),
    console(
        "console-verbosity-no-blocks",
        "without blocks",
        lambda f: OPENING in f["verbose out"] or titled("shown : Short debug") in f["verbose out"],
        False,
    ),
    console("console-verbosity-no-records", "and records", lambda f: started(f, "verbose"), []),
    console("console-verbosity-recap", "but with the recap", lambda f: recap(f, "verbose") in f["verbose out"]),
    console(
        "console-everything",
        "everything: a record with the event's data for every event",
        lambda f: len([record for record in f["everything records"] if "EventData" in record]) > 20,
    ),
    console(
        "console-everything-types",
        "of every type",
        lambda f: (
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
    console("console-everything-block", "with blocks", lambda f: "full words" in f["everything out"]),
    console(
        "console-nothing",
        "nothing: no blocks",
        lambda f: OPENING in f["nothing out"] or "full words" in f["nothing out"].split("Debug Result")[0],
        False,
    ),
    console(
        "console-nothing-records",
        "no records of events",
        lambda f: [record for record in f["nothing records"] if record["msg"].startswith("[playbook")],
        [],
    ),
    console("console-nothing-recap", "but the recap", lambda f: recap(f, "nothing") in f["nothing out"]),
    console(
        "console-nothing-exit",
        "and Ansible-runner exited successfully",
        lambda f: len(records(f, "nothing", "Ansible-runner exited successfully")),
        1,
    ),
    console(
        "console-debug-logs",
        "ANSIBLE_DEBUG_LOGS: the whole output, titled",
        lambda f: (
            f"Ansible Debug Result ({f['group']}/v1, Kind=Shown, nothing/{f['namespace']})" in f["nothing out"]
            and "full words" in f["nothing out"]
        ),
    ),
    console(
        "console-odd",
        "an unknown level is tasks",
        lambda f: started(f, "odd") == started(f, "tasks") and bool(started(f, "odd")),
    ),
    console(
        "console-odd-said",
        "and said in the log",
        lambda f: any("log-events" in text or "log level" in text for text in f["odd errors"]),
    ),
)

ROWS = (
    *TASKS,
    *OTHERS,
)

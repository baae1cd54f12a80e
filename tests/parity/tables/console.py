"""3.8 Console output."""

# fmt: off

from __future__ import annotations

from typing import Any

from tests.parity.rows import Facts, Row

OPENING = "--------------------------- Ansible Task StdOut -------------------------------"


def records(facts: Facts, name: str, message: str) -> list[dict[str, Any]]:
    return [record for record in facts[f"{name} records"] if record["msg"] == message]


def started(facts: Facts, name: str) -> list[str]:
    return [record["EventData.Name"].rpartition(" : ")[2] for record in records(facts, name, "[playbook task start]")]


def titled(task: str) -> str:
    return f"\n TASK [{task}] ******************************** \n"


def recap(facts: Facts, name: str) -> str:
    return f"Ansible Task Status Event StdOut ({facts['group']}/v1, Kind=Shown, {name}/{facts['namespace']})"


TASKS = (
    Row("3.8-start", "[playbook task start] for each task but set_fact and debug", "console", lambda f: started(f, "tasks"), ["Full debug", "Looped", "Ignored", "Refused", "Tell"]),
    Row("3.8-start-literal", "action names compare literally", "console", lambda f: "Full debug" in started(f, "tasks")),
    Row("3.8-start-level", "as INFO", "console", lambda f: {record["level"] for record in records(f, "tasks", "[playbook task start]")}, {"info"}),
    Row("3.8-start-block", "with a block", "console", lambda f: "TASK [shown : Looped] ****" in f["tasks out"]),
    Row("3.8-debug", "[playbook debug] for debug", "console", lambda f: len(records(f, "tasks", "[playbook debug]")), 1),
    Row("3.8-debug-args", "with EventData.TaskArgs", "console", lambda f: "EventData.TaskArgs" in records(f, "tasks", "[playbook debug]")[0]),
    Row("3.8-debug-block", "and a block with the task's title", "console", lambda f: titled("Short debug") in f["tasks out"] or titled("shown : Short debug") in f["tasks out"]),
    Row("3.8-debug-literal", "not for ansible.builtin.debug", "console", lambda f: "full words" in f["tasks out"], False),
    Row("3.8-items", "an item that is ok: a block only", "console", lambda f: "(item=one)" in f["tasks out"] and "(item=two)" in f["tasks out"]),
    Row("3.8-failed", "[playbook task failed], as ERROR, also when ignored", "console", lambda f: [record["level"] for record in records(f, "tasks", "[playbook task failed]")], ["error"]),
    Row("3.8-failed-fields", "with EventData.Task, .TaskArgs, .FailedTaskPath", "console", lambda f: {"EventData.Task", "EventData.TaskArgs", "EventData.FailedTaskPath"} <= set(records(f, "tasks", "[playbook task failed]")[0])),
    Row("3.8-failed-block", "and a block", "console", lambda f: "never mind" in f["tasks out"]),
    Row("3.8-opening", "a block opens with the known line", "console", lambda f: OPENING in f["tasks out"].splitlines()),
    Row("3.8-closing", "and closes with one of dashes", "console", lambda f: "-" * 79 in f["tasks out"].splitlines()),
    Row("3.8-fields", "records carry job, name, namespace, gvk and event_type", "console", lambda f: {"job", "name", "namespace", "gvk", "event_type"} <= set(records(f, "tasks", "[playbook debug]")[0])),
    Row("3.8-logger", "their logger is logging_event_handler", "console", lambda f: records(f, "tasks", "[playbook debug]")[0]["logger"], "logging_event_handler"),
    Row("3.8-gvk", "gvk is the GVK text", "console", lambda f: records(f, "tasks", "[playbook debug]")[0]["gvk"] == f"{f['group']}/v1, Kind=Shown"),
    Row("3.8-recap", "the recap's block with its title", "console", lambda f: recap(f, "tasks") in f["tasks out"] and "PLAY RECAP" in f["tasks out"]),
    Row("3.8-exit", "Ansible-runner exited successfully", "console", lambda f: len(records(f, "tasks", "Ansible-runner exited successfully")), 1),
    Row("3.8-exit-failed", "else an ERROR whose msg is the complete output", "console", lambda f: any(record["level"] == "error" and "refused for good" in record["msg"] and "PLAY RECAP" in record["msg"] for record in f["failed records"])),
    Row("3.8-case", "the level's case does not matter", "console", lambda f: (bool(started(f, "tasks")), started(f, "nothing")), (True, [])),
)

OTHERS = (
    Row("3.8-verbosity", "with the verbosity annotation: raw output", "console", lambda f: "never mind" in f["verbose out"]),
    Row("3.8-verbosity-no-blocks", "without blocks", "console", lambda f: OPENING in f["verbose out"], False),
    Row("3.8-verbosity-no-records", "and records", "console", lambda f: started(f, "verbose"), []),
    Row("3.8-verbosity-recap", "but with the recap", "console", lambda f: recap(f, "verbose") in f["verbose out"]),
    Row("3.8-everything", "everything: a record with the event's data for every event", "console", lambda f: len([record for record in f["everything records"] if "EventData" in record]) > 20),
    Row("3.8-everything-types", "of every type", "console", lambda f: {"playbook_on_start", "playbook_on_task_start", "runner_on_start", "runner_on_ok", "runner_on_failed", "playbook_on_stats"} <= {record.get("event_type") for record in f["everything records"]}),
    Row("3.8-everything-block", "with blocks", "console", lambda f: "full words" in f["everything out"] and OPENING in f["everything out"]),
    Row("3.8-nothing", "nothing: no blocks", "console", lambda f: OPENING in f["nothing out"], False),
    Row("3.8-nothing-records", "no records of events", "console", lambda f: [record for record in f["nothing records"] if record["msg"].startswith("[playbook")], []),
    Row("3.8-nothing-recap", "but the recap", "console", lambda f: recap(f, "nothing") in f["nothing out"]),
    Row("3.8-nothing-exit", "and Ansible-runner exited successfully", "console", lambda f: len(records(f, "nothing", "Ansible-runner exited successfully")), 1),
    Row("3.8-debug-logs", "ANSIBLE_DEBUG_LOGS: the whole output, titled", "console", lambda f: f"Ansible Debug Result ({f['group']}/v1, Kind=Shown, nothing/{f['namespace']})" in f["nothing out"] and "full words" in f["nothing out"]),
    Row("3.8-odd", "an unknown level is tasks", "console", lambda f: started(f, "odd") == started(f, "tasks") and bool(started(f, "odd"))),
    Row("3.8-odd-said", "and said in the log", "console", lambda f: any("log-events" in text or "log level" in text for text in f["odd errors"])),
)

CONSOLE = (*TASKS, *OTHERS)

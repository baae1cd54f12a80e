"""What makes two observations different, and what the normalisation takes out of them and what it leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import case
from tests.corpus.chance import chance_of
from tests.corpus.compare import Observation, difference
from tests.corpus.files import tree, without_content
from tests.corpus.normal import Normal

SEEN = Observation(
    outcome={"return_code": 0, "tail": "a\nb"},
    events=[{"event": "verbose", "counter": 1}, {"event": "runner_on_ok", "counter": 2}],
    artifacts={"rc": {"text": "0"}},
    files={"work": {}},
)
ONE = "0242ac11-0002-0000-0000-00000000000a"
TWO = "0242ac11-0002-0000-0000-00000000000b"


def test_equal_observations_differ_in_nothing() -> None:
    assert difference(SEEN, replace(SEEN)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"outcome": {"return_code": 2, "tail": "a\nb"}}, "/outcome/return_code: 0 | 2"),
        ({"outcome": {"return_code": 0, "tail": "a\nc"}}, "/outcome/tail: -b"),
        ({"outcome": {"return_code": "0", "tail": "a\nb"}}, '/outcome/return_code: 0 | "0"'),
        ({"outcome": {"return_code": 0}}, '/outcome/tail: only in the first: "a\\nb"'),
        ({"files": {"work": {"x": 1}}}, "/files/work/x: only in the second: 1"),
        ({"events": [SEEN.events[1], SEEN.events[0]]}, '/events[0]/event: "verbose" | "runner_on_ok"'),
        ({"events": SEEN.events[:1]}, "/events: 2 items | 1 items"),
        ({"cluster": ({"kind": "Pod"},)}, "/cluster: 0 items | 1 items"),
        ({"error": "no"}, '/error: "" | "no"'),
    ],
)
def test_each_difference_between_observations_is_told(change: dict[str, Any], told: str) -> None:
    assert told in difference(SEEN, replace(SEEN, **change))


def test_how_a_run_was_served_is_no_difference() -> None:
    assert difference(SEEN, replace(SEEN, served="warm")) == []


def test_of_many_differences_the_first_are_told() -> None:
    found = difference(replace(SEEN, files={}), replace(SEEN, files={str(n): n for n in range(100)}))

    assert len(found) == 61
    assert found[-1] == "... and 40 more"


def test_names_are_numbered_by_their_first_appearance() -> None:
    normal = Normal()

    assert normal.value([TWO, ONE, {"uuid": TWO}]) == ["<uuid 1>", "<uuid 2>", {"uuid": "<uuid 1>"}]


def test_two_names_that_change_places_are_seen() -> None:
    assert Normal().value([ONE, ONE, TWO]) != Normal().value([ONE, TWO, TWO])


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("/h/.ansible/tmp/ansible-tmp-1700000000.123-45-678/x.py", "/h/.ansible/tmp/<ansible_tmp 1>/x.py"),
        ("ansible-local-123abcdefgh/.abcdefgh", "<ansible_local 1>"),
        ("/tmp/ansible_ping_payload_abcd_fg1/a.zip", "/tmp/ansible_ping_payload_<payload 1>/a.zip"),
        ("job j123.456 ran", "job <job 1> ran"),
        ("PLAYBOOK: 0123456789abcdef0123456789abcdef ***", "PLAYBOOK: <play 1> ***"),
        ('"start": "2026-01-31 10:20:30.123456"', '"start": "<time>"'),
        ('"delta": "0:00:00.003210"', '"delta": "<span>"'),
    ],
)
def test_what_stock_ansible_draws_at_random_is_taken_out(text: str, normal: str) -> None:
    assert Normal().text(text) == normal


@pytest.mark.parametrize(
    "text",
    [
        "d41d8cd98f00b204e9800998ecf8427e",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "drwxr-xr-x 0644 127.0.0.1:8080",
        "version 2.19.14, 3.11.7",
        "ok=3 changed=1 unreachable=0",
        "tmpdir ansible.cfg temporary",
    ],
)
def test_what_stock_ansible_does_not_draw_at_random_stays(text: str) -> None:
    assert Normal().text(text) == text


def test_a_result_in_the_output_is_read_as_json() -> None:
    normal = Normal(volatile=["inode"])
    shown = 'ok: [localhost] => {"a": {"inode": [1, 2]}, "b": 1}\nuuid ' + ONE

    assert normal.text(shown) == 'ok: [localhost] => {"a": {"inode": "<inode>"}, "b": 1}\nuuid <uuid 1>'


def test_volatile_keys_are_left_out_of_plain_text_too() -> None:
    assert (
        Normal(volatile=["elapsed"]).text('    "elapsed": 12,\n    "x": 1')
        == '    "elapsed": <volatile>,\n    "x": 1'
    )


def test_an_event_loses_its_process_and_its_duration_only() -> None:
    event = {
        "event": "x",
        "pid": 1,
        "created": "now",
        "event_data": {"duration": 0.1, "res": {"pid": 2, "duration": 3}},
    }

    assert Normal().event(event) == {"event": "x", "event_data": {"res": {"pid": 2, "duration": 3}}}


def test_texts_that_are_known_to_differ_are_replaced() -> None:
    assert Normal({"corpus-12345678": "<namespace>"}).text("in corpus-12345678") == "in <namespace>"


def test_without_an_order_events_are_a_set() -> None:
    chance = chance_of(case.Case("x", unordered=True), [])
    assert chance.arranged([{"a": 2, "counter": 1}, {"a": 1, "counter": 2}]) == [{"a": 1}, {"a": 2}]


POLLS = [
    {"uuid": name, "event": f"runner_on_async_{kind}", "event_data": {"jid": jid}, "stdout": name}
    for name, kind, jid in (
        ("first", "poll", "a"),
        ("second", "poll", "b"),
        ("third", "ok", "a"),
        ("fourth", "failed", None),
    )
]
"""Job `a` ends; job `b` is given up."""


def test_polls_of_a_job_that_ends_are_left_out() -> None:
    chance = chance_of(case.Case("x", polled=True), POLLS)
    assert [event["uuid"] for event in chance.kept(POLLS)] == ["second", "third", "fourth"]
    assert [path for path in ("1-first.json", "2-second.json") if chance.keeps_file(path)] == ["2-second.json"]
    assert chance.without_polls("begin\r\nfirst\r\nsecond\nend") == "begin\r\nsecond\nend"
    assert chance.arranged([{"a": 2, "counter": 1}, {"a": 1, "counter": 2}]) == [{"a": 2}, {"a": 1}]


def test_polls_are_compared_unless_the_case_says_that_they_are_left_to_chance() -> None:
    chance = chance_of(case.Case("x"), POLLS)
    assert chance.kept(POLLS) == POLLS
    assert chance.without_polls("first\n") == "first\n"


def test_a_tree_tells_modes_links_and_contents(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o700)
    (tmp_path / "d/text").write_text("words")
    (tmp_path / "d/text").chmod(0o640)
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "__pycache__").mkdir()
    found = tree(tmp_path)

    assert list(found) == ["binary", "d", "d/text", "link"]
    assert (found["d"]["mode"], found["d/text"]["mode"]) == ("drwx------", "-rw-r-----")
    assert (found["d/text"]["text"], found["link"]["link"], len(found["binary"]["bytes"])) == (
        "words",
        "nowhere",
        64,
    )
    assert "text" not in without_content(found, "d/*")["d/text"]
    assert without_content(found, "other/*") == found


def test_a_case_is_read_with_the_names_it_uses(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/case.yml").write_text("environment: {A: $work/x, B: $$}\nsays: [word]\ncontent: roles/web\n")
    read = case.read("one", {"work": "/w"}, tmp_path)

    assert (read.environment, read.says, read.is_role) == ({"A": "/w/x", "B": "$"}, ("word",), True)
    assert case.names(tmp_path) == ["one"]


def test_a_case_with_a_key_that_means_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/case.yml").write_text("retrun_code: 2\n")

    with pytest.raises(ValueError, match="retrun_code means nothing"):
        case.read("one", directory=tmp_path)


def test_every_case_can_be_read() -> None:
    read = [case.read(name) for name in case.names()]

    assert {one.covered for one in read} <= {"warm", "plugin", "cold"}
    assert {need for one in read for need in one.needs} <= {"kubernetes", "http"}

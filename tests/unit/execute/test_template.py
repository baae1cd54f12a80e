"""Which line of a template an error concerns."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.execute.failure import Failure, failed
from runner.execute.template import line_of, with_lines

SOURCE = """title is not a variable here
{% if
   colour %}
<h1>{{ title | upper }}</h1>
{{ page.size }}
{% endif %}
"""


@pytest.mark.parametrize(
    ("cause", "line"),
    [
        ("'title' is undefined", 4),
        ("'colour' is undefined", 3),
        ("object of type 'dict' has no attribute 'size'", 5),
        ("Syntax error in template: No filter named 'upper'", 4),
        ("'absent' is undefined", None),
        ("something else", None),
    ],
)
def test_a_name_is_found_where_the_template_uses_it_first(cause: str, line: int | None) -> None:
    assert line_of(SOURCE, cause) == line


def test_what_jinja_cannot_parse_is_found_by_jinja() -> None:
    assert line_of("one\n{{ title }\nthree\n", "Syntax error in template: unexpected '}'") == 2


def test_what_loops_forever_ends_and_has_no_line() -> None:
    assert line_of("{{" + "(" * 100_000, "Syntax error in template") in (None, 1)


def in_role(role: Path, origin: Path) -> Failure:
    data = {"task_path": f"{role}/tasks/main.yml:1", "res": {"msg": "'title' is undefined"}, "task": "Write"}
    return failed(data, text=f"[ERROR]: 'title' is undefined\nOrigin: {origin}\n\nfatal: ...")


def test_the_line_is_told_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "roles/web/templates/page.j2"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    (failure,) = with_lines([in_role(tmp_path / "roles/web", file)])
    assert failure.told == "'title' is undefined in templates/page.j2:4 (Write, roles/web/tasks/main.yml:1)"


def test_a_template_that_is_gone_leaves_the_message_as_it_is(tmp_path: Path) -> None:
    failure = in_role(tmp_path / "roles/web", tmp_path / "roles/web/templates/page.j2")
    assert with_lines([failure]) == (failure,)


@pytest.mark.parametrize("path", ["templates/page.j2", "roles/web/templates/../../secret"])
def test_only_a_file_of_the_tasks_own_role_is_read(tmp_path: Path, path: str) -> None:
    assert in_role(tmp_path / "roles/web", tmp_path / path).template == ""

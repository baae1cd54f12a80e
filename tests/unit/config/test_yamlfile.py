"""YAML as Go's YAML-to-JSON conversion reads it, with lines."""

from pathlib import Path
from typing import Any

import pytest

from runner.config.yamlfile import problem_in, read_yaml
from runner.errors import WatchesError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("'1'", "1"),
        ("5.0", 5),
        ("1.5", 1.5),
        ("017", 15),
        ("0o17", 15),
        ("0x1F", 31),
        ("-3", -3),
        ("1_000", 1000),
        ("08", 8),
        ("18446744073709551616", 18446744073709551616.0),
        ("yes", True),
        ("y", True),
        ("Off", False),
        ('"yes"', "yes"),
        ("~", None),
        ("2026-01-02", "2026-01-02"),
        ("v1", "v1"),
        ("1h30m", "1h30m"),
        ("!!str 12", "12"),
    ],
)
def test_a_scalar_has_the_type_go_gives_it(text: str, expected: object) -> None:
    value = read_yaml(f"- {text}", "watches.yaml").plain()[0]
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("key", "expected"), [("y", "true"), ("no", "false"), ("3", "3"), ("on", "true"), ("a", "a")]
)
def test_a_key_is_always_a_string(key: str, expected: str) -> None:
    assert list(read_yaml(f"{key}: 1", "f").plain()) == [expected]


def test_of_two_equal_keys_the_last_wins() -> None:
    assert read_yaml("a: 1\na: 2", "f").plain() == {"a": 2}


def test_only_the_first_document_counts() -> None:
    assert read_yaml("a: 1\n---\nb: [", "f").plain() == {"a": 1}


def test_aliases_and_merge_keys_are_followed() -> None:
    text = "base: &base {a: 1, b: 2}\nuse:\n  <<: *base\n  b: 3\nsame: *base"
    expected = {"base": {"a": 1, "b": 2}, "use": {"a": 1, "b": 3}, "same": {"a": 1, "b": 2}}
    assert read_yaml(text, "f").plain() == expected


@pytest.mark.parametrize("text", ["", "# only a comment\n", "null"])
def test_a_file_that_says_nothing_is_null(text: str) -> None:
    assert read_yaml(text, "f").plain() is None


def test_every_value_knows_its_line() -> None:
    root: Any = read_yaml("- a:\n    b: 1\n- c", "f")
    assert [root.value[0].value["a"].value["b"].line, root.value[1].line] == [2, 3]


def test_a_syntax_error_names_file_and_line() -> None:
    with pytest.raises(WatchesError, match=r"^watches\.yaml:3: not YAML"):
        read_yaml("a: 1\nb:\n\t- c", "watches.yaml")


def test_an_alias_that_contains_itself_is_an_error() -> None:
    with pytest.raises(WatchesError, match="contains itself"):
        read_yaml("&a [*a]", "f")


@pytest.mark.parametrize("text", ["- debug:\n", "$ANSIBLE_VAULT;1.1;AES256\n6162: [\n", None])
def test_file_that_is_yaml_or_encrypted_or_gone_has_no_problem(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "main.yml").write_text(text)
    assert problem_in(tmp_path / "main.yml", "main.yml") is None


def test_file_that_is_no_yaml_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "main.yml").write_text("- debug:\nbroken: [\n")
    assert str(problem_in(tmp_path / "main.yml", "main.yml")).startswith("main.yml:2: not YAML: ")

"""Comments that silence findings of `validate`."""

from __future__ import annotations

import pytest

from tests.unit.validate.conftest import Sound

FILE = "config/crd/thing.yaml"
BROKEN = "served: false"


def break_crd(sound: Sound, line: str, *, atop: str = "") -> None:
    """The line with `served: true` becomes `line`, which breaks crd-not-served."""
    sound.replace(FILE, "      served: true\n", line)
    text = (sound.path / FILE).read_text()
    (sound.path / FILE).write_text(atop + text)


@pytest.mark.parametrize(
    "line",
    [
        f"      {BROKEN}  # validate: ignore[crd-not-served]\n",
        f"      {BROKEN} # validate:ignore[ crd-not-served ] because v2 is\n",
        f"      # validate: ignore[crd-not-served]\n      {BROKEN}\n",
        f"      # validate: ignore[crd-not-served]\n      # because v2 is\n      {BROKEN}\n",
    ],
)
def test_a_comment_on_the_line_or_above_it_silences_a_rule(sound: Sound, line: str) -> None:
    break_crd(sound, line)
    assert sound.validate() == []


@pytest.mark.parametrize(
    "atop", ["# validate: ignore[crd-not-served]\n", "---\n# A CRD.\n\n# validate: ignore[crd-not-served]\n"]
)
def test_a_comment_at_the_top_silences_a_rule_for_the_whole_file(sound: Sound, atop: str) -> None:
    break_crd(sound, f"      {BROKEN}\n", atop=atop)
    assert sound.validate() == []


def test_a_comment_silences_a_list_of_rules(sound: Sound) -> None:
    break_crd(sound, f"      {BROKEN}\n", atop="# validate: ignore[crd-not-served, crd-no-status-subresource]\n")
    sound.replace(FILE, "{status: {}}", "{}")
    assert sound.validate() == []


def test_a_comment_silences_no_other_line(sound: Sound) -> None:
    break_crd(sound, f"      {BROKEN}\n      storage: true # validate: ignore[crd-not-served]\n")
    sound.replace(FILE, "      storage: true\n      sub", "      sub")
    assert sorted(finding.rpartition("[")[2] for finding in sound.validate()) == [
        "crd-not-served]",
        "ignore-unused]",
    ]


def test_a_comment_silences_no_other_rule(sound: Sound) -> None:
    break_crd(sound, f"      {BROKEN} # validate: ignore[crd-scope]\n")
    assert sorted(finding.rpartition("[")[2] for finding in sound.validate()) == [
        "crd-not-served]",
        "ignore-unused]",
    ]


def test_a_comment_with_a_rule_that_does_not_exist_is_a_warning(sound: Sound) -> None:
    sound.replace("watches.yaml", "  kind: Thing", "  kind: Thing # validate: ignore[crd-not-server, colour]")
    assert sound.validate() == [
        'warning: watches.yaml:3: there is no rule "colour"; docs/validate.md lists them [ignore-unknown]',
        'warning: watches.yaml:3: there is no rule "crd-not-server"; did you mean crd-not-served?'
        " [ignore-unknown]",
    ]


@pytest.mark.parametrize("file", ["roles/thing/tasks/main.yml", FILE, "watches.yaml"])
def test_a_comment_that_silences_nothing_is_a_warning(sound: Sound, file: str) -> None:
    text = (sound.path / file).read_text()
    (sound.path / file).write_text("# validate: ignore[crd-scope]\n" + text)
    (finding,) = sound.validate()
    assert (
        finding == f"warning: {file}:1: nothing here breaks crd-scope: remove it from the comment [ignore-unused]"
    )

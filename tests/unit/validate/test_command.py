"""`ansible-operator validate`: output and exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runner.cli import main
from tests.unit.validate.conftest import Sound

ROOT = Path(__file__).parents[3]


def test_a_sound_project_ends_with_0_and_a_line_that_says_so(
    sound: Sound, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(sound.path)]) == 0
    assert capsys.readouterr().out == "0 errors, 0 warnings\n"


def test_a_project_with_an_error_ends_with_1(sound: Sound, capsys: pytest.CaptureFixture[str]) -> None:
    sound.replace("config/crd/thing.yaml", "served: true", "served: false")
    assert main(["validate", str(sound.path)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 error, 0 warnings"


def test_a_project_with_a_warning_ends_with_0(sound: Sound, capsys: pytest.CaptureFixture[str]) -> None:
    sound.replace("config/crd/thing.yaml", "{status: {}}", "{}")
    assert main(["validate", str(sound.path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 errors, 1 warning"


def test_findings_are_json_where_that_is_asked_for(sound: Sound, capsys: pytest.CaptureFixture[str]) -> None:
    sound.replace("watches.yaml", "kind: Thing", "kind: Thing\n  colour: red")
    assert main(["validate", "--output=json", str(sound.path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["errors"], found["warnings"]) == (0, 1)
    (finding,) = found["findings"]
    assert (finding["severity"], finding["line"], finding["field"]) == ("warning", 4, "[0].colour")


def test_the_watches_file_can_have_another_name(sound: Sound) -> None:
    (sound.path / "watches.yaml").rename(sound.path / "other.yaml")
    assert main(["validate", "--watches-file=other.yaml", str(sound.path)]) == 0


def test_files_are_named_from_the_working_directory(
    sound: Sound, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sound.path)
    sound.write({"roles/thing/tasks/main.yml": "- ["})
    main(["validate"])
    assert capsys.readouterr().out.startswith("error: roles/thing/tasks/main.yml:1: ")


def test_a_project_that_is_no_directory_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tmp_path / "none")]) == 1
    assert "none is not a directory" in capsys.readouterr().err


def test_the_sample_operator_has_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(ROOT)]) == 0
    assert capsys.readouterr().out == "0 errors, 0 warnings\n"


def test_validating_imports_no_ansible(sound: Sound) -> None:
    script = (
        "import sys; from runner.cli import main; main(['validate', sys.argv[1]]);"
        "sys.exit(any(name.split('.')[0] in ('ansible', 'ansible_runner', 'aiohttp') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script, str(sound.path)], cwd=ROOT, check=False).returncode == 0

"""The import contracts hold a module that they do not know from its first line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS: list[dict[str, Any]] = PROJECT["tool"]["importlinter"]["contracts"]
NEW = {
    "room.py": "",
    "objects.py": "import bench.plot\nimport runner.serve.grants\n",
    "control/new.py": "import runner.serve.proxy\nimport subprocess\n",
    "dev/new.py": "import runner.config.flags\n",
    "generate/new.py": "import runner.kube.client\n",
    "scorecard/new.py": "import runner.kube.client\n",
    "execute/new.py": "import ansible_runner\nimport runner.execute.executor\n",
    "execute/run.py": "import runner.execute.new\n",
    "execute/fork/inside/new.py": "import runner.objects\n",
    "scaffold/new.py": "import runner.kube.client\n",
    "serve/new.py": "import kopf\nimport runner.kube.credentials\nimport yaml\n",
    "validate/new.py": "import runner.kube.client\n",
}
"""What is put at the end of modules, new ones and old ones, so that every contract is broken."""
IMPORTED_AS = {"ansible-core": "ansible", "pyyaml": "yaml"}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the linter says of the operator with these modules."""
    place = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "runner", place / "runner", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    for name, text in NEW.items():
        with (place / "runner" / name).open("a") as file:
            file.write(text)
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(place), "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=120
    ).stdout


@pytest.mark.parametrize("contract", [contract["name"] for contract in CONTRACTS])
def test_a_new_module_is_held_by_each_contract(contract: str, report: str) -> None:
    assert re.search(rf"^{re.escape(contract)} BROKEN", report, re.MULTILINE), report


@pytest.mark.parametrize("requirement", PROJECT["project"]["dependencies"])
def test_each_library_has_its_places(requirement: str) -> None:
    name = re.split(r"[<>=~!\[ ]", requirement)[0]
    held = {module for contract in CONTRACTS for module in contract.get("forbidden_modules", ())}
    assert IMPORTED_AS.get(name, name.replace("-", "_")) in held

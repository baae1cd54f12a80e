"""Where runs look for operator_sdk.util."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.execute.inputs import COLLECTIONS, python_path


@pytest.mark.parametrize(("given", "before"), [("", ""), ("/a:/b", "/a:/b:")])
def test_the_bundled_collection_comes_after_what_is_there(given: str, before: str) -> None:
    assert python_path({"PYTHONPATH": given}, []) == f"{before}{COLLECTIONS}"


def test_the_bundled_collection_is_found_without_the_variable() -> None:
    assert python_path({}, []) == str(COLLECTIONS)


def test_an_installed_collection_is_left_to_be_found(tmp_path: Path) -> None:
    (tmp_path / "ansible_collections/operator_sdk/util").mkdir(parents=True)
    assert python_path({"PYTHONPATH": "/a"}, [str(tmp_path)]) is None


def test_the_bundled_collection_is_there() -> None:
    assert (COLLECTIONS / "ansible_collections/operator_sdk/util/galaxy.yml").is_file()

"""Every shell line of the tutorial and the how-to pages, typed word for word, by a reader with an empty home."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runner.dev.controlplane import ControlPlane
from runner.dev.programs import cache_directory
from tests.docs.page import Command, File, Page, Untested, read_page
from tests.docs.plane import SharedPlane
from tests.docs.terminal import Terminal
from tests.fixtures.manifests import kubectl

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]
UNTESTED = {
    "how-to/look-at-past-runs.md": ["a cluster"],
    "how-to/publish-a-bundle.md": ["docker"],
    "how-to/read-the-log.md": ["a cluster"],
    "how-to/start-a-project.md": ["docker"],
    "how-to/upgrade-from-the-go-operator.md": ["docker", "a cluster"],
}
"""The blocks that are not run, by what they say that they need."""
WITHOUT_A_PLANE = ("tutorial.md", "how-to/publish-a-bundle.md", "how-to/run-from-a-laptop.md")
"""The pages that show how a control plane is started or ended; the reader of any other has one."""

SLOW_PAGES = ("tutorial.md", "how-to/publish-a-bundle.md")
"""The pages that have their reader install the operator: a minute each, most of it pip's."""


def name(path: Path) -> str:
    return str(path.relative_to(DOCS))


@pytest.fixture(scope="session")
def shared_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedPlane]:
    """The control plane of all pages that do not say how one is started and ended."""
    with ControlPlane(tmp_path_factory.mktemp("pages") / "plane") as plane, closing(SharedPlane(plane)) as shared:
        yield shared


@pytest.fixture
def reader(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty home; what the page leaves in the control plane is removed, or the control plane ended."""
    home = tmp_path / "home"
    home.mkdir()
    if name(path) in WITHOUT_A_PLANE or fresh(request):
        yield home
        end_plane(home, request)
        return
    shared: SharedPlane = request.getfixturevalue("shared_plane")
    shared.lend(home)
    yield home
    shared.empty()


def end_plane(home: Path, request: pytest.FixtureRequest) -> None:
    """End the control plane that a page may have left up."""
    down = [sys.executable, "-m", "runner", "dev", "down", "--delete"]
    subprocess.run(down, env=environment(home, fresh=fresh(request)), cwd=ROOT, check=True, capture_output=True)


def fresh(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--empty-cache"))


def environment(home: Path, *, fresh: bool) -> dict[str, str]:
    """What a login gives, with kubectl on PATH; unless `fresh`, the control plane's programs are there already."""
    tools = home.parent / "tools"
    tools.mkdir(exist_ok=True)
    if not (tools / "kubectl").exists():
        (tools / "kubectl").symlink_to(kubectl())
    path = [str(tools), *(part for part in os.environ["PATH"].split(os.pathsep) if ".venv" not in part)]
    cache = {} if fresh else {"KUBEBUILDER_ASSETS": str(cache_directory())}
    through = ("LANG", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
    kept = {key: value for key, value in os.environ.items() if key in through or key.startswith(("PIP_", "GO"))}
    return {**kept, **cache, "HOME": str(home), "PATH": os.pathsep.join(path), "USER": "reader"}


@pytest.mark.cluster
@pytest.mark.xdist_group("default ports")  # which the operators of pages listen on
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow if name(path) in SLOW_PAGES else (), id=name(path))
        for path in PAGES
    ],
)
def test_a_page_does_what_it_says(
    path: Path, tmp_path: Path, reader: Path, tutorials_project: Path, request: pytest.FixtureRequest
) -> None:
    page = read_page(path.read_text())
    variables = environment(reader, fresh=fresh(request))
    if page.begins != "clone":  # which has its reader install the operator
        variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
    directory = begin(page, tmp_path, reader, tutorials_project)
    follow(page, directory, variables, patience=1800 if fresh(request) else 120)


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_no_shell_line_of_a_page_goes_untested_unless_it_says_what_it_needs(path: Path) -> None:
    page = read_page(path.read_text())
    assert not page.problems
    assert [step.needs for step in page.steps if isinstance(step, Untested)] == UNTESTED.get(name(path), [])


def begin(page: Page, tmp_path: Path, home: Path, tutorials_project: Path) -> Path:
    """The directory that the page's reader is in."""
    directory = tmp_path / "work"
    if page.begins == "clone":
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for file in subprocess.check_output(listed, cwd=ROOT, text=True).split("\0"):
            if (ROOT / file).is_file():
                (directory / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, directory / file)
        return directory
    if page.begins == "tutorial":
        return Path(shutil.copytree(tutorials_project, home / tutorials_project.name))
    directory.mkdir()
    return directory


@pytest.fixture(scope="session")
def tutorials_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tutorial has its reader make and write, which many pages begin with."""
    home = tmp_path_factory.mktemp("tutorial") / "home"
    home.mkdir()
    variables = environment(home, fresh=False)
    variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
    steps = read_page((DOCS / "tutorial.md").read_text()).steps
    making = ("ansible-operator init ", "cd ~/", "ansible-operator create ")
    typed = [step.text for step in steps if isinstance(step, Command) and step.text.startswith(making)]
    typed = [line for number, line in enumerate(typed) if line not in typed[:number]]
    subprocess.run(["/bin/bash", "-ec", "\n".join(typed)], env=variables, check=True, capture_output=True)
    project = home / "website"
    for step in steps:
        if isinstance(step, File):
            write(step, project)
    return project


def write(file: File, directory: Path) -> None:
    target = directory / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(file.text)


def follow(page: Page, directory: Path, variables: dict[str, str], patience: float) -> None:
    """Write and type what the page says; commands of other terminals than the first may go on."""
    terminals = {"first": Terminal(directory, variables, patience)}
    steps = [step for step in page.steps if not isinstance(step, Untested)]
    try:
        for step, following in zip(steps, [*steps[1:], None], strict=False):
            if isinstance(step, File):
                write(step, terminals["first"].directory)
                continue
            if step.terminal not in terminals:
                terminals[step.terminal] = Terminal(terminals["first"].directory, variables, patience)
            asks = isinstance(following, Command) and following.text == "echo $?"
            terminals[step.terminal].run(step, may_fail=asks, may_go_on=step.terminal != "first")
    finally:
        for terminal in terminals.values():
            terminal.close()

"""The base image keeps the contract that operators' Dockerfiles and manifests rely on (docs/image.md)."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.fixtures.containers import Container


def test_the_configuration_is_the_one_that_manifests_rely_on(base_image: Container) -> None:
    config = base_image.config
    assert config["Entrypoint"] == [
        "/tini",
        "--",
        "/usr/local/bin/ansible-operator",
        "run",
        "--watches-file=./watches.yaml",
    ]
    assert (config["User"], config["WorkingDir"]) == ("1001:0", "/opt/ansible")
    assert {"HOME=/opt/ansible", "USER_NAME=ansible", "USER_UID=1001", "TINI_VERSION=v0.19.0"} <= set(
        config["Env"]
    )


def test_the_account_has_a_name_and_no_shell(base_image: Container) -> None:
    line = base_image.run("getent", "passwd", "1001").stdout.strip()
    assert line == "ansible:x:1001:0:ansible:/opt/ansible:/usr/sbin/nologin"


@pytest.mark.parametrize(
    "path",
    [
        "/tini",
        "/usr/bin/curl",
        *(
            f"/usr/local/bin/{name}"
            for name in (
                "ansible",
                "ansible-doc",
                "ansible-galaxy",
                "ansible-operator",
                "ansible-playbook",
                "ansible-runner",
                "ansible-vault",
                "python3",
            )
        ),
    ],
)
def test_a_program_is_on_its_path_and_starts(base_image: Container, path: str) -> None:
    assert base_image.run(path, "version" if path.endswith("operator") else "--version").stdout


def test_ansible_finds_its_configuration_inventory_and_roles(base_image: Container) -> None:
    told = base_image.run("ansible-config", "dump", "--only-changed").stdout
    assert "CONFIG_FILE() = /etc/ansible/ansible.cfg" in told
    assert "DEFAULT_ROLES_PATH(/etc/ansible/ansible.cfg) = ['/opt/ansible/roles']" in told
    assert base_image.run("cat", "/etc/ansible/hosts").stdout == "localhost ansible_connection=local\n"


def test_only_the_empty_directories_of_the_manifest_can_be_written(base_image: Container) -> None:
    base_image.run("touch", "/tmp/a", "/opt/ansible/.ansible/tmp/a")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        base_image.run("touch", "/opt/ansible/a", "/usr/local/a")
    assert refused.value.stderr.count("Read-only file system") == 2


def test_any_user_of_the_group_may_write_the_home_where_the_root_is_writable(base_image: Container) -> None:
    modes = base_image.run("stat", "-c", "%A %g", "/opt/ansible", "/opt/ansible/.ansible").stdout
    assert modes.split() == ["drwxrwxr-x", "0"] * 2


def test_a_task_runs_and_sees_who_it_is(base_image: Container, uid: int) -> None:
    said = base_image.run("ansible", "localhost", "-m", "ansible.builtin.command", "-a", "id -u").stdout
    assert f"rc=0 >>\n{uid}\n" in said


def test_nothing_is_compiled_at_start(base_image: Container) -> None:
    """A read-only root keeps no bytecode: what the image lacks is compiled again in every process."""
    program = "import runner.manager, ansible.cli.playbook, ansible_runner.interface, kubernetes.dynamic"
    compiled = base_image.run("python3", "-v", "-c", program).stderr
    # Python says `# code object from FILE.py` of what it compiles, and quotes the file where that is bytecode.
    assert re.findall(r"^# code object from (/\S+\.py)$", compiled, re.MULTILINE) == []


def test_every_package_has_what_it_requires(base_image: Container) -> None:
    assert "No broken requirements found" in base_image.run("python3", "-m", "pip", "check").stdout


def test_there_is_no_compiler_and_no_download_left(base_image: Container) -> None:
    left = base_image.run(
        "sh", "-c", "command -v gcc cc make git; ls -A /var/cache /var/lib/apt/lists /root/.cache 2>&1 || :"
    ).stdout
    assert "bin/" not in left
    assert ".deb" not in left

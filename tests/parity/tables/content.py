"""Where roles and playbooks are found."""

from __future__ import annotations

from tests.parity.rows import Facts, Row


def role(facts: Facts, name: str) -> str:
    """Where the role of a run was found, in the project."""
    return str(facts[name]["extra"]["role_path"]).removeprefix(facts["project"] + "/")


PATHS = (
    Row(
        id="content-playbook-absolute",
        says="an absolute playbook",
        batch="values",
        seen=lambda f: f["whole"]["extra"]["playbook_dir"] == f"{f['project']}/playbooks",
    ),
    Row(
        id="content-playbook-relative",
        says="a playbook relative to the working directory",
        batch="values",
        seen=lambda f: f["book"]["extra"]["playbook_dir"] == f"{f['project']}/playbooks",
    ),
    Row(
        id="content-playbook-missing",
        says="a playbook must exist",
        batch="refusals",
        seen=lambda f: f["playbook missing"]["refused"],
    ),
    Row(
        id="content-playbook-directory",
        says="a directory passes",
        batch="refusals",
        seen=lambda f: f["playbook directory"]["refused"],
        expected=False,
    ),
    Row(
        id="content-role-absolute",
        says="an absolute role",
        batch="values",
        seen=lambda f: role(f, "realm"),
        expected="roles/tell",
    ),
    Row(
        id="content-role-fqcn",
        says="ns.col.role in ANSIBLE_COLLECTIONS_PATH",
        batch="values",
        seen=lambda f: role(f, "fqcn"),
        expected="collections/ansible_collections/ns/col/roles/told",
    ),
    Row(
        id="content-role-fqcn-home",
        says="in ~/.ansible/collections without ANSIBLE_COLLECTIONS_PATH",
        batch="inputs",
        seen=lambda f: f["home"]["extra"]["role_path"].endswith(
            "home/.ansible/collections/ansible_collections/ns/col/roles/told"
        ),
    ),
    Row(
        id="content-role-path",
        says="<dir>/<role> of ANSIBLE_ROLES_PATH",
        batch="values",
        seen=lambda f: role(f, "direct"),
        expected="elsewhere/direct",
    ),
    Row(
        id="content-role-path-roles",
        says="<dir>/roles/<role> of it",
        batch="values",
        seen=lambda f: role(f, "below"),
        expected="more/roles/below",
    ),
    Row(
        id="content-role-path-first",
        says="before roles/<role> of the working directory",
        batch="values",
        seen=lambda f: role(f, "first"),
        expected="elsewhere/first",
    ),
    Row(
        id="content-role-cwd",
        says="roles/<role> of the working directory",
        batch="values",
        seen=lambda f: role(f, "full"),
        expected="roles/tell",
    ),
    Row(
        id="content-role-nested",
        says="a nested name",
        batch="values",
        seen=lambda f: role(f, "nested"),
        expected="roles/default/x-deploy",
    ),
    Row(
        id="content-role-missing",
        says="role: <value> was not found",
        batch="refusals",
        seen=lambda f: "role: none was not found" in f["role missing"]["text"],
    ),
    Row(
        id="content-role-symlink",
        says="a symlinked role runs",
        batch="values",
        seen=lambda f: f["linked"]["name"],
        expected="linked",
        mended=True,
    ),
    Row(
        id="content-role-slash",
        says="a trailing slash does no harm",
        batch="values",
        seen=lambda f: f["slashed"]["name"],
        expected="slashed",
        mended=True,
    ),
    Row(
        id="content-role-relative",
        says="roles/<role> relative to the working directory runs",
        batch="values",
        seen=lambda f: f["relative"]["name"],
        expected="relative",
        mended=True,
    ),
)

ROWS = (*PATHS,)

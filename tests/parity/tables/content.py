"""Where roles and playbooks are found."""

from __future__ import annotations

from tests.parity.rows import Facts, inputs, refusals, values


def role(facts: Facts, name: str) -> str:
    """Where the role of a run was found, in the project."""
    return str(facts[name]["extra"]["role_path"]).removeprefix(facts["project"] + "/")


PATHS = (
    values(
        "content-playbook-absolute",
        "an absolute playbook",
        lambda f: f["whole"]["extra"]["playbook_dir"] == f"{f['project']}/playbooks",
    ),
    values(
        "content-playbook-relative",
        "a playbook relative to the working directory",
        lambda f: f["book"]["extra"]["playbook_dir"] == f"{f['project']}/playbooks",
    ),
    refusals("content-playbook-missing", "a playbook must exist", lambda f: f["playbook missing"]["refused"]),
    refusals(
        "content-playbook-directory", "a directory passes", lambda f: f["playbook directory"]["refused"], False
    ),
    values("content-role-absolute", "an absolute role", lambda f: role(f, "realm"), "roles/tell"),
    values(
        "content-role-fqcn",
        "ns.col.role in ANSIBLE_COLLECTIONS_PATH",
        lambda f: role(f, "fqcn"),
        "collections/ansible_collections/ns/col/roles/told",
    ),
    inputs(
        "content-role-fqcn-home",
        "in ~/.ansible/collections without ANSIBLE_COLLECTIONS_PATH",
        lambda f: f["home"]["extra"]["role_path"].endswith(
            "home/.ansible/collections/ansible_collections/ns/col/roles/told"
        ),
    ),
    values(
        "content-role-path", "<dir>/<role> of ANSIBLE_ROLES_PATH", lambda f: role(f, "direct"), "elsewhere/direct"
    ),
    values("content-role-path-roles", "<dir>/roles/<role> of it", lambda f: role(f, "below"), "more/roles/below"),
    values(
        "content-role-path-first",
        "before roles/<role> of the working directory",
        lambda f: role(f, "first"),
        "elsewhere/first",
    ),
    values("content-role-cwd", "roles/<role> of the working directory", lambda f: role(f, "full"), "roles/tell"),
    values("content-role-nested", "a nested name", lambda f: role(f, "nested"), "roles/default/x-deploy"),
    refusals(
        "content-role-missing",
        "role: <value> was not found",
        lambda f: "role: none was not found" in f["role missing"]["text"],
    ),
    values("content-role-symlink", "a symlinked role runs", lambda f: f["linked"]["name"], "linked", mended=True),
    values(
        "content-role-slash",
        "a trailing slash does no harm",
        lambda f: f["slashed"]["name"],
        "slashed",
        mended=True,
    ),
    values(
        "content-role-relative",
        "roles/<role> relative to the working directory runs",
        lambda f: f["relative"]["name"],
        "relative",
        mended=True,
    ),
)

ROWS = (*PATHS,)

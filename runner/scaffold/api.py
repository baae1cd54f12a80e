"""`create api`: a kind, with the role or playbook that is run for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.config.watches import Watch
from runner.config.watchesfile import read_watches
from runner.errors import SettingsError, WatchesError
from runner.generate import crds
from runner.scaffold import roles, samples
from runner.scaffold.changes import Changes, changing, existing, refuse, unmarked
from runner.scaffold.names import Api, stem
from runner.scaffold.project import Project, write_role
from runner.scaffold.templates import template, tree
from runner.validate.content import pins
from runner.validate.content.places import IMAGE_HOME, find_places
from runner.validate.documents import shown

WATCHES = Path("watches.yaml")
_REQUIREMENTS = Path("requirements.yml")
_CRDS = Path("crds/Kustomization")
_DEFAULT = Path("config/default/kustomization.yaml")
_SAMPLES = Path("config/samples")
_RBAC = Path("config/rbac")
_VERIFY = Path("molecule/shared/verify")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `create api` was asked for. `from_role` is empty where a role is to be made."""

    api: Api
    from_role: str = ""
    playbook: bool = False
    cluster_scoped: bool = False


def create_api(project: Project, wanted: Wanted, environment: Mapping[str, str]) -> None:
    """Write the kind into the project, and say what was written.

    Raises SettingsError, with the project as it was, where something is in the way, WatchesError for mistakes in
    watches.yaml, and for whatever `generate crds` finds wrong with the role.
    """
    _check_kind(watches_of(project, environment), wanted.api)
    source = _source(project, wanted, environment)
    values = _values(project, wanted, source.role)
    files = _files(wanted, values)
    _check(project.directory, wanted, files, source)
    with changing(project.directory) as changes:
        changes.create(files)
        if source.copied:
            changes.copy(source.copied, roles.ROLES / source.role)
        if source.collection:
            changes.insert(_REQUIREMENTS, "collections", f"- name: {source.collection}")
            _pin(project.directory, source.collection, changes, environment)
        changes.insert(WATCHES, "watches", template("watch.yaml", values))
        crd = define(project, wanted.api, changes, environment)
        _for_people(wanted.api, values, crd, changes)
        write_role(project.directory, changes, environment)


def _pin(project: Path, collection: str, changes: Changes, environment: Mapping[str, str]) -> None:
    """Where the project pins collections, the image is built with this one and those that it needs."""
    if (project / pins.FILE).is_file():
        before = pins.read_pins(changes.read(pins.FILE))
        found = pins.installed(collection, find_places(project, environment))
        changes.replace(pins.FILE, pins.pins_text(found | before))


def watches_of(project: Project, environment: Mapping[str, str]) -> tuple[Watch, ...]:
    """Raises WatchesError for mistakes."""
    reading = read_watches(Path(shown(project.directory / WATCHES)), project.directory, environment, IMAGE_HOME)
    if reading.fatal:
        raise WatchesError(reading.fatal)
    return reading.watches


def define(project: Project, api: Api, changes: Changes, environment: Mapping[str, str]) -> Mapping[str, Any]:
    """Make the CRDs anew; the one of the kind. Raises WatchesError for what is wrong with a role."""
    for path, text in crds.files(project.directory, environment).items():
        changes.replace(path, text)
        crd = yaml.safe_load(text)
        if (crd["spec"]["group"], crd["spec"]["names"]["kind"]) == (api.group, api.kind):
            changes.insert(_CRDS, "crds", f"- {path.relative_to(_CRDS.parent)}")
            changes.insert(_DEFAULT, "default", "- ../crd")
            return dict(crd)
    raise SettingsError(
        f"nothing says what the spec of a {api.kind} may hold: the role needs meta/argument_specs.yml or"
        " defaults/main.yml"
    )


def _check_kind(watches: tuple[Watch, ...], api: Api) -> None:
    """Raises SettingsError where it is watched already, or cannot be told from one that is."""
    for watch in watches:
        if watch.gvk.kind != api.kind:
            continue
        if watch.gvk.group != api.group:
            raise SettingsError(
                f"{WATCHES} has a {api.kind} of the group {watch.gvk.group}, and files are named after kinds: add"
                " the second by hand, with a role of another name"
            )
        if watch.gvk.version == api.version or api.version in watch.conversions:
            raise SettingsError(f"{WATCHES} has {api} already")
        raise SettingsError(
            f"{WATCHES} runs {api.kind} as {watch.gvk.version}. Every object is of all versions, and a second"
            f" watch would run it twice: to serve {api.version}, too, write `versions: {{{api.version}: {{}}}}`"
            " into that watch, with what differs in its fields, and run `ansible-operator generate crds`"
        )


def _source(project: Project, wanted: Wanted, environment: Mapping[str, str]) -> roles.Source:
    if wanted.from_role:
        return roles.find_role(wanted.from_role, project.directory, environment)
    return roles.Source(stem(wanted.api.kind))


def _values(project: Project, wanted: Wanted, role: str) -> dict[str, str]:
    """What stands at the places of templates."""
    api = wanted.api
    scoped = wanted.cluster_scoped
    playbook = f"playbooks/{stem(api.kind)}.yml"
    lines = [f"playbook: {playbook}" if wanted.playbook else f"role: {role}"]
    lines += ["crd:", "  scope: Cluster"] * scoped
    return {
        "name": project.name,
        "group": api.group,
        "version": api.version,
        "kind": api.kind,
        "stem": stem(api.kind),
        "role": role,
        "runs": "\n  ".join(lines),
        "namespace": "target_namespace" if scoped else "ansible_operator_meta.namespace",
        "verified": "default" if scoped else "molecule",
    }


def _files(wanted: Wanted, values: Mapping[str, str]) -> dict[Path, str]:
    """The new files that need no CRD to be made."""
    name = values["stem"]
    made = not wanted.from_role
    files = {_VERIFY / f"{name}.yml": template("verify_of_role.yml" if made else "verify.yml", values)}
    if wanted.playbook:
        files[Path("playbooks") / f"{name}.yml"] = template("playbook.yml", values)
    if made:
        files |= {roles.ROLES / name / path: text for path, text in tree("role", values).items()}
        if wanted.cluster_scoped:
            specs, defaults = (
                roles.ROLES / name / path for path in ("meta/argument_specs.yml", "defaults/main.yml")
            )
            files[specs] += template("cluster-scoped.yml", values)
            files[defaults] += "target_namespace: default\n"
    return files


def _people_files(name: str) -> tuple[Path, Path, Path]:
    return _SAMPLES / f"{name}.yaml", _RBAC / f"{name}_editor_role.yaml", _RBAC / f"{name}_viewer_role.yaml"


def _check(project: Path, wanted: Wanted, files: Mapping[Path, str], source: roles.Source) -> None:
    """Raises SettingsError with all that is in the way, before anything is written."""
    places = [
        (WATCHES, "watches"),
        (_CRDS, "crds"),
        (_DEFAULT, "default"),
        (_SAMPLES / "kustomization.yaml", "samples"),
        (_RBAC / "kustomization.yaml", "roles"),
        *([(_REQUIREMENTS, "collections")] if source.collection else []),
    ]
    made = not wanted.from_role and (project / roles.ROLES / source.role).exists()
    in_the_way = [
        f"{roles.ROLES / source.role} is there already: to run it for {wanted.api.kind}, add"
        f" --from-role {roles.ROLES / source.role}"
    ] * made
    new = [] if made else [*files]
    new += [roles.ROLES / source.role] if source.copied else []
    problems = [*in_the_way, *existing(project, [*new, *_people_files(stem(wanted.api.kind))])]
    refuse([*problems, *unmarked(project, places)])


def _for_people(api: Api, values: Mapping[str, str], crd: Mapping[str, Any], changes: Changes) -> None:
    """A custom resource to try, and roles for those who may write and read them."""
    (version,) = (each for each in crd["spec"]["versions"] if each["name"] == api.version)
    schema = version["schema"]["openAPIV3Schema"]["properties"].get("spec", {})
    filled = {**values, "plural": crd["spec"]["names"]["plural"], "spec": samples.spec_text(schema).rstrip()}
    sample, editor, viewer = _people_files(values["stem"])
    names = ("sample.yaml", "editor_role.yaml", "viewer_role.yaml")
    changes.create(
        {path: template(name, filled) for path, name in zip((sample, editor, viewer), names, strict=True)}
    )
    changes.insert(_SAMPLES / "kustomization.yaml", "samples", f"- {sample.name}")
    changes.insert(_RBAC / "kustomization.yaml", "roles", f"- {editor.name}\n- {viewer.name}")

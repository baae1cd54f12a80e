"""A project's manifests as `kustomize build` makes them, but for namespaces, as far as operators' projects go.

What it does not know is refused: whoever needs that builds with kustomize, and hands the result over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.config.yamlfile import Located, read_all_yaml
from runner.errors import SettingsError, WatchesError
from runner.generate.patches import Object, apply
from runner.validate.documents import Document, child, entries, members, shown, text

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_UNDERSTOOD = ("resources", "components", "namePrefix", "nameSuffix", "images", "patches")
_WITHOUT_EFFECT = ("apiVersion", "kind", "metadata", "namespace", "sortOptions", "configurations")
_NOT_RENAMED = ("CustomResourceDefinition", "APIService", "Namespace")
_NAMED_BY_RULES = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""As `generate manifests` has kustomize look there, by `configurations`."""
OTHERWISE = "build with `kubectl kustomize` and hand the result over with --manifests FILE"


def built(path: Path) -> list[Object]:
    """The objects of a file, or of a directory with a kustomization. Raises SettingsError."""
    if path.is_dir():
        file = kustomization(path)
        if file is None:
            raise SettingsError(f"{shown(path)} has no kustomization.yaml: {OTHERWISE}")
        return _of(file)
    return [found for document in documents(path) for found in _items(document.node.plain())]


def kustomization(directory: Path) -> Path | None:
    """The file that says what a directory builds, if there is one."""
    return next((directory / name for name in NAMES if (directory / name).is_file()), None)


def documents(path: Path) -> list[Document]:
    """The documents of a file that hold something. Raises SettingsError."""
    try:
        nodes = read_all_yaml(path.read_text(encoding="utf-8"), shown(path))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{shown(path)} cannot be read: {error}") from error
    except WatchesError as error:
        raise SettingsError(str(error)) from error
    return [Document(shown(path), node) for node in nodes if node.value]


def _items(found: Object) -> list[Object]:
    return list(found.get("items") or ()) if found.get("kind") == "List" else [found]


def _of(file: Path, beside: Sequence[Object] = ()) -> list[Object]:
    """What a kustomization builds; of a component, with what it is put beside."""
    found = documents(file)
    if not found:
        return list(beside)
    document = found[0]
    for name, node in entries(document.node).items():
        if name not in (*_UNDERSTOOD, *_WITHOUT_EFFECT):
            raise SettingsError(f"{document.file}:{node.line}: {name} is not understood here: {OTHERWISE}")
    resources = members(document.get("resources"))
    objects = [*beside, *(item for node in resources for item in built(_there(file, node, document)))]
    for node in members(document.get("components")):
        component = kustomization(_there(file, node, document))
        objects = _of(component, objects) if component else objects
    for node in members(document.get("patches")):
        objects = _patched(objects, node, file, document)
    _rename(objects, document.text("namePrefix"), document.text("nameSuffix"))
    for image in document.get("images").plain() or ():
        _set_image(objects, image)
    return objects


def _there(file: Path, node: Located, document: Document) -> Path:
    path = file.parent / text(node)
    if not path.exists():
        raise SettingsError(f"{document.file}:{node.line}: {text(node)} is not there")
    return path


def _patched(objects: list[Object], node: Located, file: Path, document: Document) -> list[Object]:
    """With one entry of `patches` applied to what its target, or the patch itself, names."""
    if inline := text(child(node, "patch")):
        patches = [one.plain() for one in read_all_yaml(inline, document.file)]
    else:
        patches = [one.node.plain() for one in documents(_there(file, child(node, "path"), document))]
    wanted = child(node, "target").plain() or {}
    for patch in patches:
        itself = {"kind": patch["kind"], "name": patch["metadata"]["name"]} if isinstance(patch, dict) else {}
        objects = [apply(found, patch) if _is(found, wanted or itself) else found for found in objects]
    return [found for found in objects if found]


def _is(found: Object, target: Mapping[str, Any]) -> bool:
    group, _, version = str(found["apiVersion"]).rpartition("/")
    known = {"group": group, "version": version, "kind": found["kind"], "name": found["metadata"].get("name")}
    return all(target.get(field) in (None, value) for field, value in known.items())


def _rename(objects: list[Object], prefix: str, suffix: str) -> None:
    """Put prefix and suffix on names, and wherever one object names another."""
    names: dict[tuple[str, str], str] = {}
    for found in objects:
        name = found["metadata"]["name"]
        if found["kind"] not in _NOT_RENAMED:
            names[found["kind"], name] = found["metadata"]["name"] = f"{prefix}{name}{suffix}"
    for found in objects:
        for kind, holder, field in _named(found):
            holder[field] = names.get((kind, holder[field]), holder[field])


def _named(found: Object) -> Iterator[tuple[str, Any, Any]]:
    """Where an object names another: the kind of that, the map or list that holds the name, and its key there."""
    if "roleRef" in found:
        yield found["roleRef"]["kind"], found["roleRef"], "name"
        yield from ((subject["kind"], subject, "name") for subject in found.get("subjects") or ())
    if found["kind"] == "ClusterRole":
        yield from _named_by_rules(found.get("rules") or ())
    for webhook in found.get("webhooks") or ():
        if service := webhook.get("clientConfig", {}).get("service"):
            yield "Service", service, "name"
    conversion = found.get("spec", {}).get("conversion", {}).get("webhook", {}).get("clientConfig", {})
    if service := conversion.get("service"):
        yield "Service", service, "name"
    if found["kind"] == "Certificate":
        issuer = found["spec"]["issuerRef"]
        yield issuer.get("kind", "Issuer"), issuer, "name"
    if found["kind"] == "Deployment":
        yield from _named_by_pod(found["spec"]["template"]["spec"])


def _named_by_rules(rules: Sequence[Object]) -> Iterator[tuple[str, list[str], int]]:
    for rule in rules:
        names = rule.get("resourceNames") or []
        for kind in _NAMED_BY_RULES:
            if f"{kind.lower()}s" in (rule.get("resources") or ()):
                yield from ((kind, names, index) for index in range(len(names)))


def _named_by_pod(pod: Object) -> Iterator[tuple[str, Object, str]]:
    if "serviceAccountName" in pod:
        yield "ServiceAccount", pod, "serviceAccountName"
    for volume in pod.get("volumes") or ():
        if "secretName" in volume.get("secret", {}):
            yield "Secret", volume["secret"], "secretName"
        if "name" in volume.get("configMap", {}):
            yield "ConfigMap", volume["configMap"], "name"
    for container in containers(pod):
        froms = [
            *(container.get("envFrom") or ()),
            *(env.get("valueFrom", {}) for env in container.get("env") or ()),
        ]
        for source in froms:
            for field, kind in (("Secret", "secret"), ("ConfigMap", "configMap")):
                for reference in (source.get(f"{kind}Ref"), source.get(f"{kind}KeyRef")):
                    if reference:
                        yield field, reference, "name"


def containers(pod: Object) -> list[Object]:
    """All containers of a pod, those of its start included."""
    return [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]


def _set_image(objects: list[Object], image: Mapping[str, Any]) -> None:
    """As an entry of `images` says: other name, tag or digest for one image."""
    for found in objects:
        for container in containers(found.get("spec", {}).get("template", {}).get("spec", {})):
            name, version = split_image(str(container.get("image", "")))
            if name == image.get("name"):
                tag = f":{image['newTag']}" if "newTag" in image else version
                version = f"@{image['digest']}" if "digest" in image else tag
                container["image"] = f"{image.get('newName', name)}{version}"


def split_image(image: str) -> tuple[str, str]:
    """The name, and what follows: `:tag`, `@digest` or nothing."""
    name, at, digest = image.partition("@")
    path, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        return path, f":{tag}{at}{digest}"
    return name, f"{at}{digest}"

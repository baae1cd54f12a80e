"""Whether OLM can install what a ClusterServiceVersion says, and where it may. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from runner.config.yamlfile import Located
from runner.validate.bundle.files import Bundle
from runner.validate.documents import child, entries, members, text
from runner.validate.findings import Finding

MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
_MODES = "spec.installModes"
_STRATEGY = "spec.install.spec"
_TAG_MISSING = "names no version of its own, so that a later image changes this version: give --image NAME:TAG"


def check(bundle: Bundle) -> Iterator[Finding]:
    yield from _modes(bundle)
    yield from _strategy(bundle)


def supported(bundle: Bundle) -> set[str]:
    """The install modes that are supported."""
    modes = members(bundle.csv.get("spec", "installModes"))
    return {text(child(mode, "type")) for mode in modes if child(mode, "supported").value is True}


def _modes(bundle: Bundle) -> Iterator[Finding]:
    node = bundle.csv.get("spec", "installModes")
    given = [text(child(mode, "type")) for mode in members(node)]
    for index, mode in enumerate(members(node)):
        field = f"{_MODES}[{index}].type"
        if given[index] not in MODES:
            message = f'"{given[index]}" must be one of {", ".join(MODES)}'
            yield bundle.finding("csv-install-modes", mode, field, message)
        elif given[index] in given[:index]:
            yield bundle.finding("csv-install-modes", mode, field, f"{given[index]} is there twice: remove one")
    if missing := [mode for mode in MODES if mode not in given]:
        message = f"must say of every mode whether it is supported; missing: {', '.join(missing)}"
        yield bundle.finding("csv-install-modes", node, _MODES, message)
    if not supported(bundle):
        yield bundle.finding("csv-install-modes", node, _MODES, "must support one mode at least")


def _strategy(bundle: Bundle) -> Iterator[Finding]:
    strategy = bundle.csv.get("spec", "install", "strategy")
    if text(strategy) != "deployment":
        yield bundle.finding("csv-deployment", strategy, "spec.install.strategy", "must be deployment")
    deployments = members(bundle.csv.get("spec", "install", "spec", "deployments"))
    if not deployments:
        node = bundle.csv.get("spec", "install", "spec", "deployments")
        yield bundle.finding("csv-deployment", node, f"{_STRATEGY}.deployments", "must have a deployment")
    for index, deployment in enumerate(deployments):
        yield from _deployment(bundle, deployment, f"{_STRATEGY}.deployments[{index}]")
    accounts = {_account(deployment) for deployment in deployments}
    for list_ in ("permissions", "clusterPermissions"):
        for index, entry in enumerate(members(bundle.csv.get("spec", "install", "spec", list_))):
            account = child(entry, "serviceAccountName")
            field = f"{_STRATEGY}.{list_}[{index}]"
            if text(account) not in accounts:
                message = f'"{text(account)}" is no deployment\'s account; there is {", ".join(sorted(accounts))}'
                yield bundle.finding("csv-deployment", account, f"{field}.serviceAccountName", message)
            if not members(child(entry, "rules")):
                yield bundle.finding("csv-deployment", entry, f"{field}.rules", "must have a rule")


def _account(deployment: Located) -> str:
    return text(child(deployment, "spec", "template", "spec", "serviceAccountName")) or "default"


def _deployment(bundle: Bundle, deployment: Located, field: str) -> Iterator[Finding]:
    if not text(child(deployment, "name")):
        yield bundle.finding("csv-deployment", deployment, f"{field}.name", "must not be empty")
    selector = child(deployment, "spec", "selector", "matchLabels").plain() or {}
    labels = child(deployment, "spec", "template", "metadata", "labels")
    if not selector or not selector.items() <= (labels.plain() or {}).items():
        message = f"must have the labels that the selector asks for: {selector or 'there is no selector'}"
        yield bundle.finding("csv-deployment", labels, f"{field}.spec.template.metadata.labels", message)
    pod = child(deployment, "spec", "template", "spec")
    for index, container in enumerate(members(child(pod, "containers"))):
        yield from _container(bundle, container, f"{field}.spec.template.spec.containers[{index}]")


def _container(bundle: Bundle, container: Located, field: str) -> Iterator[Finding]:
    image = child(container, "image")
    name = text(image).rpartition("/")[2]
    if not name:
        yield bundle.finding("csv-deployment", image, f"{field}.image", "must not be empty")
    elif "@" not in name and name.partition(":")[2] in ("", "latest"):
        yield bundle.finding("csv-image", image, f"{field}.image", f"{text(image)} {_TAG_MISSING}")
    requests = entries(child(container, "resources", "requests"))
    if missing := [resource for resource in ("cpu", "memory") if resource not in requests]:
        message = f"should ask for {' and '.join(missing)}: without, a quota may refuse the pod"
        yield bundle.finding("csv-requests", container, f"{field}.resources.requests", message)

"""Whether the webhooks of a ClusterServiceVersion are such that OLM can serve them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from runner.config.yamlfile import Located
from runner.validate.bundle.files import Bundle
from runner.validate.bundle.install import supported
from runner.validate.documents import child, members, text, texts
from runner.validate.findings import Finding

_FIELD = "spec.webhookdefinitions"
_CONVERSION = "ConversionWebhook"
_TYPES = ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", _CONVERSION)
_REQUIRED = ("generateName", "deploymentName", "webhookPath")
_FORBIDDEN = ("*", "operators.coreos.com", "admissionregistration.k8s.io")
"""Groups that OLM lets no webhook of an operator watch over."""


def check(bundle: Bundle) -> Iterator[Finding]:
    deployments = members(bundle.csv.get("spec", "install", "spec", "deployments"))
    names = [text(child(deployment, "name")) for deployment in deployments]
    seen: list[str] = []
    for index, webhook in enumerate(members(bundle.csv.get("spec", "webhookdefinitions"))):
        field = f"{_FIELD}[{index}]"
        kind, name = child(webhook, "type"), text(child(webhook, "generateName"))
        if text(kind) not in _TYPES:
            message = f'"{text(kind)}" must be one of {", ".join(_TYPES)}'
            yield _finding(bundle, kind, f"{field}.type", message)
        for required in _REQUIRED:
            if not text(child(webhook, required)):
                yield _finding(bundle, webhook, f"{field}.{required}", "must not be empty")
        if name in seen:
            yield _finding(bundle, webhook, f"{field}.generateName", f"{name} is there twice")
        seen.append(name)
        deployment = child(webhook, "deploymentName")
        if text(deployment) and text(deployment) not in names:
            message = f"{text(deployment)} is no deployment of spec.install; there is {', '.join(names) or 'none'}"
            yield _finding(bundle, deployment, f"{field}.deploymentName", message)
        yield from _answers(bundle, webhook, field)
        yield from (
            _conversion(bundle, webhook, field) if text(kind) == _CONVERSION else _rules(bundle, webhook, field)
        )


def _finding(bundle: Bundle, node: Located, field: str, message: str) -> Finding:
    return bundle.finding("csv-webhooks", node, field, message)


def _answers(bundle: Bundle, webhook: Located, field: str) -> Iterator[Finding]:
    """What both kinds of webhooks say of their answers."""
    versions = child(webhook, "admissionReviewVersions")
    if "v1" not in texts(versions):
        yield _finding(bundle, versions, f"{field}.admissionReviewVersions", "must have v1")
    effects = child(webhook, "sideEffects")
    if text(effects) not in ("None", "NoneOnDryRun"):
        yield _finding(bundle, effects, f"{field}.sideEffects", "must be None or NoneOnDryRun")
    seconds = child(webhook, "timeoutSeconds").value
    if seconds is not None and not (isinstance(seconds, int) and 1 <= seconds <= 30):
        yield _finding(bundle, webhook, f"{field}.timeoutSeconds", f"{seconds} must be from 1 to 30")


def _rules(bundle: Bundle, webhook: Located, field: str) -> Iterator[Finding]:
    rules = members(child(webhook, "rules"))
    if not rules:
        yield _finding(bundle, webhook, f"{field}.rules", "must have a rule: without, it is never asked")
    for index, rule in enumerate(rules):
        for group in texts(child(rule, "apiGroups")):
            if group in _FORBIDDEN:
                message = f'OLM refuses webhooks of the group "{group}": name the groups of the operator'
                yield _finding(bundle, rule, f"{field}.rules[{index}].apiGroups", message)


def _conversion(bundle: Bundle, webhook: Located, field: str) -> Iterator[Finding]:
    if supported(bundle) != {"AllNamespaces"}:
        message = "a conversion serves the whole cluster: let spec.installModes support AllNamespaces alone"
        yield _finding(bundle, webhook, f"{field}.type", message)
    crds = {crd.text("metadata", "name"): crd for crd in bundle.crds}
    converted = texts(child(webhook, "conversionCRDs"))
    if not converted:
        yield _finding(bundle, webhook, f"{field}.conversionCRDs", "must name a CRD")
    for name in converted:
        if name not in crds:
            yield _finding(bundle, webhook, f"{field}.conversionCRDs", f"{name} is not in the bundle")
        elif crds[name].get("spec", "preserveUnknownFields").value is True:
            message = f"{name} must not have preserveUnknownFields: true"
            yield _finding(bundle, webhook, f"{field}.conversionCRDs", message)

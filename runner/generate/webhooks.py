"""Webhooks as OLM is told of them: it makes certificates, services and webhook configurations itself. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from runner.generate.patches import Object

_TYPES = {
    "ValidatingWebhookConfiguration": "ValidatingAdmissionWebhook",
    "MutatingWebhookConfiguration": "MutatingAdmissionWebhook",
}
_KEPT = (
    *("admissionReviewVersions", "failurePolicy", "matchPolicy", "objectSelector", "reinvocationPolicy", "rules"),
    *("sideEffects", "timeoutSeconds"),
)


def definitions(objects: Sequence[Object]) -> list[Object]:
    """An entry of `webhookdefinitions` for each webhook, and one for all conversions."""
    found = [*_of_admission(objects), *_of_conversion(objects)]
    return [dict(sorted(one.items())) for one in found]


def _of_admission(objects: Sequence[Object]) -> Iterator[Object]:
    for configuration in objects:
        if configuration["kind"] not in _TYPES:
            continue
        for webhook in configuration.get("webhooks") or ():
            yield {
                "type": _TYPES[configuration["kind"]],
                "generateName": webhook["name"],
                **{field: webhook[field] for field in _KEPT if field in webhook},
                **_policy(webhook),
                **_served_by(webhook["clientConfig"].get("service", {}), objects),
            }


def _policy(webhook: Object) -> Object:
    """OLM knows no conditions: unanswered, Fail would keep what is being deleted from losing its finalizers."""
    return {"failurePolicy": "Ignore"} if webhook.get("matchConditions") else {}


def _of_conversion(objects: Sequence[Object]) -> Iterator[Object]:
    converted: dict[str, list[Object]] = {}
    for crd in objects:
        webhook = crd.get("spec", {}).get("conversion", {}).get("webhook")
        if crd["kind"] == "CustomResourceDefinition" and webhook:
            path = webhook.get("clientConfig", {}).get("service", {}).get("path", "/convert")
            converted.setdefault(path, []).append(crd)
    for number, (path, crds) in enumerate(converted.items()):
        webhook = crds[0]["spec"]["conversion"]["webhook"]
        yield {
            "type": "ConversionWebhook",
            "generateName": f"conversion{number or ''}.{crds[0]['spec']['group']}",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "conversionCRDs": sorted(crd["metadata"]["name"] for crd in crds),
            **_served_by(webhook.get("clientConfig", {}).get("service", {"path": path}), objects),
        }


def _served_by(service: Object, objects: Sequence[Object]) -> Object:
    """The Deployment behind a service, and how it is reached."""
    port = service.get("port", 443)
    found: Object = {"containerPort": port, "webhookPath": service.get("path", "/")}
    behind = named(objects, "Service", service.get("name", ""))
    selector = (behind or {}).get("spec", {}).get("selector") or {}
    for deployment in (one for one in objects if one["kind"] == "Deployment"):
        labels = deployment["spec"]["template"]["metadata"].get("labels") or {}
        if behind is None or selector.items() <= labels.items():
            found["deploymentName"] = deployment["metadata"]["name"]
            target = _target(behind, port, deployment)
            return found | ({"targetPort": target} if target is not None else {})
    return found


def _target(service: Object | None, port: int, deployment: Object) -> int | None:
    """The number of the port that the container listens on: OLM's services know no names."""
    ports = (service or {}).get("spec", {}).get("ports") or ()
    target = next((one.get("targetPort", port) for one in ports if one.get("port") == port), None)
    listening = [one for c in deployment["spec"]["template"]["spec"]["containers"] for one in c.get("ports") or ()]
    named_ = {one.get("name"): one["containerPort"] for one in listening}
    return named_.get(target, target if isinstance(target, int) else None)


def named(objects: Iterable[Object], kind: str, name: str) -> Object | None:
    return next((one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name)), None)


def services(objects: Sequence[Object]) -> set[str]:
    """The names of those that only webhooks are reached by."""
    names = {
        webhook["clientConfig"].get("service", {}).get("name")
        for one in objects
        for webhook in (one.get("webhooks") or ())
    }
    names |= {
        one["spec"].get("conversion", {}).get("webhook", {}).get("clientConfig", {}).get("service", {}).get("name")
        for one in objects
        if one["kind"] == "CustomResourceDefinition"
    }
    return {name for name in names if name}

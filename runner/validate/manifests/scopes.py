"""Namespaces that a cluster-scoped kind has to name: where its tasks write, and where its references are. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from runner.config.yamlfile import Located
from runner.validate.documents import Document, child, entries, members, text
from runner.validate.findings import Finding
from runner.validate.manifests.crds import Watched, crd_of
from runner.validate.manifests.results import TASK_LISTS

NAMESPACED = frozenset(
    {
        *(
            "ConfigMap",
            "Secret",
            "Service",
            "ServiceAccount",
            "Pod",
            "PersistentVolumeClaim",
            "Endpoints",
            "Event",
        ),
        *("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Ingress", "NetworkPolicy"),
        *("Role", "RoleBinding", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Lease", "LimitRange"),
        *("ResourceQuota", "ReplicationController", "PodTemplate", "EndpointSlice"),
    }
)
"""Kinds of Kubernetes that live in a namespace."""
EMPTY = "ansible_operator_meta.namespace"
_DEFINITIONS = ("definition", "resource_definition", "inline")


def check(kind: str, document: Document) -> Iterator[Finding]:
    """What is wrong in a file of tasks or plays that is run for the cluster-scoped `kind`."""
    yield from _of_tasks(kind, document, document.node)


def check_references(item: Watched, crds: list[Document]) -> Iterator[Finding]:
    """References of a cluster-scoped kind that never count, because they are limited to its own namespace."""
    places = members(child(item.entry, "references"))
    for number, reference in enumerate(item.watch.references):
        crd = crd_of(reference.gvk.group, reference.gvk.kind, crds)
        namespaced = crd.text("spec", "scope") == "Namespaced" if crd else reference.gvk.kind in NAMESPACED
        if namespaced and not reference.all_namespaces:
            line = places[number].line if number < len(places) else item.line
            message = (
                f"{item.watch.gvk.kind} is cluster-scoped and has no namespace of its own, so that no "
                f"{reference.gvk.kind} ever counts: add `namespaces: all`"
            )
            yield Finding("reference-never", item.file, line, f"references[{number}]", message)


def _of_tasks(kind: str, document: Document, node: Located) -> Iterator[Finding]:
    for task in members(node):
        for name, value in entries(task).items():
            if name in TASK_LISTS:
                yield from _of_tasks(kind, document, value)
            elif name.rpartition(".")[2] == "k8s":
                yield from _of_module(kind, document, value)


def _of_module(kind: str, document: Document, arguments: Located) -> Iterator[Finding]:
    definition = next(
        (child(arguments, name) for name in _DEFINITIONS if entries(child(arguments, name))), arguments
    )
    written = text(child(definition, "kind"))
    if written not in NAMESPACED:
        return
    places = (child(definition, "metadata", "namespace"), child(arguments, "namespace"))
    given = next((place for place in places if place.value is not None), None)
    if given is None or EMPTY in str(given.value):
        wrong = "has no namespace" if given is None else f"has the namespace {EMPTY}, which is empty"
        message = f"the {written} {wrong}: {kind} is cluster-scoped, so name one, e.g. by a field of the spec"
        yield Finding("namespace-missing", document.file, (given or definition).line, "", message)

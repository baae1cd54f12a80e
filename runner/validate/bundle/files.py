"""A bundle as it was read, and where in it a mistake is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.config.yamlfile import Located
from runner.validate.documents import Document, of_kind
from runner.validate.findings import Finding

CSV = "ClusterServiceVersion"
SUPPORTED = frozenset(
    {
        *("ClusterRole", "ClusterRoleBinding", CSV, "ConfigMap", "ConsoleCLIDownload"),
        *("ConsoleLink", "ConsoleQuickStart", "ConsoleYAMLSample", "CustomResourceDefinition"),
        *("NetworkPolicy", "PodDisruptionBudget", "PriorityClass", "PrometheusRule", "Role", "RoleBinding"),
        *("Secret", "Service", "ServiceAccount", "ServiceMonitor", "VerticalPodAutoscaler"),
    }
)
"""The kinds that OLM installs from a bundle."""
SUITES: Mapping[str, str] = {
    "basic-check-spec": "basic",
    "olm-bundle-validation": "olm",
    "olm-crds-have-validation": "olm",
    "olm-crds-have-resources": "olm",
    "olm-spec-descriptors": "olm",
    "olm-status-descriptors": "olm",
}
"""The tests of a scorecard, and their suites."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The ClusterServiceVersion of a bundle, and all its objects."""

    directory: Path
    csv: Document
    objects: tuple[Document, ...]

    @property
    def crds(self) -> list[Document]:
        return of_kind(list(self.objects), "CustomResourceDefinition")

    def finding(self, rule: str, node: Located, field: str, message: str) -> Finding:
        """A mistake in the ClusterServiceVersion."""
        return Finding(rule, self.csv.file, node.line, field, message)

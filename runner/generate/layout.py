"""The layout registry+v1 of a bundle: where its files are, its labels, and its scorecard's configuration. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from runner.generate.files import yaml_text as dump
from runner.validate.bundle.files import SUITES

BUNDLE = Path("bundle")
MANIFESTS = BUNDLE / "manifests"
ANNOTATIONS = BUNDLE / "metadata/annotations.yaml"
CONFIGURATION = BUNDLE / "tests/scorecard/config.yaml"
DOCKERFILE = Path("bundle.Dockerfile")

_IMAGE = "quay.io/operator-framework/scorecard-test:v1.39.2"


@dataclass(frozen=True, slots=True)
class Labels:
    """What a bundle says of itself, in its annotations and as the labels of its image."""

    PREFIX: ClassVar[str] = "operators.operatorframework.io."
    PACKAGE: ClassVar[str] = f"{PREFIX}bundle.package.v1"
    CHANNELS: ClassVar[str] = f"{PREFIX}bundle.channels.v1"
    DEFAULT_CHANNEL: ClassVar[str] = f"{PREFIX}bundle.channel.default.v1"

    package: str
    channels: str
    default_channel: str
    builder: str

    def of_bundle(self) -> dict[str, str]:
        found = {
            f"{self.PREFIX}bundle.mediatype.v1": "registry+v1",
            f"{self.PREFIX}bundle.manifests.v1": "manifests/",
            f"{self.PREFIX}bundle.metadata.v1": "metadata/",
            self.PACKAGE: self.package,
            self.CHANNELS: self.channels,
        }
        if self.default_channel:
            found[self.DEFAULT_CHANNEL] = self.default_channel
        return found | {
            f"{self.PREFIX}metrics.builder": self.builder,
            f"{self.PREFIX}metrics.mediatype.v1": "metrics+v1",
            f"{self.PREFIX}metrics.project_layout": "ansible.sdk.operatorframework.io/v1",
        }

    def of_tests(self) -> dict[str, str]:
        return {
            f"{self.PREFIX}test.mediatype.v1": "scorecard+v1",
            f"{self.PREFIX}test.config.v1": "tests/scorecard/",
        }


def annotations_file(labels: Labels) -> str:
    return (
        "annotations:\n  # Core bundle annotations.\n"
        + _indented(labels.of_bundle())
        + "\n  # Annotations for testing.\n"
        + _indented(labels.of_tests())
    )


def _indented(values: Mapping[str, str]) -> str:
    return "".join(f"  {line}\n" for line in dump(dict(values)).splitlines())


def dockerfile(labels: Labels) -> str:
    """What the image of a bundle is built by, from the project's directory."""

    def lines(values: Mapping[str, str]) -> str:
        return "".join(f"LABEL {name}={value}\n" for name, value in values.items())

    return (
        "FROM scratch\n\n"
        f"# Core bundle labels.\n{lines(labels.of_bundle())}\n"
        f"# Labels for testing.\n{lines(labels.of_tests())}\n"
        "# Copy files to locations specified by labels.\n"
        "COPY bundle/manifests /manifests/\nCOPY bundle/metadata /metadata/\n"
        "COPY bundle/tests/scorecard /tests/scorecard/\n"
    )


def scorecard_configuration() -> str:
    tests = [
        {
            "entrypoint": ["scorecard-test", name],
            "image": _IMAGE,
            "labels": {"suite": suite, "test": f"{name}-test"},
        }
        for name, suite in SUITES.items()
    ]
    return dump(
        {
            "apiVersion": "scorecard.operatorframework.io/v1alpha3",
            "kind": "Configuration",
            "metadata": {"name": "config"},
            "stages": [{"parallel": True, "tests": tests}],
        }
    )

"""Whether a ClusterServiceVersion has a name, a version, and what people are to be told. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from email.utils import parseaddr

from runner.config.yamlfile import Located
from runner.validate.bundle.files import Bundle
from runner.validate.documents import child, entries, members, text
from runner.validate.findings import Finding

API_VERSION = "operators.coreos.com/v1alpha1"
_IDENTIFIERS = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
SEMVER = re.compile(
    rf"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-{_IDENTIFIERS}(\.{_IDENTIFIERS})*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_URL = re.compile(r"(https?|mailto):\S+|/\S*")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+")
_MEDIA_TYPES = ("image/gif", "image/jpeg", "image/png", "image/svg+xml")
_CAPABILITIES = ("Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot")
_CATEGORIES = (
    *("AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Developer Tools", "Database"),
    *("Drivers and plugins", "Integration & Delivery", "Logging & Tracing", "Modernization & Migration"),
    *("Monitoring", "Networking", "Observability", "OpenShift Optional", "Security", "Storage"),
    "Streaming & Messaging",
)
_ADVISABLE = ("description", "icon", "keywords", "links", "maintainers", "maturity", "minKubeVersion")
_PLACEHOLDER = re.compile(
    r"description\. TODO\.$|^your@email\.com$|^https://your\.domain$|^(Maintainer|Provider) Name$"
)
_BASE = "fill it in, in config/manifests/bases"


def check(bundle: Bundle) -> Iterator[Finding]:
    csv = bundle.csv
    if csv.text("apiVersion") != API_VERSION:
        yield bundle.finding("csv-field", csv.get("apiVersion"), "apiVersion", f"must be {API_VERSION}")
    yield from _version(bundle)
    for field in ("displayName", "provider.name"):
        node = csv.get("spec", *field.split("."))
        if not text(node):
            yield bundle.finding("csv-field", node, f"spec.{field}", f"must not be empty: {_BASE}")
    for field in _ADVISABLE:
        if not csv.get("spec", field).value:
            message = f"is missing, which catalogs show to people: {_BASE}"
            yield bundle.finding("csv-incomplete", csv.get("spec"), f"spec.{field}", message)
    yield from _placeholders(bundle, csv.get("spec"), "spec")
    yield from _people(bundle)
    yield from _icon(bundle)
    yield from _annotations(bundle)


def _version(bundle: Bundle) -> Iterator[Finding]:
    csv = bundle.csv
    name, version = csv.get("metadata", "name"), csv.get("spec", "version")
    if not SEMVER.fullmatch(text(version)) or text(version) == "0.0.0":
        message = f'"{version.value}" must be a semantic version above 0.0.0, such as 0.1.0'
        yield bundle.finding("csv-version", version, "spec.version", message)
    for field, node in (("metadata.name", name), ("spec.replaces", csv.get("spec", "replaces"))):
        if node.value is not None and not _is_name(text(node)):
            message = f'"{text(node)}" must be NAME.vX.Y.Z in lower case'
            yield bundle.finding("csv-version", node, field, message)
    if _is_name(text(name)) and text(name).partition(".")[2].removeprefix("v") != text(version):
        message = f'"{text(name)}" must end in the version: .v{text(version)}'
        yield bundle.finding("csv-version", name, "metadata.name", message)
    if text(csv.get("spec", "replaces")) == text(name):
        yield bundle.finding("csv-version", name, "spec.replaces", "a version cannot replace itself")
    least = csv.get("spec", "minKubeVersion")
    if least.value is not None and not SEMVER.fullmatch(text(least)):
        message = f'"{least.value}" must be a version such as 1.28.0'
        yield bundle.finding("csv-version", least, "spec.minKubeVersion", message)


def _is_name(name: str) -> bool:
    _, dot, version = name.partition(".")
    return bool(_SUBDOMAIN.fullmatch(name) and dot and SEMVER.fullmatch(version.removeprefix("v")))


def _placeholders(bundle: Bundle, node: Located, field: str) -> Iterator[Finding]:
    for name in ("description", "maintainers", "provider", "links"):
        for where, found in _texts(child(node, name), f"{field}.{name}"):
            if _PLACEHOLDER.search(text(found)):
                message = f'"{text(found)}" is what the base came with: {_BASE}'
                yield bundle.finding("csv-incomplete", found, where, message)


def _texts(node: Located, field: str) -> Iterator[tuple[str, Located]]:
    if isinstance(node.value, str):
        yield field, node
    for name, value in entries(node).items():
        yield from _texts(value, f"{field}.{name}")
    for index, item in enumerate(members(node)):
        yield from _texts(item, f"{field}[{index}]")


def _people(bundle: Bundle) -> Iterator[Finding]:
    for index, one in enumerate(members(bundle.csv.get("spec", "maintainers"))):
        field = f"spec.maintainers[{index}]"
        mail = text(child(one, "email"))
        if not (text(child(one, "name")) and mail):
            yield bundle.finding("csv-field", one, field, "must have a name and an email")
        elif not _MAIL.fullmatch(parseaddr(mail)[1]):
            yield bundle.finding(
                "csv-field", child(one, "email"), f"{field}.email", f'"{mail}" is no mail address'
            )
    for index, one in enumerate(members(bundle.csv.get("spec", "links"))):
        field = f"spec.links[{index}]"
        url = text(child(one, "url"))
        if not (text(child(one, "name")) and url):
            yield bundle.finding("csv-field", one, field, "must have a name and a url")
        elif not _URL.fullmatch(url):
            yield bundle.finding("csv-field", child(one, "url"), f"{field}.url", f'"{url}" is no address')


def _icon(bundle: Bundle) -> Iterator[Finding]:
    icons = members(bundle.csv.get("spec", "icon"))
    if len(icons) > 1:
        yield bundle.finding("csv-field", icons[1], "spec.icon[1]", "there may be one icon: remove the others")
    for icon in icons[:1]:
        kind, data = child(icon, "mediatype"), child(icon, "base64data")
        if text(kind) not in _MEDIA_TYPES:
            message = f'"{text(kind)}" must be one of {", ".join(_MEDIA_TYPES)}'
            yield bundle.finding("csv-field", kind, "spec.icon[0].mediatype", message)
        if not _is_base64(text(data)):
            message = "must be the picture in base64, and is empty or none"
            yield bundle.finding("csv-field", data, "spec.icon[0].base64data", message)


def _is_base64(data: str) -> bool:
    try:
        return bool(base64.b64decode("".join(data.split()), validate=True))
    except (binascii.Error, ValueError):
        return False


def _annotations(bundle: Bundle) -> Iterator[Finding]:
    given = entries(bundle.csv.get("metadata", "annotations"))
    level = given.get("capabilities")
    if level is not None and text(level) not in _CAPABILITIES:
        message = f'"{text(level)}" must be one of {", ".join(_CAPABILITIES)}'
        yield bundle.finding("csv-field", level, "metadata.annotations.capabilities", message)
    categories = given.get("categories")
    for category in text(categories).split(",") if categories is not None else ():
        if category.strip() not in _CATEGORIES:
            message = f'"{category.strip()}" is no category; there are {", ".join(_CATEGORIES)}'
            yield bundle.finding("csv-field", categories, "metadata.annotations.categories", message)  # type: ignore[arg-type]

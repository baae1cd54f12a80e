"""Whether exactly one part of a project's manifests makes the certificate of its webhooks. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from runner.validate.documents import Document, of_kind, texts
from runner.validate.findings import Finding

_WEBHOOK = "../webhook"
_MAKERS = ("../certmanager", "../own-certificate")
_SECRET = "webhook-server-cert"  # noqa: S105  (a name)
_NONE = (
    f"nothing makes the certificate of {_WEBHOOK}: list ../certmanager, for clusters with cert-manager, or"
    f" ../own-certificate, or make the Secret {_SECRET} yourself"
)
_TWO = "../certmanager and ../own-certificate overwrite each other's authority: keep one of them"


def check(manifests: list[Document]) -> Iterator[Finding]:
    """One finding for each kustomization that has the webhooks without a certificate, or with two."""
    if _is_made_otherwise(manifests):
        return
    for document in of_kind(manifests, "Kustomization"):
        components = document.get("components")
        makers = [name for name in _MAKERS if name in texts(components)]
        if _WEBHOOK in texts(components) and len(makers) != 1:
            message = _TWO if makers else _NONE
            yield Finding("webhook-certificate", document.file, components.line, "components", message)


def _is_made_otherwise(manifests: list[Document]) -> bool:
    """Whether a manifest that no component has is the Secret, or a Certificate for it."""
    own = [one for one in manifests if "certmanager" not in one.file]
    secrets = [one.text("metadata", "name") for one in of_kind(own, "Secret")]
    return _SECRET in [*secrets, *(one.text("spec", "secretName") for one in of_kind(own, "Certificate"))]

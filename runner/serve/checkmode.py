"""What a run in check mode may ask of the API server: whatever changes nothing. Pure."""

from __future__ import annotations

from runner.serve.forward import STREAMS, Target

REFUSAL = (
    "check mode: the API proxy lets nothing pass that would change the cluster. Modules of kubernetes.core "
    "ask for a dry run by themselves; skip what cannot with `when: not ansible_check_mode`"
)
READS_ONLY = "tasks of admission may read the cluster, and change nothing: the API proxy lets only reads pass"
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_REVIEWS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups whose objects are questions: nothing of them is stored."""


def reads(method: str, target: Target | None) -> bool:
    """Whether the request only asks, a review of access included."""
    return not changes(method, target, has_body=False) and (method in _READS or _is_review(method, target))


def _is_review(method: str, target: Target | None) -> bool:
    return method == "POST" and target is not None and target.group in _REVIEWS


def changes(method: str, target: Target | None, *, has_body: bool) -> bool:
    """Whether the request may change something.

    A deletion with a body may: the API server takes its options from there and forgets the URL's `dryRun`.
    """
    if target is None:
        return method not in _READS
    if target.subresource in STREAMS - {"log", "proxy"}:
        return True  # a GET, too, leads into a container
    if method in _READS or _is_review(method, target):
        return False
    if target.subresource == "proxy" or (method == "DELETE" and has_body):
        return True
    return not target.dry_run

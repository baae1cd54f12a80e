"""Advice for errors of the API server that only a person may be able to end."""

from __future__ import annotations

from runner.errors import ForbiddenError, KindAbsentError, UnauthorizedError, UnreachableError
from runner.objects import GroupVersionKind


def advice(error: Exception, gvk: GroupVersionKind, plural: str, verb: str, namespace: str) -> str:
    """What a person should do about what only a person may be able to end; empty for what passes."""
    if isinstance(error, UnauthorizedError):
        return "the API server does not accept the operator's credentials: log in anew, or give others"
    if isinstance(error, UnreachableError):
        return "is the API server running, and is this its address?"
    if isinstance(error, KindAbsentError):
        return f"install the CustomResourceDefinition of {gvk}; it is noticed by itself"
    if not isinstance(error, ForbiddenError):
        return ""
    where = f"a Role in namespace {namespace}" if namespace else "a ClusterRole"
    if not plural:
        return "let the operator's service account read API discovery (ClusterRole system:discovery)"
    return (
        f'the operator\'s service account may not {verb} {plural} in API group "{gvk.group}": add to {where} '
        f'the rule {{apiGroups: ["{gvk.group}"], resources: ["{plural}"], verbs: [get, list, watch]}} and bind it'
    )

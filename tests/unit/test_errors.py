from __future__ import annotations

import pytest

from runner.errors import ForbiddenError, without_account

ACCOUNT = "system:serviceaccount:shop:operator"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            f'secrets is forbidden: User "{ACCOUNT}" cannot list resource "secrets" in namespace "a"',
            'secrets is forbidden: the operator may not list resource "secrets" in namespace "a"',
        ),
        (
            f'Error from server (Forbidden): secrets is forbidden: User "{ACCOUNT}" cannot get path "/logs"\nnext',
            'Error from server (Forbidden): secrets is forbidden: the operator may not get path "/logs"\nnext',
        ),
        (
            f'{{"message":"jobs.batch is forbidden: User \\"{ACCOUNT}\\" cannot list resource \\"jobs\\""}}',
            '{"message":"jobs.batch is forbidden: the operator may not list resource \\"jobs\\""}',
        ),
        (
            f'roles "a" is forbidden: user "{ACCOUNT}" (groups=["b" "c"]) is attempting to grant'
            " RBAC permissions not currently held",
            'roles "a" is forbidden: the operator is attempting to grant RBAC permissions not currently held',
        ),
        (
            f'jobs is forbidden: User "{ACCOUNT}" cannot list resource "jobs" at the cluster '
            'scope: RBAC: clusterrole.rbac.authorization.k8s.io "shop-secret-role" not found',
            'jobs is forbidden: the operator may not list resource "jobs" at the cluster scope',
        ),
        ("spec.replicas: Invalid value: -1", "spec.replicas: Invalid value: -1"),
        ('User "alice" has 3 seats', 'User "alice" has 3 seats'),
    ],
)
def test_refusal_names_the_missing_permission_and_not_the_account(message: str, expected: str) -> None:
    assert without_account(message) == expected


def test_text_of_an_error_of_the_api_server_can_be_shown_without_the_account() -> None:
    error = ForbiddenError(403, "Forbidden", f'User "{ACCOUNT}" cannot delete resource "pods"')
    assert without_account(str(error)) == '403 Forbidden: the operator may not delete resource "pods"'


def test_hostile_text_is_read_in_linear_time() -> None:
    assert len(without_account('User "' * 200_000)) == 1_200_000

from __future__ import annotations

import pytest

from runner.dev.accounts import ServiceAccount, parse
from runner.errors import DevError


def test_account_is_named_by_its_namespace_and_name() -> None:
    assert parse("serviceaccount/shop/operator") == ServiceAccount("shop", "operator")


@pytest.mark.parametrize(
    "text", ["operator", "shop/operator", "user/shop/operator", "serviceaccount//operator", "serviceaccount/a/b/c"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(DevError, match="give serviceaccount/NAMESPACE/NAME, such as"):
        parse(text)

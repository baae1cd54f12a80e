"""YAML as people write it: keys in their order, texts of several lines as blocks."""

from __future__ import annotations

from typing import Any

import yaml


def dump(value: Any) -> str:  # noqa: ANN401  (any JSON value)
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 20)


class _Dumper(yaml.SafeDumper):
    """Indents lists, as ansible-lint wants them, and knows no anchors."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)

"""Rules on fields that CEL does not see, because they may hold anything: said by junctors. Pure.

What the API server says of one that is broken names the map and no more: a rule that CEL can say is said in CEL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from runner.generate.crd.options import Options, Rule
from runner.generate.crd.values import Schema

_ALWAYS: Schema = {}


def junctors(options: Options, rules: Sequence[Rule], fields: Mapping[str, str]) -> list[Schema]:
    """What `allOf` is to hold of one level, for these of its rules."""
    level = _Level(options, fields)
    return [schema for rule in rules for schema in level.schemas(rule)]


class _Level:
    def __init__(self, options: Options, fields: Mapping[str, str]) -> None:
        self._options = options
        self._fields = fields

    def schemas(self, rule: Rule) -> list[Schema]:
        """None where the rule is always met."""
        if rule.kind == "mutually_exclusive":
            return [_not(self._set(*pair)) for pair in combinations(sorted(set(rule.names)), 2)]
        schema = self._schema(rule)
        return [] if schema == _ALWAYS else [schema]

    def _schema(self, rule: Rule) -> Schema:
        missing = [name for name in rule.names if self._options.named(name).default is None]
        match rule.kind:
            case "required_together":
                if len(missing) < len(rule.names) or len(rule.names) == 1:
                    return self._set(*missing) if len(rule.names) > 1 else _ALWAYS
                return _any(self._set(*missing), _not(_any(*map(self._set, missing))))
            case "required_one_of":
                return self._needed(rule, missing, any_of=True)
            case "required_if":
                equal = self._set(rule.key) | {"properties": {self._fields[rule.key]: {"enum": [rule.value]}}}
                if self._options.named(rule.key).default == rule.value:
                    equal = {"properties": equal["properties"]}  # a default that the CRD may not have
                return _any(_not(equal), self._needed(rule, missing, any_of=rule.any_of))
            case _:
                needed = self._needed(rule, missing, any_of=False)
                has_default = self._options.named(rule.key).default is not None
                return needed if has_default else _any(_not(self._set(rule.key)), needed)

    def _needed(self, rule: Rule, missing: Sequence[str], *, any_of: bool) -> Schema:
        if any_of:
            return _ALWAYS if len(missing) < len(rule.names) else _any(*map(self._set, missing))
        return self._set(*missing)

    def _set(self, *names: str) -> Schema:
        return {"required": [self._fields[name] for name in names]} if names else _ALWAYS


def _any(*schemas: Schema) -> Schema:
    """One of them; nothing is asked where one of them asks nothing."""
    return _ALWAYS if _ALWAYS in schemas else {"anyOf": list(schemas)}


def _not(schema: Schema) -> Schema:
    return {"not": schema}

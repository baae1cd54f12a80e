"""The schema of a spec from the options of a role. Pure.

The API server multiplies what a rule costs by the items that it could be asked of, and refuses a CRD whose rules
could cost too much: lists whose items have rules are bounded. Lists in lists share what one list would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runner.generate.crd.hidden import junctors
from runner.generate.crd.names import field_names, survives, unlike
from runner.generate.crd.options import Note, Option, Options, is_required
from runner.generate.crd.rules import hidden, incomparable, validations, without_default
from runner.generate.crd.values import TYPES, Schema

RULES = "x-kubernetes-validations"
MOST_ITEMS = 10_000
"""Items that one rule may be asked of: with it, a rule between ten options costs a hundredth of what it may."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes schemas. `mistake` is told what cannot be, `remark` what is worth knowing, each with its option."""

    snake_case: bool
    mistake: Note
    remark: Note

    def of(self, options: Options, path: tuple[str, ...] = ()) -> Schema:
        """The schema of a map."""
        fields = field_names((option.name for option in options), snake_case=self.snake_case)
        self._check_names(options, fields, path)
        options = Options(
            tuple(option for option in options if option.name in fields),
            tuple(rule for rule in options.rules if {rule.key, *rule.names} - {""} <= fields.keys()),
        )
        for rule in incomparable(options):
            self.remark(
                path, f"{rule.kind}: the CRD compares no {options.named(rule.key).type}: it is left to Ansible"
            )
        bare = without_default(options)
        schema: Schema = {"type": "object"}
        properties = {
            fields[option.name]: self._field(option, (*path, option.name), bare=option.name in bare)
            for option in options
        }
        if properties:
            schema["properties"] = properties
        if required := [fields[option.name] for option in options if is_required(option)]:
            schema["required"] = required
        if rules := validations(options, fields):
            schema[RULES] = rules
        comparable = [rule for rule in hidden(options) if rule not in incomparable(options)]
        if schemas := junctors(options, comparable, fields):
            schema["allOf"] = schemas
        if not path:
            limit_lists(schema)
        return schema

    def _check_names(self, options: Options, fields: Any, path: tuple[str, ...]) -> None:  # noqa: ANN401
        seen: dict[str, str] = {}
        for option in options:
            name = fields.get(option.name)
            if name is None:
                self.mistake((*path, option.name), unlike(option.name))
            elif name in seen:
                self.mistake(
                    (*path, option.name),
                    f"{seen[name]} and {option.name} would both be the field {name}: rename one",
                )
            else:
                seen[name] = option.name

    def _field(self, option: Option, path: tuple[str, ...], *, bare: bool) -> Schema:
        schema: Schema = {}
        if text := self._described(option, bare=bare):
            schema["description"] = text
        schema |= self._typed(option, path)
        if option.no_log:
            if option.type == "str":
                schema["format"] = "password"
            self.remark(
                path,
                "is no_log, and would stand in the custom resource for all to read: take the name of a Secret",
            )
        default = self._default(option, path)
        if default is not None and not bare:
            schema["default"] = default
        return schema

    def _typed(self, option: Option, path: tuple[str, ...]) -> Schema:
        schema = dict(TYPES[option.type])
        if option.type == "list":
            items = _with_choices(dict(TYPES[option.elements or "raw"]), option)
            if option.inner is not None:
                items = self.of(option.inner, path)
            return schema | {"items": items}
        if option.inner is not None:
            return self.of(option.inner, path)
        return _with_choices(schema, option)

    def _default(self, option: Option, path: tuple[str, ...]) -> Any:  # noqa: ANN401  (JSON)
        default = option.default
        if option.apply_defaults and option.inner is not None and default is None:
            return {} if option.type == "dict" and not is_required(option) else None
        if default is None or option.inner is not None:
            if default is not None:
                self.remark(path, "has a default and options: the default is left to the role")
            return None
        if self.snake_case and not survives(default):
            self.remark(path, "has a default with keys that become others as variables: it is left to the role")
            return None
        return default

    def _described(self, option: Option, *, bare: bool) -> str:
        text = option.description
        if bare and option.default is not None:
            text = f"{text}\nBy default {option.default}.".lstrip()
        return text


def _with_choices(schema: Schema, option: Option) -> Schema:
    if not option.choices or schema.get("type") not in ("string", "integer", "number", "boolean"):
        return schema
    if schema["type"] == "number" and any(float(choice).is_integer() for choice in option.choices):
        # An `enum` of the API server's with 0 accepts 0.5, which it makes a whole number to compare it.
        rule = f"self in [{', '.join(repr(float(choice)) for choice in option.choices)}]"
        message = f"must be one of {', '.join(map(str, option.choices))}"
        return schema | {RULES: [{"rule": rule, "message": message}]}
    return schema | {"enum": list(option.choices)}


def limit_lists(schema: Schema, above: int = 0) -> int:
    """Give each list whose items have rules its `maxItems`, in place; how many such lists are in each other below.

    `above` counts the lists that the schema is in.
    """
    is_list = "items" in schema and _has_rules(schema["items"])
    below = max((limit_lists(inner, above + is_list) for inner in _inner(schema)), default=0)
    if is_list:
        schema["maxItems"] = _root(MOST_ITEMS, above + 1 + below)
    return below + is_list


def _root(number: int, degree: int) -> int:
    """The whole part of a root, of what floats have a hair below."""
    return int(number ** (1 / degree) + 1e-9)


def _has_rules(schema: Schema) -> bool:
    return RULES in schema or any(map(_has_rules, _inner(schema)))


def _inner(schema: Schema) -> Iterator[Schema]:
    yield from schema.get("properties", {}).values()
    if "items" in schema:
        yield schema["items"]

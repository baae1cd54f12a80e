"""The schema of a spec from the options of a role. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from runner.generate.crd.names import field_names, survives, unlike
from runner.generate.crd.options import Note, Option, Options
from runner.generate.crd.rules import unsaid, validations, without_default
from runner.generate.crd.values import PRESERVE, TYPES, Schema

_MARKUP = re.compile(r"\b(?:[BICMOUVEP]|RV)\(([^()]*)\)")
"""Ansible's, of which `kubectl explain` knows nothing."""
LONGEST_LIST = 10_000
"""Items of a list whose items have rules: the API server multiplies what a rule costs by them."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes schemas. `mistake` is told what cannot be, `remark` what is worth knowing, each with its option."""

    snake_case: bool
    mistake: Note
    remark: Note

    def of(self, options: Options, path: tuple[str, ...] = (), lists: int = 0) -> Schema:
        """The schema of a map; `lists` counts the lists that it is in."""
        fields = field_names((option.name for option in options), snake_case=self.snake_case)
        self._check_names(options, fields, path)
        options = Options(
            tuple(option for option in options if option.name in fields),
            tuple(rule for rule in options.rules if {rule.key, *rule.names} - {""} <= fields.keys()),
        )
        for words in unsaid(options):
            self.remark(path, f"{words}: the rule is left to Ansible")
        bare = without_default(options)
        schema: Schema = {"type": "object"}
        properties = {
            fields[option.name]: self._field(option, (*path, option.name), lists, bare=option.name in bare)
            for option in options
        }
        if properties:
            schema["properties"] = properties
        if required := [fields[option.name] for option in options if self._is_required(option)]:
            schema["required"] = required
        if rules := validations(options, fields):
            schema["x-kubernetes-validations"] = rules
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

    def _field(self, option: Option, path: tuple[str, ...], lists: int, *, bare: bool) -> Schema:
        schema: Schema = {}
        if text := self._described(option, bare=bare):
            schema["description"] = text
        schema |= self._typed(option, path, lists)
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

    def _typed(self, option: Option, path: tuple[str, ...], lists: int) -> Schema:
        schema = dict(TYPES[option.type])
        if option.type == "list":
            items = dict(TYPES[option.elements or "raw"])
            if option.inner is not None:
                items = self.of(option.inner, path, lists + 1)
                if _has_rules(option.inner):
                    schema["maxItems"] = int(LONGEST_LIST ** (1 / (lists + 1)))
            schema["items"] = _with_choices(items, option)
            return schema
        if option.inner is not None:
            return self.of(option.inner, path, lists)
        return _with_choices(schema, option)

    def _default(self, option: Option, path: tuple[str, ...]) -> Any:  # noqa: ANN401  (JSON)
        default = option.default
        if option.apply_defaults and option.inner is not None and default is None:
            return {} if option.type == "dict" and not self._is_required(option) else None
        if default is None or option.inner is not None:
            if default is not None:
                self.remark(path, "has a default and options: the default is left to the role")
            return None
        if self.snake_case and not survives(default):
            self.remark(path, "has a default with keys that become others as variables: it is left to the role")
            return None
        return default

    def _is_required(self, option: Option) -> bool:
        """Also where defaults are applied to a map that needs more than them."""
        if option.required or not (option.apply_defaults and option.inner and option.type == "dict"):
            return option.required
        return bool(option.inner.rules) or any(map(self._is_required, option.inner))

    def _described(self, option: Option, *, bare: bool) -> str:
        text = _MARKUP.sub(r"\1", option.description)
        if bare and option.default is not None:
            text = f"{text}\nBy default {option.default}.".lstrip()
        return text


def _with_choices(schema: Schema, option: Option) -> Schema:
    return schema | {"enum": list(option.choices)} if option.choices and PRESERVE not in schema else schema


def _has_rules(options: Options) -> bool:
    return bool(options.rules) or any(option.inner is not None and _has_rules(option.inner) for option in options)

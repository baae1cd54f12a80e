"""Every text of a closure in which Ansible looks for Jinja, parsed, and what is wrong with it by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.config.yamlfile import Located, Verbatim
from runner.validate.content import jinja
from runner.validate.content.closure import Closure, Source, Step
from runner.validate.content.installed import Installed
from runner.validate.content.jinja import Asked, Broken, Jinja, Lookup
from runner.validate.content.modules import meant
from runner.validate.content.tasks import BLOCK_LISTS, PLAY_LISTS
from runner.validate.documents import child, entries, members, shown, text
from runner.validate.findings import Finding

_EXPRESSIONS = ("when", "until", "changed_when", "failed_when", "break_when")
_BARE = {"assert": "that", "debug": "var"}
"""Arguments that are expressions without braces."""
_DELIMITERS = ("variable_start_string", "block_start_string", "comment_start_string")
_OVERRIDE = "#jinja2:"


@dataclass(frozen=True, slots=True)
class Text:
    """A text with Jinja: its place, what it asks for, the source it is in (none for a file of templates/)."""

    file: str
    line: int
    field: str
    jinja: Jinja
    path: Path
    source: Source | None = None

    def at(self, line: int) -> int:
        return line if self.source is None else self.line


class Texts:
    """The texts of a closure; `findings` has those that cannot be parsed."""

    def __init__(self, closure: Closure, extensions: bool) -> None:
        self._extensions = extensions
        self.found: list[Text] = []
        self.findings: list[Finding] = []
        for source in closure.sources:
            self._source(source)
        for step in closure.steps:
            self._step(step)
        for path in templates(closure):
            self._template(path)

    def _source(self, source: Source) -> None:
        node = source.document.node
        if source.kind in ("defaults", "vars"):
            self._walk(source, node, "")
        elif source.kind == "meta":
            self._roles(source, child(node, "dependencies"), "dependencies")
        for index, play in enumerate(members(node)) if source.kind == "plays" else ():
            for name, value in entries(play).items():
                if name == "roles":
                    self._roles(source, value, f"[{index}].roles")
                elif name not in (*PLAY_LISTS, "name"):
                    self._walk(source, value, f"[{index}].{name}", name in _EXPRESSIONS)

    def _step(self, step: Step) -> None:
        bare = _BARE.get(step.call.short, "") if step.call else ""
        for name, value in entries(step.task.node).items():
            field = f"{step.task.field}.{name}"
            if name in (*BLOCK_LISTS, "name"):
                continue
            if bare and step.call and name == step.call.name and entries(value):
                for option, item in entries(value).items():
                    self._walk(step.source, item, f"{field}.{option}", option == bare)
            else:
                self._walk(step.source, value, field, name in _EXPRESSIONS)

    def _roles(self, source: Source, node: Located, field: str) -> None:
        for index, role in enumerate(members(node)):
            for name, value in entries(role).items():
                self._walk(source, value, f"{field}[{index}].{name}", name in _EXPRESSIONS)

    def _walk(self, source: Source, node: Located, field: str, is_expression: bool = False) -> None:
        for name, value in entries(node).items():
            self._text(source, Located(name, value.line), f"{field}.{name}".lstrip("."), False)
            self._walk(source, value, f"{field}.{name}".lstrip("."), is_expression)
        for index, item in enumerate(members(node)):
            self._walk(source, item, f"{field}[{index}]", is_expression)
        self._text(source, node, field, is_expression)

    def _text(self, source: Source, node: Located, field: str, is_expression: bool) -> None:
        if text(node) and not isinstance(node.value, Verbatim):
            parse = jinja.of_expression if is_expression else jinja.of_template
            self._add(source.file, node.line, field, parse(text(node), self._extensions), source.path, source)

    def _template(self, path: Path) -> None:
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return
        header, _, rest = content.partition("\n") if content.startswith(_OVERRIDE) else ("", "", content)
        if not any(name in header for name in _DELIMITERS):
            body = "\n" + rest if header else rest
            self._add(shown(path), 1, "", jinja.of_template(body, self._extensions), path, None)

    def _add(
        self, file: str, line: int, field: str, parsed: Jinja | Broken, path: Path, source: Source | None
    ) -> None:
        if isinstance(parsed, Broken):
            where = line if source else parsed.line
            within = f" in line {parsed.line} of the text" if source and parsed.line > 1 else ""
            message = f"Jinja cannot parse this{within}: {parsed.message}"
            self.findings.append(Finding("jinja-syntax", file, where, field, message))
        elif parsed != jinja.NOTHING:
            self.found.append(Text(file, line, field, parsed, path, source))


def templates(closure: Closure) -> Iterator[Path]:
    """The templates beside roles and playbooks, without those that are rendered with other delimiters."""
    calls = closure.calls()
    other = [call for call in calls if any(call.argument(name).value is not None for name in _DELIMITERS)]
    names = {Path(text(call.argument("src"))).name for call in other}
    for directory in dict.fromkeys(base / "templates" for base in (*closure.roles, *closure.playbook_directories)):
        for path in sorted(directory.rglob("*.j2")):
            if path.is_file() and path.name not in names and not any("{{" in name for name in names):
                yield path


def check(texts: list[Text], installed: Installed) -> Iterator[Finding]:
    """Filters, tests and lookups that are not there."""
    for item in texts:
        for rule, kind, asked, known in (
            ("filter-unknown", "filter", item.jinja.filters, jinja.FILTERS),
            ("test-unknown", "test", item.jinja.tests, jinja.TESTS),
            ("lookup-unknown", "lookup", item.jinja.lookups, frozenset[str]()),
        ):
            for one in asked:
                name = one.name.removeprefix("ansible.builtin.")
                if name not in known and installed.plugin(kind, one.name) is False:
                    hint = meant(name, known | installed.suggestions(kind)) or "; is a collection's name missing?"
                    message = f"there is no {kind} {one.name}{hint}"
                    yield Finding(rule, item.file, item.at(one.line), item.field, message)


def plugins_of_collections(texts: list[Text], installed: Installed) -> Iterator[tuple[Text, str, str, int]]:
    """Filters, tests and lookups of collections: the text, the kind, the full name, and the line."""
    for item in texts:
        asked: dict[str, Sequence[Asked | Lookup]] = {
            "filter": item.jinja.filters,
            "test": item.jinja.tests,
            "lookup": item.jinja.lookups,
        }
        for kind, plugins in asked.items():
            for one in plugins:
                name = installed.full_name(kind, one.name)
                if name.count(".") >= 2:
                    yield item, kind, name, item.at(one.line)


def check_loop(step: Step, installed: Installed) -> Iterator[Finding]:
    """`with_…` of a lookup that is not there."""
    for name, value in entries(step.task.node).items():
        lookup = name.removeprefix("with_")
        if lookup != name and installed.plugin("lookup", lookup) is False:
            hint = meant(lookup, installed.suggestions("lookup"))
            message = f"there is no lookup {lookup}{hint}"
            yield Finding("lookup-unknown", step.source.file, value.line, f"{step.task.field}.{name}", message)


_LOOKUP_FILES = {"template": "templates", "file": "files", "unvault": "files"}


def files_of(item: Text) -> Iterator[tuple[str, str, int]]:
    """Files that lookups and includes of a text need: directory, name, line."""
    for lookup in item.jinja.lookups:
        directory = _LOOKUP_FILES.get(lookup.name.removeprefix("ansible.builtin."))
        if directory and lookup.first and "errors" not in lookup.options:
            yield directory, lookup.first, item.at(lookup.line)
    for included in item.jinja.includes:
        yield "templates", included.name, item.at(included.line)

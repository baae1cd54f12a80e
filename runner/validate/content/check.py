"""Everything that is wrong with the content of one watch, beyond what reading it has found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runner.config.watches import Watch
from runner.validate.content import argumentspecs, expressions, files, modules, secrecy, syntax, variables
from runner.validate.content.closure import Closure, Step
from runner.validate.content.expressions import Texts
from runner.validate.content.files import Files
from runner.validate.content.installed import Installed
from runner.validate.content.modules import Called
from runner.validate.content.places import Places
from runner.validate.content.reader import Used
from runner.validate.content.uses import Use, What
from runner.validate.content.variables import Resource
from runner.validate.documents import Document, entries, members
from runner.validate.findings import Finding
from runner.validate.manifests.crds import crd_of
from runner.validate.manifests.schemas import schema_of


def check(
    closure: Closure,
    installed: Installed,
    places: Places,
    environment: Mapping[str, str],
    resources: list[Resource],
) -> tuple[list[Finding], list[Used]]:
    """What is wrong, and which plugins of collections are used.

    `resources` are those for which the content is run: none where no CRD is known.
    """
    closure.understand(installed)
    whole = closure.with_elsewhere(installed)
    texts = Texts(closure, places.jinja_extensions)
    found = Files(closure, places.project)
    defined = variables.defined_by(whole)
    findings = [
        *_syntax(closure, installed, hosts="ANSIBLE_INVENTORY" not in environment),
        *texts.findings,
        *expressions.check(texts.found, installed),
        *files.check(closure, found),
        *files.check_texts(texts.found, found),
        *files.check_handlers(closure, whole),
        *variables.undefined(texts.found, defined, resources),
        *variables.pruned(texts.found, defined, resources),
        *argumentspecs.check(closure),
        *secrecy.check(closure.steps, texts.found),
    ]
    return findings, list(_plugins(texts, installed))


def _plugins(texts: Texts, installed: Installed) -> Iterator[Used]:
    for item, kind, name, line in expressions.plugins_of_collections(texts.found, installed):
        beside = item.source.beside if item.source else None
        yield Used(Use(What(kind), name, line, item.field), item.file, (), beside, frozenset())


def resources_of(watches: list[Watch], definitions: list[Document]) -> list[Resource]:
    """The custom resources of watches; none where one of their CRDs is not known."""
    found = [(watch, crd_of(watch.gvk.group, watch.gvk.kind, definitions)) for watch in watches]
    if any(crd is None for _, crd in found):
        return []
    schemas = [(watch, schema_of(crd, watch.gvk.version).plain()) for watch, crd in found if crd]
    return [Resource(watch, schema if isinstance(schema, dict) else {}) for watch, schema in schemas]


def _syntax(closure: Closure, installed: Installed, *, hosts: bool) -> Iterator[Finding]:
    hosts = hosts and not syntax.makes_hosts(closure.steps)
    for source in closure.sources:
        for index, play in enumerate(members(source.document.node)) if source.kind == "plays" else ():
            yield from syntax.check_play(source, index, play, installed, hosts=hosts)
    defaults = any(_has_defaults(step) for step in closure.steps)
    for step in closure.steps:
        yield from syntax.check_task(step, installed)
        yield from expressions.check_loop(step, installed)
        if step.call and step.module:
            yield from modules.check(Called(step.call, step.module, step.source.file, defaults))


def _has_defaults(step: Step) -> bool:
    return any("module_defaults" in entries(node) for node in (step.task.node, *step.task.around))

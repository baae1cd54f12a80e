"""What Ansible works out in every run though it comes out the same every time: worked out once, in the zygote.

Nothing here depends on the configuration, the environment or a role.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ansible import constants as C  # noqa: N812
from ansible.cli.playbook import PlaybookCLI
from ansible.plugins import get_plugin_class, loader
from ansible.vars.clean import clean_facts


def work_out() -> None:
    """Before any plugin is loaded."""
    _documentation_without_options()
    _parser()
    _lexer()
    _patterns()


def _documentation_without_options() -> None:
    """Is parsed whenever the plugin is asked for, because no option of it is known."""
    nothing: set[tuple[str, str]] = set()
    load = loader.PluginLoader._load_config_defs

    def load_once(plugins: Any, name: str, module: Any, path: str) -> None:
        if (plugins.class_name, path) in nothing:
            return
        load(plugins, name, module, path)
        if plugins.class_name and not C.config.has_configuration_definition(
            get_plugin_class(plugins.class_name), name
        ):
            nothing.add((plugins.class_name, path))

    loader.PluginLoader._load_config_defs = load_once


def _parser() -> None:
    """The parser of the command line, with the patterns that it makes."""
    made = PlaybookCLI(["ansible-playbook"])
    made.init_parser()
    made.parser.parse_args(["playbook"])

    def init_parser(cli: PlaybookCLI) -> None:
        cli.parser = made.parser

    PlaybookCLI.init_parser = init_parser


def _lexer() -> None:
    """That of templates, which keeps its patterns by itself."""
    try:
        from ansible._internal._templating._jinja_bits import AnsibleEnvironment
    except ImportError:  # in 2.18
        from ansible.template import AnsibleEnvironment
    _ = AnsibleEnvironment().lexer


def _patterns() -> None:
    """What `re` keeps of what was compiled."""
    clean_facts({})
    with suppress(AttributeError):
        ini = loader.inventory_loader.get("ini", class_only=True)
        object.__new__(ini)._compile_patterns()

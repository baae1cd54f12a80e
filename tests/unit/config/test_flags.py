"""Flags and environment of `run`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from runner.config.flags import add_flags, available_processors, boolean, spell_out_booleans
from runner.config.golang import parse_bytes
from runner.config.settings import Settings, read_settings
from runner.errors import SettingsError, UsageError
from runner.execute.budget import IN_ALL, PER_OBJECT
from runner.objects import GroupVersionKind

ROOT = Path(__file__).parents[3]
MEMCACHED = GroupVersionKind("cache.my-example.com", "v1", "Memcached")


def settings(*arguments: str, **environment: str) -> Settings:
    return read(arguments, environment, terminal=False)


def read(arguments: Iterable[str], environment: dict[str, str], *, terminal: bool) -> Settings:
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    add_flags(parser)
    return read_settings(parser.parse_args(spell_out_booleans(arguments)), environment, terminal=terminal)


def test_the_defaults_are_those_of_the_go_operator() -> None:
    found = settings()
    assert (str(found.watches_file), found.proxy_port, found.reconcile_period) == ("watches.yaml", 8888, 36000.0)
    assert (found.metrics_bind_address, found.health_probe_bind_address) == (":8443", ":6789")
    assert (found.graceful_shutdown_timeout, found.ansible_verbosity, found.inject_owner_ref) == (30.0, 2, True)
    assert found.max_concurrent_reconciles == available_processors()


def test_bytes_that_runs_may_leave_fit_the_volume_of_the_manifests() -> None:
    assert settings().runner_dir_limits == (IN_ALL, PER_OBJECT)
    manifests = yaml.safe_load_all((ROOT / "config/manager/manager.yaml").read_text())
    pod = next(manifest for manifest in manifests if manifest["kind"] == "Deployment")["spec"]["template"]["spec"]
    volume = next(volume for volume in pod["volumes"] if volume["name"] == "tmp")
    assert parse_bytes(volume["emptyDir"]["sizeLimit"]) > IN_ALL
    assert settings("--runner-dir-limit=2Gi", "--runner-dir-limit-per-object=0").runner_dir_limits == (2 << 30, 0)


def test_a_boolean_flag_never_takes_the_next_word() -> None:
    assert spell_out_booleans(["--inject-owner-ref", "false"]) == ["--inject-owner-ref=true", "false"]


@pytest.mark.parametrize(("text", "value"), [("1", True), ("T", True), ("false", False), ("F", False)])
def test_booleans_are_spelled_as_in_go(text: str, value: bool) -> None:
    assert boolean(text) is value


def test_yes_is_not_a_boolean() -> None:
    with pytest.raises(ValueError, match="yes"):
        boolean("yes")


@pytest.mark.parametrize("argument", ["--reconcile-period=30", "--proxy-port=x", "--inject-owner-ref=maybe"])
def test_a_bad_value_is_refused(argument: str) -> None:
    with pytest.raises(argparse.ArgumentError, match="invalid value"):
        settings(argument)


def test_a_deprecated_alias_sets_the_flag_it_stands_for() -> None:
    assert settings("--metrics-addr=:9999").metrics_bind_address == ":9999"


def test_a_flag_and_its_alias_together_are_refused() -> None:
    with pytest.raises(SettingsError, match="only one of --metrics-bind-address and --metrics-addr"):
        settings("--metrics-addr=:1", "--metrics-bind-address=:2")


def test_namespaces_are_split_and_trimmed() -> None:
    assert settings(WATCH_NAMESPACE=" a, ,b,a").namespaces == ("a", "b")


def test_only_commas_mean_all_namespaces() -> None:
    assert settings(WATCH_NAMESPACE=",").namespaces == ()


def test_a_roles_path_flag_replaces_the_variable_for_runs() -> None:
    environment = settings("--ansible-roles-path=/flag", ANSIBLE_ROLES_PATH="/env").environment
    assert environment["ANSIBLE_ROLES_PATH"] == "/flag"


@pytest.mark.parametrize(("text", "gathered"), [("explicit", False), ("implicit", True), ("", True)])
def test_facts_are_gathered_unless_that_is_to_be_explicit(text: str, gathered: bool) -> None:
    assert settings(ANSIBLE_GATHERING=text).gather_facts is gathered


@pytest.mark.parametrize(("text", "level"), [("", 0), ("3", 3), ("-1", 0), ("much", 0)])
def test_the_verbosity_of_the_console_is_a_number_or_nothing(text: str, level: int) -> None:
    assert settings(ANSIBLE_VERBOSITY=text).console_verbosity == level


@pytest.mark.parametrize(("text", "shown"), [("", False), ("T", True), ("0", False), ("yes", False)])
def test_the_whole_output_is_shown_for_what_go_calls_true(text: str, shown: bool) -> None:
    assert settings(ANSIBLE_DEBUG_LOGS=text).debug_logs is shown


@pytest.mark.parametrize(("text", "place"), [("/var/tmp", "/var/tmp"), ("", "/tmp")])
def test_the_temporary_directory_is_that_of_the_system_where_none_is_named(text: str, place: str) -> None:
    assert str(settings(TMPDIR=text).temporary_directory) == place


def test_the_kubeconfig_flag_goes_before_the_variable() -> None:
    assert settings("--kubeconfig=/flag", KUBECONFIG="/env").cluster.kubeconfig == "/flag"
    assert settings(KUBECONFIG="/env").cluster.kubeconfig == "/env"


def test_of_proxy_variables_the_upper_case_goes_first_unless_it_is_empty() -> None:
    found = settings(HTTPS_PROXY="upper", https_proxy="lower", HTTP_PROXY="", http_proxy=" plain ").cluster
    assert (found.https_proxy, found.http_proxy, found.no_proxy) == ("upper", "plain", "")


def test_logs_are_readable_on_a_terminal_and_json_elsewhere() -> None:
    assert [read([], {}, terminal=terminal).log_encoder for terminal in (True, False)] == ["console", "json"]


@pytest.mark.parametrize(
    ("environment", "workers"),
    [
        ({}, 3),
        ({"MAX_CONCURRENT_RECONCILES_MEMCACHED_CACHE_MY-EXAMPLE_COM": "7"}, 7),
        ({"MAX_CONCURRENT_RECONCILES_MEMCACHED_CACHE_MY-EXAMPLE_COM": "many"}, 3),
        ({"MAX_CONCURRENT_RECONCILES_MEMCACHED_CACHE_MY-EXAMPLE_COM": "0"}, 3),
        ({"WORKER_MEMCACHED_CACHE_MY-EXAMPLE_COM": "5"}, 5),
        (
            {
                "MAX_CONCURRENT_RECONCILES_MEMCACHED_CACHE_MY-EXAMPLE_COM": "2",
                "WORKER_MEMCACHED_CACHE_MY-EXAMPLE_COM": "5",
            },
            2,
        ),
    ],
)
def test_workers_of_a_kind_come_from_its_variable(environment: dict[str, str], workers: int) -> None:
    assert settings("--max-concurrent-reconciles=3", **environment).workers(MEMCACHED) == workers


@pytest.mark.parametrize(("text", "verbosity"), [("4", 4), ("8", 2), ("-1", 2), ("x", 2)])
def test_verbosity_of_a_kind_comes_from_its_variable(text: str, verbosity: int) -> None:
    environment = {"ANSIBLE_VERBOSITY_MEMCACHED_CACHE_MY-EXAMPLE_COM": text}
    assert settings(**environment).verbosity(MEMCACHED) == verbosity


def test_zero_workers_become_one() -> None:
    assert settings("--max-concurrent-reconciles=0").workers(MEMCACHED) == 1


def test_the_total_is_never_below_what_one_kind_may() -> None:
    found = settings("--max-concurrent-reconciles=1", WORKER_MEMCACHED_CACHE_MY_EXAMPLE_COM="9")
    kind = GroupVersionKind("cache.my.example.com", "v1", "Memcached")
    assert found.total_workers([kind]) == 9


def test_leader_election_is_off_and_has_the_go_operators_times() -> None:
    found = settings()
    assert (found.leader_elect, found.leader_election_id, found.leader_election_namespace) == (False, "", "")
    assert (found.leader_elect_lease_duration, found.leader_elect_renew_deadline) == (15.0, 10.0)


def test_the_deprecated_flags_of_leader_election_are_accepted() -> None:
    found = settings("--enable-leader-election", "--leader-elect-resource-lock=configmapsleases")
    assert found.leader_elect is True


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((), "from-environment"), (("--leader-election-id=flag",), "flag"), (("--leader-election-id=",), "")],
)
def test_the_election_id_flag_goes_before_the_operators_name(arguments: tuple[str, ...], name: str) -> None:
    assert settings(*arguments, OPERATOR_NAME="from-environment").leader_election_id == name


def test_rbac_for_metrics_needs_tls() -> None:
    with pytest.raises(UsageError, match="--metrics-secure flag is required when --metrics-require-rbac"):
        settings("--metrics-require-rbac")
    assert settings("--metrics-require-rbac", "--metrics-secure", "--enable-http2").metrics_require_rbac


@pytest.mark.parametrize(("arguments", "level"), [((), "error"), (("--zap-devel",), "warning")])
def test_tracebacks_begin_at_error_and_for_developers_at_warning(arguments: tuple[str, ...], level: str) -> None:
    assert settings(*arguments).log_stacktrace_level == level
    assert settings(*arguments, "--zap-stacktrace-level=panic").log_stacktrace_level == "panic"

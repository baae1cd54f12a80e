"""Every rule of `validate`, by the id that comments silence: how bad breaking it is, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """An error will fail at run time; a warning may be meant."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """`meaning` is a line of what is wrong where the rule is broken."""

    id: str
    severity: Severity
    meaning: str


def _error(name: str, meaning: str) -> Rule:
    return Rule(name, Severity.ERROR, meaning)


def _warning(name: str, meaning: str) -> Rule:
    return Rule(name, Severity.WARNING, meaning)


_FILES = (
    _error("yaml-unreadable", "a file cannot be read, or is not YAML"),
    _warning("yaml-key-twice", "a map has a key twice, and loses the first value"),
    _warning("ignore-unknown", "a comment silences a rule that does not exist"),
    _warning("ignore-unused", "a comment silences a rule that nothing breaks there"),
)
_WATCHES = (
    _error("watch-invalid", "a field has the wrong type or a value that is not known"),
    _error("watch-kind-missing", "an entry names no version or no kind"),
    _error("watch-duplicate", "a kind is watched twice"),
    _error("watch-without-content", "an entry names neither a role nor a playbook"),
    _error("watch-content-missing", "the role or playbook of an entry is not there"),
    _error("watch-finalizer-invalid", "a finalizer has no name, or nothing to do"),
    _warning(
        "watch-drift-without-status", "`driftPeriod` of a watch whose status is not managed: nothing is checked"
    ),
    _error("watch-status-invalid", "an expression of `status` is not JMESPath"),
    _warning("watch-status-null", "an expression of `status` asks for a key that no run's result has"),
    _warning("watch-finalizer-content-missing", "the role or playbook of a finalizer with vars is not there"),
    _warning("watch-unknown-field", "a field that nobody reads"),
    _error("watch-admission-invalid", "`admission` or `versions` asks for what is not there, or cannot be"),
    _error(
        "reference-never",
        "a cluster-scoped kind refers to objects that are in namespaces, and its watch lacks `namespaces: all`",
    ),
    _error("finalizer-name", "a finalizer has a name that the API server refuses"),
    _warning("finalizer-without-domain", "a finalizer's name has no domain, and may be somebody else's"),
    _warning("watch-two-contents", "an entry names a playbook and a role: the role is not run"),
    _warning("status-unpublished", "`status` maps data that no task publishes"),
    _warning("status-kind-unwritten", "`status` picks a kind that no task writes or reads"),
    _warning("watch-mark-unsafe", "the custom resource may run commands as the operator: no `markUnsafe: true`"),
)
_CONTENT = (
    _error("not-a-list", "a file of tasks or plays is no list of maps"),
    _error("not-a-role", "a directory that is used as a role is none"),
    _warning("role-without-tasks", "a role has no tasks/main.yml"),
    _error("role-missing", "a role that is used is not there"),
    _error("collection-missing", "a collection that is used is neither installed nor in requirements.yml"),
    _warning("collection-unlisted", "a collection that is used is installed here, and not in requirements.yml"),
    _warning("collection-not-installed", "a collection of requirements.yml is not installed here"),
    _warning(
        "collection-unpinned",
        "requirements.sha256 lacks a collection of requirements.yml, or has another's checksum",
    ),
)
_ANSIBLE = (
    _error("task-invalid", "a task has no module, or two"),
    _error("module-unknown", "a task calls a module that there is not"),
    _error("module-removed", "a task calls a module that its collection no longer has"),
    _warning("module-deprecated", "a task calls a module that its collection will remove"),
    _error("keyword-unknown", "a key of a task, block or play that is no keyword"),
    _error("option-unknown", "an option that the module does not have"),
    _warning("suboption-unknown", "a key of an option's map that the module does not document"),
    _error("option-missing", "a module's required option is not given"),
    _error("option-value", "a value that the module's option does not take"),
    _error("play-hosts", "a play without hosts, or for hosts that the operator's inventory does not have"),
    _error("jinja-syntax", "a template or an expression that Jinja cannot parse"),
    _error("filter-unknown", "a Jinja filter that there is not"),
    _error("test-unknown", "a Jinja test that there is not"),
    _error("lookup-unknown", "a lookup that there is not"),
    _error("file-missing", "a template, a file, a file of tasks or of variables that is not there"),
    _error("handler-missing", "a task notifies a handler that there is not"),
    _error("argument-spec-type", "an option of a role has a type that Ansible does not know"),
    _warning("argument-spec-unknown", "an option of a role has a misspelt key, or one without a value"),
    _error(
        "meta-field-unknown", "a field that `ansible_operator_meta` or `ansible_operator_admission` does not have"
    ),
    _error("admission-writes", "a task of `admission` would change the cluster, which is refused"),
    _warning("variable-undefined", "a variable that no file and no field of the CRD defines"),
    _warning("field-pruned", "a field of the custom resource that its CRD does not have"),
    _warning("no-log-missing", "a task shows a secret, and has no `no_log: true`"),
)
_CRDS = (
    _warning("crd-none", "the project has no CRD, so that neither schemas nor samples can be checked"),
    _error("crd-missing", "no CRD defines a watched kind, though others of its group are there"),
    _warning("crd-group-missing", "no CRD of the project is of the group of a watched kind"),
    _error("crd-api-version", "a CRD of a version that Kubernetes no longer serves"),
    _error("crd-name", "a CRD is not named by its plural and group"),
    _error("crd-names", "a group, plural or kind that the API server refuses"),
    _error("crd-group-protected", "a CRD in a group of the Kubernetes project"),
    _error("crd-versions", "a version is there twice, or not exactly one is stored"),
    _error("crd-no-schema", "a version has no schema"),
    _error("crd-preserves-all", "`preserveUnknownFields: true`, which new CRDs may not have"),
    _error("crd-printer-column", "a printer column lacks a field, or has a type that there is not"),
    _error("crd-unknown-field", "a field that CRDs do not have: kubectl refuses it"),
    _error("crd-scope", "a CRD's scope is neither Namespaced nor Cluster"),
    _error("crd-version-missing", "a watched version is not in the CRD"),
    _error("crd-path-missing", "`crd.schema` or `crd.columns` names a field that the generated CRD does not have"),
    _error("crd-not-served", "a watched version is not served"),
    _warning("crd-served-unconverted", "a version of `versions` is served without a conversion, or the reverse"),
    _warning("crd-no-status-subresource", "the operator is to write a status that the CRD has no subresource for"),
    _error("crd-drops-conditions", "the schema prunes the conditions that the operator writes"),
    _warning("crd-drops-status", "the schema prunes a part of what the operator writes into the status"),
    _error("crd-refuses-condition", "the schema refuses a condition that the operator writes"),
)
_SCHEMAS = (
    _error("schema-keyword", "a keyword that schemas of CRDs do not have, or with a value of the wrong type"),
    _error("schema-type-missing", "a field has no type"),
    _error("schema-not-structural", "a schema says what a structural one may not"),
    _error("schema-pattern", "a pattern is no regular expression of Go's"),
    _error("schema-default", "a default does not fit the schema it is in"),
    _warning("spec-keys-meet", "two fields of the spec become one variable"),
    _warning("spec-shadows-ansible", "a field of the spec becomes a variable that is Ansible's own"),
)
_SAMPLES = (
    _error("sample-invalid", "a custom resource does not fit the schema"),
    _error("sample-pruned", "a custom resource has a field that the schema does not: kubectl refuses it"),
    _warning("sample-unwatched", "a custom resource of a kind or version that nothing watches"),
)
_RBAC = (
    _error("rbac-missing", "no role allows what the operator does"),
    _error("rbac-missing-for-tasks", "no role allows what a task does"),
    _warning(
        "rbac-missing-for-prune",
        "no role allows what a watch with `prune` needs: to delete, or to keep the key of marks",
    ),
    _warning("prune-never", "the operator is run so that a watch with `prune` never deletes anything"),
    _warning("webhook-certificate", "nothing makes the certificate of the webhooks, or two parts do"),
    _warning("volume-too-small", "the volume of the run directories is smaller than what runs may leave in it"),
    _error("namespace-missing", "a task of a cluster-scoped kind writes without a namespace"),
    _warning("rbac-maybe-missing", "no role allows what the operator may have to do"),
)
_BUNDLE = (
    _error("bundle-layout", "a bundle lacks a file, or holds what OLM does not install"),
    _error("bundle-annotations", "an annotation of a bundle is missing or wrong, or a label of its image differs"),
    _error("csv-version", "a name or a version of a ClusterServiceVersion is not NAME.vX.Y.Z, or they differ"),
    _error("csv-field", "a field of a ClusterServiceVersion is empty or has a value that is not known"),
    _warning("csv-incomplete", "people are not told what catalogs show, or told what the base came with"),
    _error("csv-owned", "the owned kinds are not those of the CRDs in the bundle"),
    _error("csv-examples", "an example is no custom resource of an owned kind, or does not fit its schema"),
    _warning("csv-example-missing", "an owned kind has no example"),
    _warning("csv-descriptor", "a descriptor has a path that the schema does not have"),
    _error("csv-install-modes", "an install mode is missing, unknown or there twice, or none is supported"),
    _error("csv-deployment", "a deployment or a permission cannot be installed"),
    _warning("csv-image", "an image has no version of its own"),
    _warning("csv-requests", "a container does not ask for CPU and memory"),
    _error("csv-webhooks", "a webhook is such that OLM cannot serve it"),
)
ALL = (*_FILES, *_WATCHES, *_CONTENT, *_ANSIBLE, *_CRDS, *_SCHEMAS, *_SAMPLES, *_RBAC, *_BUNDLE)
"""In the order of the documentation."""
RULES: Mapping[str, Rule] = {rule.id: rule for rule in ALL}

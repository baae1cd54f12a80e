"""The environment variables that the operator itself looks at, for the reference; a run inherits all of them."""

from __future__ import annotations

VARIABLES = {
    "KUBECONFIG": "kubeconfig files, joined by colons; empty: the pod's service account, then ~/.kube/config",
    "WATCH_NAMESPACE": "namespaces to watch, joined by commas; empty: all of them",
    "MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP>": "runs of this kind at a time; upper case, dots as underscores",
    "WORKER_<KIND>_<GROUP>": "the same, where the one above is not set; deprecated",
    "ANSIBLE_VERBOSITY_<KIND>_<GROUP>": "verbosity of ansible-playbook for this kind, 0 to 7",
    "ANSIBLE_VERBOSITY": "above 0: the console shows what tasks print as it is",
    "ANSIBLE_ROLES_PATH": "where roles are looked for; a watch's role goes before it in a run",
    "ANSIBLE_COLLECTIONS_PATH": "where collections are looked for",
    "ANSIBLE_INVENTORY": "inventory file or directory, copied for each run in place of the generated one",
    "ANSIBLE_GATHERING": "`explicit` makes role watches skip fact gathering",
    "ANSIBLE_DEBUG_LOGS": "true prints the whole output of Ansible after each run",
    "HTTPS_PROXY": "the HTTP proxy before the API server, if any",
    "HTTP_PROXY": "the same for a server whose address begins with http://; runs reach the API proxy without it",
    "NO_PROXY": "what is reached without it: addresses, ranges of them and domains, joined by commas",
    "VIRTUAL_ENV": "Python of the generated inventory",
}

"""The options by which modules of this collection log in, for their documentation."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file.
      - Like every option of logging in, it is taken from C(K8S_AUTH_<OPTION>) or C(K8S_AUTH_<ALIAS>) where it is
        not given; false and the empty string count as not given. In an environment variable, C(0), C(false) and
        C(no) are false.
      - An operator sets C(K8S_AUTH_KUBECONFIG), so content that it runs needs none of these options.
      - With O(host) and either O(api_key) or both O(username) and O(password), no file is read. Otherwise, with
        O(kubeconfig) or O(context), that file or the default one is. Otherwise it is the account of the pod,
        and outside of pods the default file.
    type: str
  context:
    description: Name of the context within the kubeconfig file; the default is its current one.
    type: str
  host:
    description: URL of the API server.
    type: str
  api_key:
    description: A bearer token.
    type: str
  username:
    description: Name for basic authentication; goes with O(password).
    type: str
  password:
    description: Password for basic authentication; goes with O(username).
    type: str
  validate_certs:
    description:
      - Whether to verify the API server's certificate.
      - As false counts as not given, only the environment variable or the kubeconfig file turn verifying off.
    type: bool
    aliases: [verify_ssl]
  ca_cert:
    description: Path of a CA certificate to verify the API server by.
    type: str
    aliases: [ssl_ca_cert]
  client_cert:
    description: Path of a client certificate.
    type: str
    aliases: [cert_file]
  client_key:
    description: Path of the client certificate's key.
    type: str
    aliases: [key_file]
  proxy:
    description: URL of an HTTP proxy.
    type: str
  persist_config:
    description: Whether to write tokens that were renewed back to the kubeconfig file.
    type: bool
requirements:
  - kubernetes >= 12
"""

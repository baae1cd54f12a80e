"""Which proxy stands between this pod and the API server: the variables and rules of Go's net/http.

Python's own reading of NO_PROXY knows no address ranges, and those are how clusters exempt their API server.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from yarl import URL

from runner.errors import CredentialsError

_VARIABLES = {"https": ("HTTPS_PROXY", "https_proxy"), "http": ("HTTP_PROXY", "http_proxy")}
_EXEMPT = ("NO_PROXY", "no_proxy")


def proxy_for(url: URL, env: Mapping[str, str]) -> str | None:
    """The proxy to reach `url` through, from HTTPS_PROXY (HTTP_PROXY for http) unless NO_PROXY exempts it.

    Loopback is always exempt. Raises CredentialsError for a proxy that is not an HTTP one.
    """
    proxy = _first(env, _VARIABLES[url.scheme])
    host = url.host or ""
    if not proxy or _loopback(host) or _exempt(host, url.port, _first(env, _EXEMPT)):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if URL(proxy).scheme not in ("http", "https"):
        raise CredentialsError(
            f"{_VARIABLES[url.scheme][0]} names a {URL(proxy).scheme} proxy: only http and https ones are served; "
            f"if {host} can be reached without it, add it to NO_PROXY"
        )
    return proxy


def _first(env: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((env[name].strip() for name in names if env.get(name)), "")


def _loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _exempt(host: str, port: int | None, no_proxy: str) -> bool:
    return any(_matches(entry.strip().lower(), host.lower(), port) for entry in no_proxy.split(","))


def _matches(entry: str, host: str, port: int | None) -> bool:
    """An entry: `*`, a range of addresses, or an address or domain (with its subdomains), perhaps with a port."""
    if entry in ("", "*"):
        return entry == "*"
    address = _address(host)
    if address is not None and "/" in entry:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, wanted = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if wanted and wanted != str(port):
        return False
    if address is not None:
        return _address(name.strip("[]")) == address
    suffix = name.removeprefix("*").removeprefix(".")
    subdomain = host.endswith(f".{suffix}")
    return subdomain or (host == suffix and not name.startswith((".", "*")))

"""The servers that settings name: their addresses, who gets an API key, and the folder in which
what is known of the index on one is kept."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from rag.exceptions import ConfigError


def are_addresses(urls: list[str] | str, least: int = 0, most: int = 100) -> bool:
    """Tell whether so many addresses are in a list, or in a text with commas between: http or
    https, a host, no password."""
    listed = urls.split(",") if urls and isinstance(urls, str) else [*urls]
    try:
        return least <= len(listed) <= most and all(
            parts.scheme in ("http", "https")
            and parts.hostname
            and (parts.port is None or parts.port > 0)
            and not (parts.username or parts.password or parts.query or parts.fragment)
            and url.isprintable()
            and " " not in url
            for url in (url.strip(" ") for url in listed)
            for parts in [urlsplit(url)]
        )
    except ValueError:
        return False


def addresses_in(url: str) -> list[str]:
    """Return the addresses in a text, which commas part."""
    # Other blanks than spaces stay, and make an address that is refused.
    return [address.strip(" ") for address in url.split(",") if address.strip(" ")]


def hosts_in(url: str) -> set[str]:
    """Return the hosts of all addresses in a text, in small letters; "" for one without a host."""
    hosts = set()
    for address in addresses_in(url):
        try:
            hosts.add(urlsplit(address).hostname or "")
        except ValueError:
            hosts.add("")
    return hosts


class KeySetting(NamedTuple):
    """The settings of the API key of one section's servers.

    :param variable: names the environment variable that holds the key.
    :param url: names the servers.
    :param hosts: names hosts that get the key, whoever names them as a server.
    """

    section: str
    variable: str
    url: str
    hosts: str


KEYS = tuple(
    KeySetting(section, f"{section}.{name}", f"{section}.url", f"{section}.key_hosts")
    for section, name in (("store", "api_key_env"), ("embedding", "api_key"), ("chat", "api_key"))
)


def read_key(variable: str, addresses: Iterable[str], setting: str) -> str:
    """Return the API key in an environment variable, or "" when there is none; no error repeats it.

    :param addresses: of the servers that are to get it.
    :param setting: which names them.
    :raises ConfigError: when it could not be sent, or would travel in the clear.
    """
    key = os.environ.get(variable, "").strip() if variable else ""
    if not key:
        return ""
    if not (key.isascii() and key.isprintable()):
        hint = f"Set {variable} again, without quotes around it."
        raise ConfigError(f"the API key in {variable} holds characters that no key has", hint=hint)
    from rag.support.http_transport import is_loopback  # imports the HTTP client

    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            what = f"the API key in {variable} would be sent to {address} unencrypted"
            hint = f"Use an https:// address in {setting}, or a tunnel (`ssh -L`) to it."
            raise ConfigError(what, hint=hint)
    return key


def server_folder(home: Path, addresses: Sequence[str], collection: str) -> Path:
    """Return the folder of the index on a server, which is named after one of its addresses.

    :param home: the data folder.
    """
    keys = [f"{address.rstrip('/')} {collection}" for address in addresses]
    folders = [home / f"index-{sha256(key.encode()).hexdigest()[:12]}" for key in keys]
    return next((folder for folder in folders if folder.is_dir()), folders[0])

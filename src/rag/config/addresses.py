"""The addresses in a setting that may name several servers, and their hosts."""

from __future__ import annotations

from urllib.parse import urlsplit


def addresses_in(url: str) -> list[str]:
    """Return the addresses in a text, which commas part."""
    # Other blanks than spaces stay, and make an address that is refused.
    return [address.strip(" ") for address in url.split(",") if address.strip(" ")]


def hosts_in(url: str) -> set[str]:
    """Return the hosts of all addresses in a text, in small letters; "" for one without a host."""
    return {_host_of(address) for address in addresses_in(url)}


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""

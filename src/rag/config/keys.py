"""Which host gets an API key: one that the user named, not a project; and the key itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from rag.config.addresses import addresses_in, hosts_in
from rag.config.files import user_file
from rag.config.providers import AUTO
from rag.config.untrusted import LeftOut
from rag.exceptions import ConfigError

if TYPE_CHECKING:
    from rag.config.sections import RAGConfig


@dataclass(frozen=True)
class KeySetting:
    """The settings of the API key of one section's servers.

    :param name: of the setting that names the environment variable.
    :param ours: how the variables begin that a project's file may name.
    """

    section: str
    name: str
    ours: tuple[str, str]

    @property
    def variable(self) -> str:
        """The setting that names the variable, with its section."""
        return f"{self.section}.{self.name}"

    @property
    def url(self) -> str:
        """The setting that names the servers."""
        return f"{self.section}.url"

    @property
    def hosts(self) -> str:
        """The setting that names hosts which get the key whoever names them."""
        return f"{self.section}.key_hosts"

    def is_ours(self, variable: str) -> bool:
        """Tell whether a file that came with somebody's notes may have this variable sent away."""
        return not variable or variable.startswith(self.ours)


KEYS = (
    KeySetting("store", "api_key_env", ("QDRANT", "RAG")),
    KeySetting("embedding", "api_key", ("OPENAI", "RAG")),
    KeySetting("chat", "api_key", ("OPENAI", "RAG")),
)


class KeyInUse(NamedTuple):
    """A key that servers will get: the variable that holds it, and their addresses."""

    setting: KeySetting
    variable: str
    addresses: list[str]


def no_hosts_for_keys(name: str, value: str) -> LeftOut:
    """Return why a project's file, even a trusted one, has no say in who gets a key."""
    hint = f"Set it in {user_file()}, or with RAG_{name.upper().replace('.', '__')}."
    return LeftOut(value, "a project's file may not name hosts for your key", hint)


def key_hosts(mine: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return by section the hosts that the user's own file names, in some settings of it."""
    return {key.section: hosts_in(mine.get(key.url, "")) - {""} for key in KEYS}


def keys_in_use(config: RAGConfig) -> Iterator[KeyInUse]:
    """Yield the keys that servers will get."""
    providers = {"embedding": config.embedding.provider, "chat": config.chat.asked}
    for key in KEYS:
        section = getattr(config, key.section)
        variable = getattr(section, key.name)
        # Left open, it may be the one who made the vectors of the index.
        is_asked = providers.get(key.section, AUTO) in ("openai", AUTO)
        if is_asked and section.url and os.environ.get(variable, "").strip():
            yield KeyInUse(key, variable, addresses_in(section.url))


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
        raise ConfigError(
            f"the API key in {variable} holds characters that no key has",
            hint=f"Set {variable} again, without quotes around it.",
        )
    from rag.support.http_transport import is_loopback  # imports the HTTP client

    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise ConfigError(
                f"the API key in {variable} would be sent to {address} in the clear",
                hint=f"Use an https:// address in {setting}, or a tunnel (`ssh -L`) to it.",
            )
    return key

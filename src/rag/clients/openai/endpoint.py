"""Which server is asked for what: its address, its model, and where its key is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from rag.clients.servers.reachability import Advice
from rag.config import ModelsConfig
from rag.config.servers import read_key
from rag.exceptions import ConfigError

_VERSION = re.compile(r"/v\d\w*(/|$)")


@dataclass(frozen=True)
class Endpoint:
    """One server, as a section of the settings names it; it holds no key.

    :param section: `embedding` or `chat`.
    :param url: the address, with the version of the API (`/v1`) or without.
    :param variable: the environment variable that holds the key, or empty.
    """

    section: str
    url: str
    model: str
    variable: str = ""

    @property
    def base(self) -> str:
        """The address that paths of the API follow: with a version, `/v1` where none is named."""
        url = self.url.rstrip("/")
        return url if _VERSION.search(urlsplit(url).path) else f"{url}/v1"

    @property
    def root(self) -> str:
        """The address that a server's own paths follow: without a version."""
        parts = urlsplit(self.base)
        version = _VERSION.search(parts.path)
        path = parts.path[: version.start()] if version else parts.path
        return urlunsplit((parts.scheme, parts.netloc, path, "", ""))

    @property
    def key(self) -> str:
        """The API key, or "" when there is none.

        :raises ConfigError: when it could not be sent, or would travel in the clear.
        """
        return read_key(self.variable, [self.url], f"{self.section}.url")

    @property
    def lacking(self) -> str:
        """What there must be before there is a model to ask, in words; empty when it is there."""
        if not self.url:
            return f"a server: set {self.section}.url"
        return "" if self.model else f"a model: set {self.section}.model"

    @property
    def advice(self) -> Advice:
        """What to tell when the server does not answer."""
        url, timeout = f"{self.section}.url", "ollama.request_timeout or ollama.query_timeout"
        return Advice(
            name="the model server",
            start="Start its server (LM Studio: Developer, Start server; llama.cpp: llama-server),"
            f" or set {url}.",
            start_there=f"Check {url}, and that the server runs there and listens to the network.",
            restart=f"If it hangs, restart it; {url} names another.",
            slow=f"Raise {timeout}, or take a smaller model.",
            mute="A model that takes long to load needs a longer ollama.read_timeout.",
            broken="See the log of the server; the model may not fit into memory.",
        )

    def explain_no_key(self) -> str:
        """Say what to do where a server wants a key, or refuses the one it got."""
        setting = f"{self.section}.api_key"
        if not self.variable:
            return f"Name the environment variable that holds the key in {setting}."
        if not os.environ.get(self.variable, "").strip():
            return f"Set {self.variable} in the environment: {setting} names it, and it is empty."
        return f"Check the key in the environment variable {self.variable} ({setting})."


def embedding_endpoint(config: ModelsConfig) -> Endpoint:
    """Return the server that makes vectors."""
    found = config.embedding
    return Endpoint("embedding", found.url, found.model, found.api_key)


def chat_endpoint(config: ModelsConfig, model: str = "") -> Endpoint:
    """Return the server that writes.

    :param model: another model than the configured one.
    """
    found = config.chat
    return Endpoint("chat", found.url, model or found.model, found.api_key)


def check_endpoint(endpoint: Endpoint) -> None:
    """Refuse to go on without a server or a model.

    :raises ConfigError: which names the settings.
    """
    if endpoint.lacking:
        what = "server" if not endpoint.url else f"{endpoint.section} model"
        names = f"{endpoint.section}.url and {endpoint.section}.model"
        raise ConfigError(f"no {what} is configured", hint=f"Set {names}.")

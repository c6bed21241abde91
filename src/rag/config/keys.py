"""Which host gets the API key of a Qdrant server: one that the user named, not a project."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag.config.addresses import hosts_in
from rag.config.files import user_file
from rag.config.untrusted import LeftOut

if TYPE_CHECKING:
    from rag.config.sections import StoreConfig

KEY_HOSTS = "store.key_hosts"
KEY_VARIABLE = "store.api_key_env"


def no_hosts_for_keys(value: str) -> LeftOut:
    """Return why a project's file, even a trusted one, has no say in who gets a key."""
    hint = f"Set it in {user_file()}, or with RAG_STORE__KEY_HOSTS."
    return LeftOut(value, "a project's file may not name hosts for your key", hint)


def key_hosts(mine: Mapping[str, Any]) -> set[str]:
    """Return the hosts that the user's own file names for the key, in some settings of it."""
    return hosts_in(mine.get("store.url", "")) - {""}


def key_in_use(store: StoreConfig) -> tuple[str, list[str]] | None:
    """Return the variable whose key servers will get, and their hosts; `None` for no key."""
    if not (store.url and store.api_key_env and os.environ.get(store.api_key_env, "").strip()):
        return None
    return store.api_key_env, sorted(hosts_in(store.url))

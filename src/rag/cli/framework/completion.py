"""What a shell offers to complete a word with. None of it may print an error into the prompt."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from rag.config import MODES, load_config
from rag.text.sanitize import visible

_MOST = 200  # names that are offered at once
_FOR_BASH = re.compile(r"([^\w./@%+,=-])", re.ASCII)


def complete_vaults(incomplete: str) -> list[str]:
    """Return the vaults that are configured, registered or indexed."""
    from rag.index.lookup import open_manifest
    from rag.index.vault_registry import configured_vaults

    names: dict[str, None] = {}
    try:
        config = load_config()
        names |= dict.fromkeys(configured_vaults(config))
        with open_manifest(config) as manifest:
            names |= dict.fromkeys(manifest.vaults())
    except Exception:  # no index yet
        pass
    return offered(names, incomplete)


def complete_tags(incomplete: str) -> list[str]:
    """Return the tags of the index."""
    from rag.index.lookup import open_manifest

    try:
        with open_manifest(load_config()) as manifest:
            return offered(manifest.catalogue.tags(), incomplete)
    except Exception:
        return []


def complete_transforms(incomplete: str) -> list[str]:
    """Return the names of query transforms."""
    from rag.query.registry import transformer_names

    try:
        return offered([*transformer_names(), "none"], incomplete)
    except Exception:
        return []


def complete_modes(incomplete: str) -> list[str]:
    """Return the modes of search."""
    return offered(MODES, incomplete)


def complete_orders(incomplete: str) -> list[str]:
    """Return the orders of results."""
    from rag.search.ordering import ORDERS

    return offered(ORDERS, incomplete)


def complete_formats(incomplete: str) -> list[str]:
    """Return the formats of `rag search`."""
    from rag.cli.framework.formats import FORMATS

    return offered(FORMATS, incomplete)


def complete_outputs(incomplete: str) -> list[str]:
    """Return the formats of commands that print text or JSON."""
    return offered(("text", "json"), incomplete)


def complete_notes(incomplete: str) -> list[str]:
    """Return titles of notes, and paths where a slash was typed.

    bash takes what is offered as it is typed, so that a blank in it is escaped there; once the
    blank itself is typed, Typer compares what it stands for, and nothing is offered.
    """
    from rag.index.lookup import open_manifest

    try:
        with open_manifest(load_config()) as manifest:
            names = dict.fromkeys(
                f"{vault}/{path}" if "/" in incomplete else title
                for vault, path, title, _, _ in manifest.names()
            )
    except Exception:
        return []
    found = offered(names, incomplete)[:_MOST]
    is_bash = os.environ.get("_RAG_COMPLETE", "").endswith("bash")
    return [_FOR_BASH.sub(r"\\\1", name) if is_bash and name.isascii() else name for name in found]


def complete_sessions(incomplete: str) -> list[str]:
    """Return the ids of the conversations that are kept."""
    from rag.qa.sessions import list_sessions

    try:
        return offered((one.id for one in list_sessions(load_config().data_dir)), incomplete)
    except Exception:
        return []


def offered(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin so; a shell would print one that steers a terminal as it is."""
    return [name for name in names if name.startswith(incomplete) and visible(name) == name]

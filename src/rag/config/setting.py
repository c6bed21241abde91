"""How a section declares a setting."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from rag.config.untrusted import Rule, needs_trust

KEY_HOSTS = (
    "hosts that get the API key though only a project's file names them as url; counts in your own"
    " file and the environment"
)


def setting(default: Any, text: str, free: Rule = needs_trust) -> Any:
    """Make a setting.

    :param free: whether a project's file may set a value though the user does not trust it.
    """
    meta = {"help": text, "free": free}
    if callable(default):
        return field(default_factory=default, metadata=meta)
    return field(default=default, metadata=meta)

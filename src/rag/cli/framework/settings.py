"""The settings of a command, and what is to be said of them."""

from __future__ import annotations

import os
from pathlib import Path

from rag.cli.render.console import say
from rag.config import RAGConfig, load_config, unknown_in_environment
from rag.config.servers import KEYS

_MOST_NAMES = 6  # in one line


def load_settings(config_file: Path | None) -> RAGConfig:
    """Read the settings in force for a command, and say on stderr which do not count."""
    config = load_config(config_file)
    of_keys = {key.variable for key in KEYS}
    by_reason: dict[tuple[str, str], list[str]] = {}
    for name, one in config.left_out.items():
        if name not in of_keys or os.environ.get(one.value):  # else there is no key
            by_reason.setdefault((one.reason, one.hint), []).append(name)
    for (reason, hint), names in by_reason.items():
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        say(f"{reason}: left out {', '.join(names[:_MOST_NAMES])}{more}. {hint}")
    for name, nearest in [*unknown_in_environment(config, os.environ).items()][:_MOST_NAMES]:
        ask = f"; did you mean {nearest}?" if nearest else ""
        say(f"{name} in the environment sets nothing{ask}")
    return config

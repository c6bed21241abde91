"""The settings of a closed shard, as the engine keeps them beside its points."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONFIG = "edge_config.json"


def change_settings(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a JSON file in place; whoever reads it sees it before or after."""
    before = file.read_text("utf-8")
    settings = json.loads(before)
    change(settings)
    if settings != json.loads(before):
        staged = file.with_suffix(".tmp")
        staged.write_text(json.dumps(settings), "utf-8")
        staged.replace(file)


def dense_size(shard: Path, name: str) -> int | None:
    """Return the size of a shard's dense vectors of that name, `None` when it has none.

    :raises FileNotFoundError: when there is no shard.
    """
    config = json.loads((shard / CONFIG).read_text("utf-8"))
    size: int | None = config.get("vectors", {}).get(name, {}).get("size")
    return size

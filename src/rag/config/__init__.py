"""Settings: what they are, and where each value came from.

Later layers win: defaults, the user's file, the project's file, `RAG_*` in the environment,
then the command line's own flags. Unknown names and wrong types are errors that say where.

They are dataclasses, not pydantic's models: a cold command would import that for them alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag.config.files import new_project_file as new_project_file
from rag.config.files import user_file as user_file
from rag.config.layers import *
from rag.config.sections import *


def __getattr__(name: str) -> Any:
    """Return the folder of the index (`QDRANT_PATH`) or of the vaults (`VAULTS_DIR`) in force."""
    if name not in ("QDRANT_PATH", "VAULTS_DIR"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    config = load_config()
    if name == "QDRANT_PATH":
        return config.index_dir
    return config.vaults_dir or (config.root or Path.cwd()) / "vaults"

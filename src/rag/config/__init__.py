"""Settings: what they are, and where each value came from.

Later layers win: defaults, the user's file, the project's file, `RAG_*` in the environment,
then the command line's own flags. Unknown names and wrong types are errors that say where.

They are dataclasses, not pydantic's models: a cold command would import that for them alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag.config.files import new_project_file, user_file
from rag.config.layers import (
    complete,
    load_config,
    planner_config,
    project_of,
    trust_own,
    unknown_in_environment,
    variable_of,
)
from rag.config.sections import (
    AUTO,
    MODES,
    PLANNER_MODES,
    WINDOWS,
    Ask,
    AskConfig,
    ChatConfig,
    EmbeddingConfig,
    IndexConfig,
    ModelsConfig,
    ObsidianConfig,
    OllamaConfig,
    PlannerConfig,
    RAGConfig,
    RerankConfig,
    RoutesConfig,
    SearchConfig,
    SearchMode,
    StoreConfig,
    default_toml,
    keys_in_use,
    models_config,
    settings,
    values,
)

__all__ = [
    "AUTO",
    "MODES",
    "PLANNER_MODES",
    "WINDOWS",
    "Ask",
    "AskConfig",
    "ChatConfig",
    "EmbeddingConfig",
    "IndexConfig",
    "ModelsConfig",
    "ObsidianConfig",
    "OllamaConfig",
    "PlannerConfig",
    "RAGConfig",
    "RerankConfig",
    "RoutesConfig",
    "SearchConfig",
    "SearchMode",
    "StoreConfig",
    "complete",
    "default_toml",
    "keys_in_use",
    "load_config",
    "models_config",
    "new_project_file",
    "planner_config",
    "project_of",
    "settings",
    "trust_own",
    "unknown_in_environment",
    "user_file",
    "values",
    "variable_of",
]


def __getattr__(name: str) -> Any:
    """Return the folder of the index (`QDRANT_PATH`) or of the vaults (`VAULTS_DIR`) in force."""
    if name == "QDRANT_PATH":
        return load_config().index_dir
    if name == "VAULTS_DIR":
        config = load_config()
        return config.vaults_dir or (config.root or Path.cwd()) / "vaults"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Settings: what they are, and where each value came from.

Later layers win: defaults, the user's file, the project's file, `RAG_*` in the environment,
then the command line's own flags. Unknown names and wrong types are errors that say where.

They are dataclasses, not pydantic's models: a cold command would import that for them alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag.config.files import new_project_file as new_project_file, user_file as user_file
from rag.config.layers import (
    complete as complete,
    load_config as load_config,
    planner_config as planner_config,
    project_of as project_of,
    trust_own as trust_own,
    unknown_in_environment as unknown_in_environment,
    unknown_setting as unknown_setting,
    variable_of as variable_of,
)
from rag.config.sections import (
    AUTO as AUTO,
    MODES as MODES,
    PLANNER_MODES as PLANNER_MODES,
    WINDOWS as WINDOWS,
    Ask as Ask,
    AskConfig as AskConfig,
    ChatConfig as ChatConfig,
    EmbeddingConfig as EmbeddingConfig,
    IndexConfig as IndexConfig,
    ModelsConfig as ModelsConfig,
    ObsidianConfig as ObsidianConfig,
    OllamaConfig as OllamaConfig,
    PlannerConfig as PlannerConfig,
    RAGConfig as RAGConfig,
    RerankConfig as RerankConfig,
    RoutesConfig as RoutesConfig,
    SearchConfig as SearchConfig,
    SearchMode as SearchMode,
    StoreConfig as StoreConfig,
    default_toml as default_toml,
    keys_in_use as keys_in_use,
    models_config as models_config,
    settings as settings,
    values as values,
)


def __getattr__(name: str) -> Any:
    """Return the folder of the index (`QDRANT_PATH`) or of the vaults (`VAULTS_DIR`) in force."""
    if name == "QDRANT_PATH":
        return load_config().index_dir
    if name == "VAULTS_DIR":
        config = load_config()
        return config.vaults_dir or (config.root or Path.cwd()) / "vaults"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

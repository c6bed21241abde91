"""Settings: what they are, and where each value came from.

Later layers win: defaults, the user's file, the project's file, `RAG_*` in the environment,
then the command line's own flags. Unknown names and wrong types are errors that say where.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag.config.environment import from_environment, unknown_variables, variable_of
from rag.config.files import (
    find_project,
    is_there,
    new_project_file,
    read_user_file,
    strange_files,
    user_file,
)
from rag.config.keys import KEYS, KeySetting, key_hosts
from rag.config.layers import DEFAULT, ENVIRONMENT, Layers, withhold_keys
from rag.config.model_sections import (
    ChatConfig,
    EmbeddingConfig,
    ModelsConfig,
    OllamaConfig,
    models_config,
)
from rag.config.modes import SearchMode
from rag.config.providers import AUTO
from rag.config.sections import (
    SECTIONS,
    AskConfig,
    IndexConfig,
    ObsidianConfig,
    PlannerConfig,
    RAGConfig,
    RoutesConfig,
    SearchConfig,
    StoreConfig,
    settings,
)
from rag.config.trust import digest_of, record
from rag.config.untrusted import Project
from rag.config.validation import (
    ollama_rules,
    openai_rules,
    own_rules,
    planner_rules,
    routes_rules,
    store_rules,
)
from rag.exceptions import SHOW_SETTINGS, ConfigError

__all__ = [
    "AUTO",
    "MODES",
    "PLANNER_MODES",
    "WINDOWS",
    "AskConfig",
    "ChatConfig",
    "EmbeddingConfig",
    "IndexConfig",
    "ModelsConfig",
    "ObsidianConfig",
    "OllamaConfig",
    "PlannerConfig",
    "RAGConfig",
    "RoutesConfig",
    "SearchConfig",
    "StoreConfig",
    "default_toml",
    "load_config",
    "models_config",
    "new_project_file",
    "project_of",
    "settings",
    "trust_own",
    "unknown_in_environment",
    "user_file",
    "values",
]


def values(config: RAGConfig) -> dict[str, Any]:
    """Return every setting's dotted name with its value."""
    found: dict[str, Any] = {}
    for name in settings():
        value: Any = config
        for part in name.split("."):
            value = getattr(value, part)
        found[name] = str(value) if isinstance(value, Path) else value
    return found


def load_config(
    path: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> RAGConfig:
    """Read the settings in force.

    :param path: the project file; without it `RAG_CONFIG`, else `config/rag.toml` or
        `rag.toml` of the working folder or the nearest folder above it.
    :raises ConfigError: for a file that is missing or does not parse, an unknown setting, or
        a value of the wrong type.
    """
    env = os.environ if env is None else env
    cwd = cwd or Path.cwd()
    layers, mine = Layers(), user_file()
    if is_there(mine):
        layers.add(str(mine), mine.parent, read_user_file(mine))
    hosts = key_hosts(layers.values)
    project = find_project(path, env, cwd)
    variables = from_environment(env, layers.known, SECTIONS)
    if project:
        layers.add_project(project, variables)
    layers.add(ENVIRONMENT, cwd, variables)
    if project:
        withhold_keys(layers, str(project.file), hosts)
    strange = strange_files(bool(path or env.get("RAG_CONFIG")), cwd)
    return _checked(replace(layers.config(), strange_files=strange))


def complete(config: RAGConfig | OllamaConfig | None = None) -> RAGConfig:
    """Return all settings: those given, else those in force with the `[ollama]` section given.

    Who gives one asks for Ollama, whichever provider the settings in force name.

    :raises ConfigError: see `load_config`.
    """
    if isinstance(config, OllamaConfig):
        given = models_config(config)
        return replace(load_config(), embedding=given.embedding, chat=given.chat, ollama=config)
    return config or load_config()


def project_of(folder: Path) -> Project | None:
    """Return the project's file that is read in a folder, with what it asks for; `None` when none
    is.

    :raises ConfigError: see `load_config`.
    """
    layers, mine = Layers(), user_file()
    if is_there(mine):
        layers.add(str(mine), mine.parent, read_user_file(mine))
    found = find_project(None, {}, folder)
    if found is None:
        return None
    layers.add_project(found, ())
    return layers.project or Project(found.file, digest_of(found))


def trust_own(file: Path, written: Collection[str]) -> None:
    """Trust a project's file that the program has just written for the user.

    :param written: the settings that it wrote; a file that asks for more is not trusted.
    :raises ConfigError: when the user's list of trusted files cannot be written.
    """
    folder = file.parent.parent if file.parent.name == "config" else file.parent
    project = project_of(folder)
    if project is None or project.file != file.resolve() or not project.asks:
        return
    if {ask.name for ask in project.asks} <= {*written}:
        record(project.file, project.digest, True)


def planner_config(given: Mapping[str, Any], origin: str) -> PlannerConfig:
    """Return the settings of the planner that were kept somewhere.

    :raises ConfigError: for what cannot be one of them.
    """
    layers = Layers()
    layers.add(origin, Path(), {"planner": given})
    return _checked(layers.config()).planner


def unknown_in_environment(config: RAGConfig, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that look like settings and set nothing, each with the nearest name."""
    given = values(config)
    return unknown_variables(env, given, [given[key.variable] for key in KEYS])


def _checked(config: RAGConfig) -> RAGConfig:
    """Return the settings.

    :raises ConfigError: when one is not as it must be.
    """
    rules = {
        **own_rules(config, MODES),
        **ollama_rules(config.ollama),
        **openai_rules(config.embedding, config.chat),
        **store_rules(config.store),
        **routes_rules(config.routes, MODES),
        **planner_rules(config.planner, WINDOWS, PLANNER_MODES),
    }
    for name, (holds, demand) in rules.items():
        if not holds:
            origin = config.origins.get(name) or config.origins["routes.rules"]
            place = variable_of(name) if origin == ENVIRONMENT else origin
            raise ConfigError(f"{name} {demand} (from {place})", hint=SHOW_SETTINGS)
    for key in KEYS:
        variable = getattr(getattr(config, key.section), key.name)
        _check_key_variable(key, variable, config.origins[key.variable])
    return config


def _check_key_variable(key: KeySetting, variable: str, origin: str) -> None:
    """A project file that came with a vault must not choose which secret goes to its server."""
    mine = (DEFAULT, ENVIRONMENT, str(user_file()))
    if origin not in mine and not key.is_ours(variable):
        beginnings = " or ".join(key.ours)
        raise ConfigError(
            f"{key.variable} in a project file must begin with {beginnings} (from {origin})",
            hint=f"Set it in {user_file()}, or with {variable_of(key.variable)}.",
        )


MODES = tuple(mode.value for mode in SearchMode)
PLANNER_MODES = ("default", "conservative", "aggressive")
WINDOWS = (
    *("ALL_TIME", "TODAY", "THIS_WEEK", "LAST_WEEK", "THIS_MONTH", "LAST_MONTH"),
    *("PAST_SIX_MONTHS", "THIS_YEAR", "LAST_YEAR"),
)


def default_toml() -> str:
    """Return the configuration file that sets nothing: every setting, its help, its default."""
    lines = [
        "# Settings of rag. Each line shows a default; take off the # to change it.",
        "# RAG_<SECTION>__<NAME> in the environment and flags of a command win over this file.",
    ]
    section = ""
    for name, (_, default, text) in settings().items():
        head, _, key = name.rpartition(".")
        if head != section:
            section = head
            lines += ["", f"[{head}]"]
        lines += [f"# {text}", f"# {key} = {_toml_default(name, default)}"]
    return "\n".join(lines) + "\n"


def _toml_default(name: str, default: Any) -> str:
    # Where the platform keeps data differs; the file is the same everywhere.
    shown = {"data_dir": "~/.local/share/rag", "vaults_dir": "vaults"}.get(name, default)
    return "{}" if shown == {} else json.dumps(shown)


def __getattr__(name: str) -> Any:
    if name == "QDRANT_PATH":
        return load_config().index_dir
    if name == "VAULTS_DIR":
        return load_config().vaults_dir
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

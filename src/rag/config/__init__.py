"""Settings: what they are, and where each value came from.

Later layers win: defaults, the user's file, the project's file, `RAG_*` in the environment,
then the command line's own flags. Unknown names and wrong types are errors that say where.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from rag.checks import (
    may_hold_server_key,
    ollama_rules,
    own_rules,
    planner_rules,
    routes_rules,
    store_rules,
)
from rag.config.sections import (
    AUTO,
    AskConfig,
    IndexConfig,
    OllamaConfig,
    PlannerConfig,
    RAGConfig,
    RoutesConfig,
    SearchConfig,
    StoreConfig,
    platform_folder,
)
from rag.exceptions import ConfigError

_ENVIRONMENT = "environment"
_PROJECT_FILES = ("config/rag.toml", "rag.toml")

__all__ = [
    "AUTO",
    "MODES",
    "PLANNER_MODES",
    "WINDOWS",
    "AskConfig",
    "IndexConfig",
    "OllamaConfig",
    "PlannerConfig",
    "RAGConfig",
    "RoutesConfig",
    "SearchConfig",
    "StoreConfig",
    "default_toml",
    "load_config",
    "new_project_file",
    "settings",
    "user_file",
    "values",
]


_hints = cache(get_type_hints)
_INTERNAL = ("origins", "root")
_SECTIONS = ("index", "search", "ask", "ollama", "store", "routes", "planner")


def settings() -> dict[str, tuple[type, Any, str]]:
    """Return every setting's dotted name with its type, default and one line of help."""
    found: dict[str, tuple[type, Any, str]] = {}
    _collect(RAGConfig, "", found)
    return found


def _collect(cls: type, prefix: str, found: dict[str, tuple[type, Any, str]]) -> None:
    hints = _hints(cls)
    for item in fields(cls):
        if item.name in _INTERNAL:
            continue
        if is_dataclass(hints[item.name]):
            _collect(hints[item.name], f"{item.name}.", found)
        else:
            default = item.default_factory() if callable(item.default_factory) else item.default
            found[prefix + item.name] = (hints[item.name], default, item.metadata["help"])


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
    layers: list[tuple[str, Path, dict[str, Any]]] = []
    mine = user_file()
    if _is_there(mine):
        layers.append((str(mine), mine.parent, _read_toml(mine)))
    root = None
    project = _project_file(path or env.get("RAG_CONFIG"), cwd)
    if project:
        root = project.parent.parent if project.parent.name == "config" else project.parent
        defaults = {"vaults_dir": root / "vaults"} if (root / "vaults").is_dir() else {}
        layers.append(("default, beside the project file", root, defaults))
        layers.append((str(project), root, _read_toml(project)))
    layers.append((_ENVIRONMENT, cwd, _from_environment(env)))
    return _merge(layers, root)


def _merge(layers: list[tuple[str, Path, dict[str, Any]]], root: Path | None) -> RAGConfig:
    known = settings()
    origins = dict.fromkeys(known, "default")
    merged: dict[str, Any] = {}
    for origin, base, layer in layers:
        for name, value in _flatten(layer).items():
            if name in _SECTIONS:
                raise ConfigError(
                    f"{name} in {origin} must be a table, not {value!r}",
                    hint=f"Write [{name}] on a line of its own, and its settings below.",
                )
            if name not in known:
                raise ConfigError(
                    f"unknown setting {name!r} in {origin}",
                    hint=f"Did you mean {_nearest(name, list(known))!r}? `rag config` lists all.",
                )
            merged[name] = _coerce(name, value, known[name][0], known[name][1], base, origin)
            origins[name] = origin
    sections: dict[str, dict[str, Any]] = {}
    top: dict[str, Any] = {}
    for name, value in merged.items():
        section, _, key = name.rpartition(".")
        (sections.setdefault(section, {}) if section else top)[key] = value
    config = replace(RAGConfig(), origins=origins, root=root, **top)
    for section, changes in sections.items():
        config = replace(config, **{section: replace(getattr(config, section), **changes)})
    _check(config)
    return config


def planner_config(given: Mapping[str, Any], origin: str) -> PlannerConfig:
    """Return the settings of the planner that were kept somewhere.

    :raises ConfigError: for what cannot be one of them.
    """
    return _merge([(origin, Path(), {"planner": given})], None).planner


def _check(config: RAGConfig) -> None:
    rules = {
        **own_rules(config, MODES),
        **ollama_rules(config.ollama),
        **store_rules(config.store),
        **routes_rules(config.routes, MODES),
        **planner_rules(config.planner, WINDOWS, PLANNER_MODES),
    }
    for name, (holds, demand) in rules.items():
        if not holds:
            origin = config.origins.get(name) or config.origins["routes.rules"]
            raise ConfigError(f"{name} {demand} (from {origin})", hint="`rag config`")
    _check_key_variable(config.store.api_key_env, config.origins["store.api_key_env"])


def _check_key_variable(variable: str, origin: str) -> None:
    """A project file that came with a vault must not choose which secret goes to its server."""
    mine = ("default", _ENVIRONMENT, str(user_file()))
    if origin not in mine and not may_hold_server_key(variable):
        raise ConfigError(
            f"store.api_key_env in a project file must begin with QDRANT or RAG (from {origin})",
            hint=f"Set it in {user_file()}, or with RAG_STORE__API_KEY_ENV.",
        )


MODES = ("auto", "lexical", "dense", "hybrid")
PLANNER_MODES = ("default", "conservative", "aggressive")
WINDOWS = (
    *("ALL_TIME", "TODAY", "THIS_WEEK", "LAST_WEEK", "THIS_MONTH", "LAST_MONTH"),
    *("PAST_SIX_MONTHS", "THIS_YEAR", "LAST_YEAR"),
)


def _flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if key in _SECTIONS and isinstance(value, dict):
            flat.update({f"{key}.{inner}": item for inner, item in value.items()})
        else:
            flat[key] = value
    return flat


def _coerce(name: str, value: Any, kind: Any, default: Any, base: Path, origin: str) -> Any:
    """Make `value` what the setting needs; text (from the environment) is parsed."""
    expected = str if name in ("data_dir", "vaults_dir") else type(default)
    if origin == _ENVIRONMENT and expected is not str:
        value = _parse(value, expected)
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, Path):
        return value
    good = isinstance(value, expected) and not (isinstance(value, bool) and expected is not bool)
    if good and expected is list:
        good = all(isinstance(item, str) for item in value)
    if not good:
        kind = expected.__name__
        want = {"list": "list of strings", "dict": "table"}.get(kind, kind)
        raise ConfigError(
            f"{name} in {origin} must be of type {want}, not {value!r}", hint="`rag config`"
        )
    if expected is str and name.endswith("_dir"):
        try:
            return (base / Path(value).expanduser()).resolve()
        except RuntimeError as error:  # ~nobody
            raise ConfigError(f"{name} in {origin}: {error}", hint="`rag config`") from error
    return value


def _parse(text: str, expected: type) -> Any:
    if expected is list and not text.strip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    text = text.strip()
    if expected is bool:
        text = {"0": "false", "1": "true"}.get(text, text.lower())
    try:
        return json.loads(text)
    except ValueError:
        return text


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    """`RAG_SEARCH__TOP_K` is `search.top_k`; a name that cannot be a setting is not ours.

    An empty value counts as unset.
    """
    found: dict[str, Any] = {}
    names = settings()
    for key, value in env.items():
        if not key.startswith("RAG_") or not value:
            continue
        name = key[4:].lower().replace("__", ".")
        if name in names or name.startswith(tuple(f"{section}." for section in _SECTIONS)):
            found[name] = value
    return found


def user_file() -> Path:
    """Return where the user's own file is, or would be."""
    return platform_folder("user_config_dir") / "rag.toml"


def new_project_file(cwd: Path) -> Path:
    """Return the project file of a folder: the one that is read there, else the one to make."""
    here = [cwd / name for name in _PROJECT_FILES]
    return next((file for file in here if file.exists()), here[-1])


def _project_file(path: str | Path | None, cwd: Path) -> Path | None:
    if path:
        file = Path(os.path.realpath(cwd / Path(path).expanduser()))
        if not file.is_file():
            raise ConfigError(
                f"no configuration file {path}", hint="Check --config and RAG_CONFIG."
            )
        return file
    for folder in (cwd, *cwd.parents):
        for name in _PROJECT_FILES:
            if _is_there(folder / name):
                return Path(os.path.realpath(folder / name))  # which takes a link to itself
    return None


def _is_there(file: Path) -> bool:
    """Whether there is a file, or a link that was meant to lead to one: that is no reason to go on
    without."""
    return file.is_file() or file.is_symlink()


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"cannot read {file}", str(error), hint=f"Mend {file}, or name another with --config."
        ) from error


def _nearest(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names, 1, 0)
    return close[0] if close else names[0]


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

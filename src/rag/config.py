"""Settings: what they are, and where each value came from.

Later layers win: defaults, the user's file, the project's file, `RAG_*` in the environment,
then the command line's own flags. Unknown names and wrong types are errors that say where.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, get_type_hints

from rag.checks import may_hold_server_key, ollama_rules, own_rules, routes_rules, store_rules
from rag.exceptions import ConfigError

_APP = "rag"
_ENVIRONMENT = "environment"
_PROJECT_FILES = ("config/rag.toml", "rag.toml")


def _setting(default: Any, text: str) -> Any:
    meta = {"help": text}
    if callable(default):
        return field(default_factory=default, metadata=meta)
    return field(default=default, metadata=meta)


@dataclass(frozen=True)
class IndexConfig:
    """`[index]`: how notes are read and cut."""

    chunk_size: int = _setting(512, "largest chunk, in tokens; a fence or table is never cut")
    chunk_overlap: int = _setting(50, "tokens of a chunk that the next one of its section repeats")
    max_note_mb: float = _setting(5.0, "only this much of a larger note is indexed")
    ignore: list[str] = _setting(list, "patterns as in .gitignore, relative to each vault")
    only: dict[str, Any] = _setting(
        dict, "index only notes whose front matter has these values, e.g. { normalized = true }"
    )


@dataclass(frozen=True)
class SearchConfig:
    """`[search]`: what is shown."""

    top_k: int = _setting(10, "how many results")
    mode: str = _setting("auto", "auto, lexical, dense or hybrid")
    transforms: list[str] = _setting(
        list, "also search for what these make of a query: multi-query, step-back, hyde, decompose"
    )
    freshness: bool = _setting(True, "say when notes changed since the last index")


@dataclass(frozen=True)
class AskConfig:
    """`[ask]`: what an answer is made from."""

    top_k: int = _setting(5, "how many notes an answer may draw on")
    max_quotes: int = _setting(4, "how many sentences an answer without a model quotes")
    max_answer_tokens: int = _setting(1024, "longest answer of a model, in tokens")
    temperature: float = _setting(0.2, "how freely a model words its answer; 0 is the strictest")
    steps: list[str] = _setting(
        list, "your own steps (entry points of the group rag.steps) in how a prompt is made"
    )
    think: bool = _setting(False, "let a model that can reason do so first; it takes longer")
    transforms: list[str] = _setting(list, "the same as search.transforms, for rag ask and chat")


@dataclass(frozen=True)
class OllamaConfig:
    """`[ollama]`: the model servers, and what is asked of them."""

    enabled: bool = _setting(True, "false: never talk to Ollama")
    url: str = _setting("http://127.0.0.1:11434", "where Ollama answers")
    urls: list[str] = _setting(list, "embedding servers, used in parallel; empty means url")
    generation_url: str = _setting("", "the server of the chat model; empty means url")
    embedding_model: str = _setting("bge-m3", "gives the vectors; empty means search by words")
    chat_model: str = _setting(
        "auto",
        "writes the answers; auto: the first installed one that can; empty: answers by quotation",
    )
    query_prefix: str = _setting(
        "auto", "put before a query to embed; auto knows the prefixes of common models"
    )
    document_prefix: str = _setting("auto", "put before a chunk to embed; auto as above")
    multilingual: str = _setting(
        "auto", "auto, yes or no: whether the embedding model reads more than English"
    )
    max_context: int = _setting(8192, "largest context asked of the chat model, in tokens")
    batch_tokens: int = _setting(4096, "how much one embedding request holds, in tokens")
    max_in_flight: int = _setting(2, "how many requests each embedding server has at once")
    retries: int = _setting(2, "how often a failed request is sent again")
    keep_alive: str = _setting("10m", "how long a model stays loaded; -1m means for ever")
    connect_timeout: float = _setting(3.0, "longest wait for a connection, in seconds")
    read_timeout: float = _setting(
        120.0, "longest silence of a server, in seconds; it is silent while a model loads"
    )
    request_timeout: float = _setting(600.0, "longest request or answer as a whole, in seconds")
    query_timeout: float = _setting(15.0, "longest wait for the vector of a query, in seconds")
    transform_timeout: float = _setting(
        30.0, "longest wait for what a model makes of a query (transforms), in seconds"
    )

    @property
    def embedding_urls(self) -> list[str]:
        """The servers that embed, each once."""
        return list(dict.fromkeys(self.urls or [self.url]))

    @property
    def remote_url(self) -> str:
        """The first server that embeds."""
        return self.embedding_urls[0]

    @property
    def local_url(self) -> str:
        """The server that generates."""
        return self.generation_url or self.url


@dataclass(frozen=True)
class StoreConfig:
    """`[store]`: where the chunks of the index are kept.

    The layout (from `shard_number` on) counts when the collection is made.
    """

    url: str = _setting(
        "", "a Qdrant server such as http://127.0.0.1:6333; empty means in this process, no server"
    )
    api_key_env: str = _setting(
        "QDRANT_API_KEY", "the environment variable that holds the server's API key"
    )
    collection: str = _setting("obsidian_knowledge", "the collection, which is this index's alone")
    timeout: float = _setting(30.0, "longest wait for an answer of the server, in seconds")
    shard_number: int = _setting(0, "parts of the collection; 0 means the server decides")
    replication_factor: int = _setting(1, "copies of each part, on as many machines")
    write_consistency_factor: int = _setting(1, "copies that must have a write before it counts")
    on_disk: bool = _setting(False, "keep vectors on disk instead of in memory")
    quantization: str = _setting(
        "none", "none, scalar or binary: small copies of the vectors that stay in memory"
    )
    hnsw_m: int = _setting(16, "links of a vector in the search graph; 0 means exact search")


@dataclass(frozen=True)
class RoutesConfig:
    """`[routes]`: which way a query goes; docs/routes.md shows it by example."""

    classifier: str = _setting("", "keyword, embedding, or a plug-in's name; empty: no routes")
    default: str = _setting("", "the route of a query that no rule matches; empty: none")
    min_similarity: float = _setting(
        0.0, "how near to a rule's examples (cosine) a query must be; embedding only"
    )
    rules: dict[str, Any] = _setting(
        dict, "by name of the route: keywords or examples; and vaults, mode, transforms"
    )


@dataclass(frozen=True)
class RAGConfig:
    """All settings.

    `origins` maps a setting (`search.top_k`) to where its value came from; `root` is the
    folder that relative paths of the project file are relative to, or `None` without one.
    """

    data_dir: Path = _setting(lambda: _platform_folder("user_data_dir"), "where the index is kept")
    vaults_dir: Path | None = _setting(
        None, "every folder directly below it is a vault (default: vaults, beside the project file)"
    )
    target_vaults: list[str] = _setting(
        list, "index only these folders of vaults_dir; empty means all"
    )
    index: IndexConfig = field(default_factory=IndexConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    ask: AskConfig = field(default_factory=AskConfig)
    ollama: OllamaConfig = field(default_factory=OllamaConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    routes: RoutesConfig = field(default_factory=RoutesConfig)
    origins: dict[str, str] = field(default_factory=dict, compare=False)
    root: Path | None = field(default=None, compare=False)

    @property
    def index_dir(self) -> Path:
        """The folder of the index's files: one for each collection of a server."""
        if not self.store.url:
            return self.data_dir / "index"
        address = f"{self.store.url.rstrip('/')} {self.store.collection}"
        return self.data_dir / f"index-{sha256(address.encode()).hexdigest()[:12]}"


_INTERNAL = ("origins", "root")
_SECTIONS = ("index", "search", "ask", "ollama", "store", "routes")


def settings() -> dict[str, tuple[type, Any, str]]:
    """Return every setting's dotted name with its type, default and one line of help."""
    found: dict[str, tuple[type, Any, str]] = {}
    _collect(RAGConfig, "", found)
    return found


def _collect(cls: type, prefix: str, found: dict[str, tuple[type, Any, str]]) -> None:
    hints = get_type_hints(cls)
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
    if mine.is_file():
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


def _check(config: RAGConfig) -> None:
    rules = {
        **own_rules(config, MODES),
        **ollama_rules(config.ollama),
        **store_rules(config.store),
        **routes_rules(config.routes, MODES),
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
    try:
        return json.loads(text.strip().lower() if expected is bool else text)
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
    return _platform_folder("user_config_dir") / "rag.toml"


def new_project_file(cwd: Path) -> Path:
    """Return the project file of a folder: the one that is read there, else the one to make."""
    here = [cwd / name for name in _PROJECT_FILES]
    return next((file for file in here if file.exists()), here[-1])


def _project_file(path: str | Path | None, cwd: Path) -> Path | None:
    if path:
        file = (cwd / Path(path).expanduser()).resolve()
        if not file.is_file():
            raise ConfigError(
                f"no configuration file {path}", hint="Check --config and RAG_CONFIG."
            )
        return file
    for folder in (cwd, *cwd.parents):
        for name in _PROJECT_FILES:
            if (folder / name).is_file():
                return (folder / name).resolve()
    return None


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


def _platform_folder(which: str) -> Path:
    import platformdirs

    return Path(getattr(platformdirs, which)(_APP, appauthor=False))


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

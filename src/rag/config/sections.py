"""What the settings are: a class for each section, a line of help for each setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from rag.config.addresses import addresses_in
from rag.config.model_sections import ModelsConfig
from rag.config.platform_folders import platform_folder
from rag.config.server_folders import server_folder
from rag.config.setting import KEY_HOSTS, setting
from rag.config.untrusted import (
    LeftOut,
    Project,
    Rule,
    below_project,
    built_in,
    is_free,
    of_own_vaults,
    off_only,
    one_of,
    plain_routes,
    within,
)


@dataclass(frozen=True)
class IndexConfig:
    """`[index]`: how notes are read and cut."""

    chunk_size: int = setting(
        512, "largest chunk, in tokens; a fence or table is never cut", within(256, 4096)
    )
    chunk_overlap: int = setting(
        50, "tokens of a chunk that the next one of its section repeats", within(0, 128)
    )
    max_note_mb: float = setting(5.0, "only this much of a larger note is indexed")
    ignore: list[str] = setting(list, "patterns as in .gitignore, relative to each vault")
    only: dict[str, Any] = setting(
        dict, "index only notes whose front matter has these values, e.g. { normalized = true }"
    )


@dataclass(frozen=True)
class ObsidianConfig:
    """`[obsidian]`: what the settings that Obsidian keeps in a vault count for."""

    respect_ignore: bool = setting(True, "leave out what Obsidian excludes, and its templates")


@dataclass(frozen=True)
class SearchConfig:
    """`[search]`: what is shown."""

    top_k: int = setting(10, "how many results", is_free)
    mode: str = setting("auto", "auto, lexical, dense or hybrid", is_free)
    transforms: list[str] = setting(
        list,
        "also search for what these make of a query: multi-query, step-back, hyde, decompose",
        built_in,
    )
    freshness: bool = setting(
        True, "say when notes changed since the last index (up to 5,000 notes)", is_free
    )
    refresh: str = setting(
        "auto",
        "auto: a search at a terminal first indexes up to 100 changed notes; or never",
        one_of("never"),
    )


@dataclass(frozen=True)
class LinksConfig:
    """`[links]`: where results lead."""

    uri: str = setting(
        "", "file, obsidian, or a link with {path}, {line}, {col}; empty: obsidian in its vaults"
    )
    opener: str = setting("", "the command that opens a link; empty: xdg-open, on macOS open")


@dataclass(frozen=True)
class AskConfig:
    """`[ask]`: what an answer is made from."""

    top_k: int = setting(5, "how many notes an answer may draw on", is_free)
    max_quotes: int = setting(
        3, "how many parts of notes an answer without a model quotes", is_free
    )
    max_answer_tokens: int = setting(1024, "longest answer of a model, in tokens", is_free)
    temperature: float = setting(
        0.2, "how freely a model words its answer; 0 is the strictest", is_free
    )
    steps: list[str] = setting(
        list, "your own steps (entry points of the group rag.steps) in how a prompt is made"
    )
    think: bool = setting(
        False, "let a model that can reason do so first; it takes longer", is_free
    )
    transforms: list[str] = setting(
        list, "the same as search.transforms, for questions and conversations", built_in
    )


@dataclass(frozen=True)
class StoreConfig:
    """`[store]`: where the chunks of the index are kept.

    The layout (from `shard_number` on) counts when the collection is made.
    """

    url: str = setting(
        "",
        "a Qdrant server such as http://127.0.0.1:6333, or a list of those of a cluster, of which"
        " the next is asked when one does not answer; empty means in this process, no server",
    )
    api_key_env: str = setting(
        "QDRANT_API_KEY", "the environment variable that holds the server's API key"
    )
    key_hosts: list[str] = setting(list, KEY_HOSTS)
    collection: str = setting("obsidian_knowledge", "the collection, which is this index's alone")
    timeout: float = setting(30.0, "longest wait for an answer of the server, in seconds")
    shard_number: int = setting(0, "parts of the collection; 0 means the server decides")
    replication_factor: int = setting(1, "copies of each part, on as many machines")
    write_consistency_factor: int = setting(1, "copies that must have a write before it counts")
    on_disk: bool = setting(False, "keep vectors on disk instead of in memory")
    quantization: str = setting(
        "none", "none, scalar or binary: small copies of the vectors that stay in memory"
    )
    hnsw_m: int = setting(16, "links of a vector in the search graph; 0 means exact search")

    @property
    def addresses(self) -> list[str]:
        """The addresses in `url`; none without a server."""
        return addresses_in(self.url)


@dataclass(frozen=True)
class RoutesConfig:
    """`[routes]`: which way a query goes; docs/routes.md shows it by example."""

    classifier: str = setting(
        "",
        "keyword, embedding, or a plug-in's name; empty: no routes",
        one_of("", "keyword", "embedding"),
    )
    default: str = setting("", "the route of a query that no rule matches; empty: none", is_free)
    min_similarity: float = setting(
        0.0, "how near to a rule's examples (cosine) a query must be; embedding only", is_free
    )
    rules: dict[str, Any] = setting(
        dict,
        "by name of the route: keywords or examples; and vaults, mode, transforms",
        plain_routes,
    )


@dataclass(frozen=True)
class PlannerConfig:
    """`[planner]`: filters, dates and vaults understood from the words of a query."""

    plan: str = setting(
        "auto", "auto: queries with words that look like filters; always; or never", is_free
    )
    extractor: str = setting(
        "auto",
        "auto: a model only when a plan is asked for; rules: no model; model: for every plan",
        is_free,
    )
    router: str = setting(
        "rules",
        "who chooses the route: rules, model, or a plug-in's name",
        one_of("rules", "model"),
    )
    mode: str = setting(
        "default", "default, conservative or aggressive: how far to trust a model", is_free
    )
    confidence_threshold: float = setting(
        -1.0,
        "how sure a model's plan must be to count; -1: as the mode says (.7, .9, .5)",
        is_free,
    )
    max_tool_iterations: int = setting(
        -1, "how often a model may use a tool; -1: as the mode says (2, 1, 3)", is_free
    )
    max_candidates: int = setting(
        8, "how many matches a tool gives, and names of a kind a prompt", is_free
    )
    extractor_model: str = setting("", "the model that plans; empty means ollama.chat_model")
    hyde_model: str = setting("", "the model that writes the hypothetical note; empty as above")
    router_model: str = setting("", "the model that chooses the route; empty as above")
    tag_cap: int = setting(8, "when a query is taken for more tags than this, ...", is_free)
    tag_keep: int = setting(5, "... only so many of them are kept", is_free)
    time_window: str = setting(
        "ALL_TIME",
        "the time of queries that name none: ALL_TIME, THIS_YEAR, PAST_SIX_MONTHS, ...",
        is_free,
    )
    aliases: dict[str, Any] = setting(
        dict, 'other names of tags and vaults, e.g. { k8s = "kubernetes" }', is_free
    )
    neighbours: dict[str, Any] = setting(
        dict, 'tags that go together, e.g. { kubernetes = ["containers", "helm"] }', is_free
    )
    fields: dict[str, Any] = setting(
        dict, 'words that mean a front matter field, e.g. { deadline = ["due", "締切"] }', is_free
    )
    audit: bool = setting(
        True, "keep what was understood, beside the index, for an audit", off_only
    )
    raw_replies: bool = setting(
        False,
        "keep the replies of models word for word in it, with what they wrote to tools",
        off_only,
    )
    audit_days: int = setting(90, "how many days of it are kept; 0: all")


@dataclass(frozen=True)
class RAGConfig(ModelsConfig):
    """All settings.

    `origins` maps a setting (`search.top_k`) to where its value came from; `root` is the
    folder that relative paths of the project file are relative to, or `None` without one.
    `project` is a project's file that asks for trust; `left_out` are settings of it that do not
    count, by name; outside `vaults_within`, if it is a folder, nothing is a vault of `vaults_dir`.
    `strange_files` have the name of a file of settings, and are something else: "a folder".
    """

    data_dir: Path = setting(lambda: platform_folder("user_data_dir"), "where the index is kept")
    vaults_dir: Path | None = setting(
        None,
        "every folder directly below it is a vault (default: vaults, beside the project file)",
        below_project,
    )
    target_vaults: list[str] = setting(
        list, "index only these folders of vaults_dir; empty means all", of_own_vaults
    )
    warm: bool = setting(
        True, "keep a warm process, so that the next command need not start cold", off_only
    )
    index: IndexConfig = field(default_factory=IndexConfig)
    obsidian: ObsidianConfig = field(default_factory=ObsidianConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    links: LinksConfig = field(default_factory=LinksConfig)
    ask: AskConfig = field(default_factory=AskConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    routes: RoutesConfig = field(default_factory=RoutesConfig)
    planner: PlannerConfig = field(default_factory=PlannerConfig)
    origins: dict[str, str] = field(default_factory=dict, compare=False)
    root: Path | None = field(default=None, compare=False)
    project: Project | None = field(default=None, compare=False)
    left_out: Mapping[str, LeftOut] = field(default_factory=dict, compare=False)
    vaults_within: Path | None = field(default=None, compare=False)
    strange_files: Mapping[Path, str] = field(default_factory=dict, compare=False)

    @property
    def index_dir(self) -> Path:
        """The folder of the index's files: one for each collection of a server."""
        if not self.store.url:
            return self.data_dir / "index"
        return server_folder(self.data_dir, self.store.addresses, self.store.collection)


SECTIONS = (
    *("index", "obsidian", "search", "links", "ask", "embedding", "chat", "rerank", "ollama"),
    *("store", "routes", "planner"),
)
_INTERNAL = ("origins", "root", "project", "left_out", "vaults_within", "strange_files")
_hints = cache(get_type_hints)


def settings() -> dict[str, tuple[type, Any, str]]:
    """Return every setting's dotted name with its type, default and one line of help."""
    found: dict[str, tuple[type, Any, str]] = {}
    for name, (kind, item) in _items().items():
        default = item.default_factory() if callable(item.default_factory) else item.default
        found[name] = (kind, default, item.metadata["help"])
    return found


def free_rules() -> dict[str, Rule]:
    """Return by setting what a project's file may set before the user trusts it."""
    return {name: item.metadata["free"] for name, (_, item) in _items().items()}


@cache
def _items() -> dict[str, tuple[type, Field[Any]]]:
    found: dict[str, tuple[type, Field[Any]]] = {}
    for cls, prefix in ((RAGConfig, ""), *((_hints(RAGConfig)[s], f"{s}.") for s in SECTIONS)):
        for item in fields(cls):
            kind = _hints(cls)[item.name]
            if item.name not in _INTERNAL and not is_dataclass(kind):
                found[prefix + item.name] = (kind, item)
    return found

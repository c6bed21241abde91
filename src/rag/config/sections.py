"""What the settings are: a class for each section, a line of help for each setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from rag.config.addresses import addresses_in
from rag.config.platform_folders import platform_folder
from rag.config.providers import CHAT_PROVIDERS, EMBEDDING_PROVIDERS
from rag.config.server_folders import server_folder
from rag.config.untrusted import (
    LeftOut,
    Project,
    Rule,
    below_project,
    built_in,
    is_free,
    needs_trust,
    of_own_vaults,
    off_only,
    one_of,
    plain_routes,
    within,
)

AUTO = "auto"  # as ollama.chat_model: the first installed one that can


def _setting(default: Any, text: str, free: Rule = needs_trust) -> Any:
    """Make a setting.

    :param free: whether a project's file may set a value though the user does not trust it.
    """
    meta = {"help": text, "free": free}
    if callable(default):
        return field(default_factory=default, metadata=meta)
    return field(default=default, metadata=meta)


@dataclass(frozen=True)
class IndexConfig:
    """`[index]`: how notes are read and cut."""

    chunk_size: int = _setting(
        512, "largest chunk, in tokens; a fence or table is never cut", within(256, 4096)
    )
    chunk_overlap: int = _setting(
        50, "tokens of a chunk that the next one of its section repeats", within(0, 128)
    )
    max_note_mb: float = _setting(5.0, "only this much of a larger note is indexed")
    ignore: list[str] = _setting(list, "patterns as in .gitignore, relative to each vault")
    only: dict[str, Any] = _setting(
        dict, "index only notes whose front matter has these values, e.g. { normalized = true }"
    )


@dataclass(frozen=True)
class ObsidianConfig:
    """`[obsidian]`: what the settings that Obsidian keeps in a vault count for."""

    respect_ignore: bool = _setting(True, "leave out what Obsidian excludes, and its templates")


@dataclass(frozen=True)
class SearchConfig:
    """`[search]`: what is shown."""

    top_k: int = _setting(10, "how many results", is_free)
    mode: str = _setting("auto", "auto, lexical, dense or hybrid", is_free)
    transforms: list[str] = _setting(
        list,
        "also search for what these make of a query: multi-query, step-back, hyde, decompose",
        built_in,
    )
    freshness: bool = _setting(
        True, "say when notes changed since the last index (up to 5,000 notes)", is_free
    )
    refresh: str = _setting(
        "auto",
        "auto: a search at a terminal first indexes up to 100 changed notes; or never",
        one_of("never"),
    )


@dataclass(frozen=True)
class LinksConfig:
    """`[links]`: where results lead."""

    uri: str = _setting(
        "", "file, obsidian, or a link with {path}, {line}, {col}; empty: obsidian in its vaults"
    )
    opener: str = _setting("", "the command that opens a link; empty: xdg-open, on macOS open")


@dataclass(frozen=True)
class AskConfig:
    """`[ask]`: what an answer is made from."""

    top_k: int = _setting(5, "how many notes an answer may draw on", is_free)
    max_quotes: int = _setting(4, "how many sentences an answer without a model quotes", is_free)
    max_answer_tokens: int = _setting(1024, "longest answer of a model, in tokens", is_free)
    temperature: float = _setting(
        0.2, "how freely a model words its answer; 0 is the strictest", is_free
    )
    steps: list[str] = _setting(
        list, "your own steps (entry points of the group rag.steps) in how a prompt is made"
    )
    think: bool = _setting(
        False, "let a model that can reason do so first; it takes longer", is_free
    )
    transforms: list[str] = _setting(
        list, "the same as search.transforms, for questions and conversations", built_in
    )


@dataclass(frozen=True)
class EmbeddingConfig:
    """`[embedding]`: who makes vectors."""

    provider: str = _setting("ollama", f"who makes the vectors: {', '.join(EMBEDDING_PROVIDERS)}")


@dataclass(frozen=True)
class ChatConfig:
    """`[chat]`: who runs chat models."""

    provider: str = _setting(
        "ollama", f"who writes answers, plans and transforms: {', '.join(CHAT_PROVIDERS)}"
    )


@dataclass(frozen=True)
class OllamaConfig:
    """`[ollama]`: the model servers, and what is asked of them."""

    enabled: bool = _setting(True, "false: never talk to Ollama", off_only)
    url: str = _setting("http://127.0.0.1:11434", "where Ollama answers")
    urls: list[str] = _setting(list, "embedding servers, used in parallel; empty means url")
    generation_url: str = _setting("", "the server of the chat model; empty means url")
    embedding_model: str = _setting("bge-m3", "gives the vectors; empty means search by words")
    chat_model: str = _setting(
        AUTO,
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


@dataclass(frozen=True, kw_only=True)
class ModelsConfig:
    """The sections that providers of models are made of: a provider's own is one of them."""

    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    chat: ChatConfig = field(default_factory=ChatConfig)
    ollama: OllamaConfig = field(default_factory=OllamaConfig)


def models_config(config: ModelsConfig | OllamaConfig | None) -> ModelsConfig:
    """Return the sections for providers alone: those given, else the defaults.

    Who gives an `[ollama]` section asks for Ollama.
    """
    if config is None or isinstance(config, OllamaConfig):
        return ModelsConfig(ollama=config or OllamaConfig())
    return ModelsConfig(**{item.name: getattr(config, item.name) for item in fields(ModelsConfig)})


@dataclass(frozen=True)
class StoreConfig:
    """`[store]`: where the chunks of the index are kept.

    The layout (from `shard_number` on) counts when the collection is made.
    """

    url: str = _setting(
        "",
        "a Qdrant server such as http://127.0.0.1:6333, or a list of those of a cluster, of which"
        " the next is asked when one does not answer; empty means in this process, no server",
    )
    api_key_env: str = _setting(
        "QDRANT_API_KEY", "the environment variable that holds the server's API key"
    )
    key_hosts: list[str] = _setting(
        list,
        "hosts that get the API key though only a project's file names them as url; counts in your"
        " own file and the environment",
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

    @property
    def addresses(self) -> list[str]:
        """The addresses in `url`; none without a server."""
        return addresses_in(self.url)


@dataclass(frozen=True)
class RoutesConfig:
    """`[routes]`: which way a query goes; docs/routes.md shows it by example."""

    classifier: str = _setting(
        "",
        "keyword, embedding, or a plug-in's name; empty: no routes",
        one_of("", "keyword", "embedding"),
    )
    default: str = _setting("", "the route of a query that no rule matches; empty: none", is_free)
    min_similarity: float = _setting(
        0.0, "how near to a rule's examples (cosine) a query must be; embedding only", is_free
    )
    rules: dict[str, Any] = _setting(
        dict,
        "by name of the route: keywords or examples; and vaults, mode, transforms",
        plain_routes,
    )


@dataclass(frozen=True)
class PlannerConfig:
    """`[planner]`: filters, dates and vaults understood from the words of a query."""

    plan: str = _setting(
        "auto", "auto: queries with words that look like filters; always; or never", is_free
    )
    extractor: str = _setting(
        "auto",
        "auto: a model only when a plan is asked for; rules: no model; model: for every plan",
        is_free,
    )
    router: str = _setting(
        "rules",
        "who chooses the route: rules, model, or a plug-in's name",
        one_of("rules", "model"),
    )
    mode: str = _setting(
        "default", "default, conservative or aggressive: how far to trust a model", is_free
    )
    confidence_threshold: float = _setting(
        -1.0,
        "how sure a model's plan must be to count; -1: as the mode says (.7, .9, .5)",
        is_free,
    )
    max_tool_iterations: int = _setting(
        -1, "how often a model may use a tool; -1: as the mode says (2, 1, 3)", is_free
    )
    max_candidates: int = _setting(
        8, "how many matches a tool gives, and names of a kind a prompt", is_free
    )
    extractor_model: str = _setting("", "the model that plans; empty means ollama.chat_model")
    hyde_model: str = _setting("", "the model that writes the hypothetical note; empty as above")
    router_model: str = _setting("", "the model that chooses the route; empty as above")
    tag_cap: int = _setting(8, "when a query is taken for more tags than this, ...", is_free)
    tag_keep: int = _setting(5, "... only so many of them are kept", is_free)
    time_window: str = _setting(
        "ALL_TIME",
        "the time of queries that name none: ALL_TIME, THIS_YEAR, PAST_SIX_MONTHS, ...",
        is_free,
    )
    aliases: dict[str, Any] = _setting(
        dict, 'other names of tags and vaults, e.g. { k8s = "kubernetes" }', is_free
    )
    neighbours: dict[str, Any] = _setting(
        dict, 'tags that go together, e.g. { kubernetes = ["containers", "helm"] }', is_free
    )
    fields: dict[str, Any] = _setting(
        dict, 'words that mean a front matter field, e.g. { deadline = ["due", "締切"] }', is_free
    )
    audit: bool = _setting(
        True, "keep what was understood, beside the index, for an audit", off_only
    )
    raw_replies: bool = _setting(
        False,
        "keep the replies of models word for word in it, with what they wrote to tools",
        off_only,
    )
    audit_days: int = _setting(90, "how many days of it are kept; 0: all")


@dataclass(frozen=True)
class RAGConfig(ModelsConfig):
    """All settings.

    `origins` maps a setting (`search.top_k`) to where its value came from; `root` is the
    folder that relative paths of the project file are relative to, or `None` without one.
    `project` is a project's file that asks for trust; `left_out` are settings of it that do not
    count, by name; outside `vaults_within`, if it is a folder, nothing is a vault of `vaults_dir`.
    `strange_files` have the name of a file of settings, and are something else: "a folder".
    """

    data_dir: Path = _setting(lambda: platform_folder("user_data_dir"), "where the index is kept")
    vaults_dir: Path | None = _setting(
        None,
        "every folder directly below it is a vault (default: vaults, beside the project file)",
        below_project,
    )
    target_vaults: list[str] = _setting(
        list, "index only these folders of vaults_dir; empty means all", of_own_vaults
    )
    warm: bool = _setting(
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
    *("index", "obsidian", "search", "links", "ask", "embedding", "chat", "ollama"),
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

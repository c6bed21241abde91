"""What the settings are, each declared once: its type, its default, a line of help, how it must be,
and what of it a project's file may set before the user trusts that file."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from rag.config.files import platform_folder
from rag.config.rules import (
    Rule,
    addresses,
    anything,
    at_least,
    below_project,
    built_in,
    lists_of,
    matching,
    must_be,
    must_fit,
    names_by_name,
    nothing,
    of_own_vaults,
    one_of,
    own_routes,
    positive_below,
    routes,
    within,
)
from rag.config.servers import KEYS, KeyInUse, addresses_in, is_address, server_folder

AUTO = "auto"  # what the index was made with; else what there is
NO_PROVIDER = "none"
# The providers of models: one more is a line here and a module. `rag.clients.factory` makes them
# of the module, relative to `rag.clients`, and the class.
EMBEDDING_PROVIDERS = {
    "builtin": (".local.builtin_provider", "BuiltinEmbeddings"),
    "ollama": (".ollama.providers", "OllamaEmbeddings"),
    "onnx": (".local.onnx_provider", "OnnxEmbeddings"),
    "openai": (".openai.providers", "OpenAIEmbeddings"),
    NO_PROVIDER: (".no_models", "NoEmbeddings"),
}
CHAT_PROVIDERS = {
    "ollama": (".ollama.providers", "OllamaChat"),
    "openai": (".openai.providers", "OpenAIChat"),
    NO_PROVIDER: (".no_models", "NoChat"),
}


class SearchMode(StrEnum):
    """How a query can be searched: by words, by meaning, or both; `auto` is `hybrid` where there
    are embeddings."""

    AUTO = "auto"
    LEXICAL = "lexical"
    DENSE = "dense"
    HYBRID = "hybrid"


MODES = tuple(mode.value for mode in SearchMode)
PLANNER_MODES = ("default", "conservative", "aggressive")
WINDOWS = (
    *("ALL_TIME", "TODAY", "THIS_WEEK", "LAST_WEEK", "THIS_MONTH", "LAST_MONTH"),
    *("PAST_SIX_MONTHS", "THIS_YEAR", "LAST_YEAR"),
)


def setting(default: Any, text: str, free: Rule = nothing) -> Any:
    """Declare a setting; a rule in its annotated type says how it must be.

    :param default: its default, or what makes it.
    :param text: one line of help.
    :param free: what a project's file may set though the user does not trust it.
    """
    meta = {"help": text, "free": free}
    if callable(default):
        return field(default_factory=default, metadata=meta)
    return field(default=default, metadata=meta)


def free(default: Any, text: str) -> Any:
    """Declare a setting that takes no trust: it changes how notes are searched, planned or shown,
    and no more."""
    return setting(default, text, anything)


_KEY_HOSTS = (
    "hosts that get the API key though only a project's file names them as url; counts in your own"
    " file and the environment"
)
_SERVER = (
    "for openai: the server, such as http://127.0.0.1:8080 (llama.cpp, LM Studio, vLLM and others"
    " that speak OpenAI's HTTP API)"
)
_KEY = (
    "for openai: the NAME of the environment variable that holds the server's API key, never the"
    " key itself; empty: none is sent"
)
_off = must_be("false", lambda value: value is False)
OpenAIAddress = Annotated[
    str,
    must_fit(
        "an address such as http://127.0.0.1:8080; empty only where provider is not openai",
        lambda url, own: is_address(url) if url else own.provider != "openai",
    ),
]
# Stricter than what a system takes: most keys that are written here by mistake are refused.
KeyVariable = Annotated[
    str,
    matching(
        r"([A-Z_][A-Z0-9_]{,63})?",
        "the name of an environment variable (capital letters, digits and _), not the key itself",
    ),
]
ModelFile = Annotated[
    str, matching(r"([/~].*)?", "a whole path, such as ~/models/bge-m3/model.onnx")
]
Seconds = Annotated[float, positive_below(1_000_000)]
Results = Annotated[int, within(1, 10_000)]


@dataclass(frozen=True)
class IndexConfig:
    """`[index]`: how notes are read and cut."""

    chunk_size: Annotated[int, at_least(1)] = setting(
        512, "largest chunk, in tokens; a fence or table is never cut", free=within(256, 4096)
    )
    chunk_overlap: Annotated[
        int,
        must_fit("at least 0 and below index.chunk_size", lambda v, own: 0 <= v < own.chunk_size),
    ] = setting(
        50, "tokens of a chunk that the next one of its section repeats", free=within(0, 128)
    )
    max_note_mb: Annotated[float, positive_below(10_000)] = setting(
        5.0, "only this much of a larger note is indexed"
    )
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

    top_k: Results = free(10, "how many results")
    mode: Annotated[str, one_of(*MODES)] = free("auto", "auto, lexical, dense or hybrid")
    transforms: list[str] = setting(
        list,
        "also search for what these make of a query: multi-query, step-back, hyde, decompose",
        free=built_in,
    )
    freshness: bool = free(True, "say when notes changed since the last index (up to 5,000 notes)")
    refresh: Annotated[str, one_of("auto", "never")] = setting(
        "auto",
        "auto: a search at a terminal first indexes up to 100 changed notes; or never",
        free=one_of("never"),
    )


@dataclass(frozen=True)
class LinksConfig:
    """`[links]`: where results lead."""

    uri: Annotated[
        str,
        must_be(
            "file, obsidian, or a link that holds {path}",
            lambda uri: uri in ("", "file", "obsidian") or "{path}" in uri,
        ),
    ] = setting(
        "", "file, obsidian, or a link with {path}, {line}, {col}; empty: obsidian in its vaults"
    )
    opener: str = setting("", "the command that opens a link; empty: xdg-open, on macOS open")


@dataclass(frozen=True)
class AskConfig:
    """`[ask]`: what an answer is made from."""

    top_k: Results = free(5, "how many notes an answer may draw on")
    max_quotes: Annotated[int, at_least(1)] = free(
        3, "how many parts of notes an answer without a model quotes"
    )
    max_answer_tokens: Annotated[int, at_least(1)] = free(
        1024, "longest answer of a model, in tokens"
    )
    temperature: Annotated[float, within(0, 2)] = free(
        0.2, "how freely a model words its answer; 0 is the strictest"
    )
    steps: list[str] = setting(
        list, "your own steps (entry points of the group rag.steps) in how a prompt is made"
    )
    think: bool = free(False, "let a model that can reason do so first; it takes longer")
    transforms: list[str] = setting(
        list, "the same as search.transforms, for questions and conversations", free=built_in
    )


@dataclass(frozen=True)
class EmbeddingConfig:
    """`[embedding]`: who makes vectors."""

    provider: Annotated[str, one_of(AUTO, more=EMBEDDING_PROVIDERS)] = setting(
        AUTO,
        f"who makes the vectors: {', '.join(EMBEDDING_PROVIDERS)}; auto: who made those of"
        " the index, else Ollama if it has the model, else builtin",
    )
    url: OpenAIAddress = setting("", _SERVER)
    model: Annotated[
        str,
        must_fit(
            "the name of a model of the server, where embedding.provider is openai",
            lambda model, own: model or own.provider != "openai",
        ),
    ] = setting("", "for openai: the name of the embedding model, as the server lists it")
    api_key: KeyVariable = setting("", _KEY)
    key_hosts: list[str] = setting(list, _KEY_HOSTS)
    path: ModelFile = setting(
        "", "for onnx: the model.onnx of an embedding model, with its tokenizer.json beside it"
    )
    pooling: Annotated[str, one_of("auto", "mean", "cls", "last")] = setting(
        "auto", "for onnx: mean, cls or last; auto: as the files beside the model say"
    )
    dimension: Annotated[int, within(0, 16_384)] = setting(
        0, "for onnx: keep so many numbers of a vector, of models trained for that; 0: all"
    )
    threads: Annotated[int, within(0, 256)] = setting(
        0, "processors that a model in this program may take; 0: all"
    )
    minutes: Annotated[float, positive_below(100_000)] = setting(
        10.0, "how long a run without a terminal embeds, before it leaves the rest to the next one"
    )


@dataclass(frozen=True)
class ChatConfig:
    """`[chat]`: who runs chat models."""

    provider: Annotated[str, one_of(AUTO, more=CHAT_PROVIDERS)] = setting(
        AUTO,
        f"who writes answers, plans and transforms: {', '.join(CHAT_PROVIDERS)}; auto: openai where"
        " url is set, else ollama",
    )
    url: OpenAIAddress = setting("", _SERVER)
    model: str = setting(
        AUTO,
        "for openai: the name of the chat model, as the server lists it; auto: the first that can;"
        " empty: answers by quotation",
    )
    api_key: KeyVariable = setting("", _KEY)
    key_hosts: list[str] = setting(list, _KEY_HOSTS)

    @property
    def asked(self) -> str:
        """The provider that is asked: for `auto` the one whose settings are there."""
        if self.provider != AUTO:
            return self.provider
        return "openai" if self.url else "ollama"


@dataclass(frozen=True)
class RerankConfig:
    """`[rerank]`: who orders the best results again, where a search asks for it."""

    path: ModelFile = setting(
        "",
        "the model.onnx of a cross-encoder, with its tokenizer.json beside it; empty: the chat"
        " model",
    )


@dataclass(frozen=True)
class _OllamaSettings:
    enabled: bool = setting(True, "false: never talk to Ollama", free=_off)
    url: Annotated[str, addresses(11434, 1, 1)] = setting(
        "http://127.0.0.1:11434", "where Ollama answers"
    )
    urls: Annotated[list[str], addresses(11434)] = setting(
        list, "embedding servers, used in parallel; empty means url"
    )
    generation_url: Annotated[str, addresses(11434, 0, 1)] = setting(
        "", "the server of the chat model; empty means url"
    )
    embedding_model: str = setting("bge-m3", "gives the vectors; empty means search by words")
    chat_model: str = setting(
        AUTO,
        "writes the answers; auto: the first installed one that can; empty: answers by quotation",
    )
    query_prefix: str = setting(
        "auto", "put before a query to embed; auto knows the prefixes of common models"
    )
    document_prefix: str = setting("auto", "put before a chunk to embed; auto as above")
    multilingual: Annotated[str, one_of("auto", "yes", "no")] = setting(
        "auto", "auto, yes or no: whether the embedding model reads more than English"
    )
    max_context: Annotated[int, at_least(512)] = setting(
        8192, "largest context asked of the chat model, in tokens"
    )
    batch_tokens: Annotated[int, at_least(1)] = setting(
        4096, "how much one embedding request holds, in tokens"
    )
    max_in_flight: Annotated[int, within(1, 64)] = setting(
        2, "how many requests each embedding server has at once"
    )
    retries: Annotated[int, within(0, 20)] = setting(2, "how often a failed request is sent again")
    keep_alive: Annotated[
        str,
        matching(
            r"0|-?(\d+(\.\d+)?(h|ms|m|s))+", "a duration with its unit, such as 10m, 1h30m or -1m"
        ),
    ] = setting("10m", "how long a model stays loaded; -1m means for ever")
    connect_timeout: Seconds = setting(3.0, "longest wait for a connection, in seconds")
    read_timeout: Seconds = setting(
        120.0, "longest silence of a server, in seconds; it is silent while a model loads"
    )
    request_timeout: Seconds = setting(600.0, "longest request or answer as a whole, in seconds")
    query_timeout: Seconds = setting(15.0, "longest wait for the vector of a query, in seconds")
    transform_timeout: Seconds = setting(
        30.0, "longest wait for what a model makes of a query (transforms), in seconds"
    )


class OllamaConfig(_OllamaSettings):
    """`[ollama]`: the model servers, and what is asked of them."""

    def __init__(self, *, remote_url: str = "", local_url: str = "", **settings: Any) -> None:
        """Take the settings of the section, of which two have a second name.

        :param remote_url: the server that embeds: `urls` with one address.
        :param local_url: the server that generates: `generation_url`.
        """
        servers: dict[str, Any] = {"urls": [remote_url]} if remote_url else {}
        if local_url:
            servers["generation_url"] = local_url
        super().__init__(**settings, **servers)

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

    url: Annotated[str, addresses(6333)] = setting(
        "",
        "a Qdrant server such as http://127.0.0.1:6333, or a list of those of a cluster, of which"
        " the next is asked when one does not answer; empty means in this process, no server",
    )
    api_key_env: Annotated[
        str, matching(r"\w*", "the name of an environment variable, not the key itself")
    ] = setting("QDRANT_API_KEY", "the environment variable that holds the server's API key")
    key_hosts: list[str] = setting(list, _KEY_HOSTS)
    collection: Annotated[str, matching(r"[\w-]{1,200}", "letters, digits, _ and -")] = setting(
        "obsidian_knowledge", "the collection, which is this index's alone"
    )
    timeout: Seconds = setting(30.0, "longest wait for an answer of the server, in seconds")
    shard_number: Annotated[int, within(0, 10_000)] = setting(
        0, "parts of the collection; 0 means the server decides"
    )
    replication_factor: Annotated[int, within(1, 100)] = setting(
        1, "copies of each part, on as many machines"
    )
    write_consistency_factor: Annotated[
        int,
        must_fit(
            "within 1 and store.replication_factor", lambda v, own: 0 < v <= own.replication_factor
        ),
    ] = setting(1, "copies that must have a write before it counts")
    on_disk: bool = setting(False, "keep vectors on disk instead of in memory")
    quantization: Annotated[str, one_of("none", "scalar", "binary")] = setting(
        "none", "none, scalar or binary: small copies of the vectors that stay in memory"
    )
    hnsw_m: Annotated[int, within(0, 128)] = setting(
        16, "links of a vector in the search graph; 0 means exact search"
    )

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
        free=one_of("", "keyword", "embedding"),
    )
    default: Annotated[
        str, must_fit("one of the routes", lambda v, own: not v or v in own.rules)
    ] = free("", "the route of a query that no rule matches; empty: none")
    min_similarity: Annotated[float, within(-1, 1)] = free(
        0.0, "how near to a rule's examples (cosine) a query must be; embedding only"
    )
    rules: Annotated[dict[str, Any], routes(MODES)] = setting(
        dict,
        "by name of the route: keywords or examples; and vaults, mode, transforms",
        free=own_routes,
    )


@dataclass(frozen=True)
class PlannerConfig:
    """`[planner]`: filters, dates and vaults understood from the words of a query."""

    plan: Annotated[str, one_of("auto", "always", "never")] = free(
        "auto", "auto: queries with words that look like filters; always; or never"
    )
    extractor: Annotated[str, one_of("auto", "rules", "model")] = free(
        "auto",
        "auto: a model only when a plan is asked for; rules: no model; model: for every plan",
    )
    router: Annotated[str, matching(r"\s*\S.*", "rules, model, or a plug-in's name")] = setting(
        "rules",
        "who chooses the route: rules, model, or a plug-in's name",
        free=one_of("rules", "model"),
    )
    mode: Annotated[str, one_of(*PLANNER_MODES)] = free(
        "default", "default, conservative or aggressive: how far to trust a model"
    )
    confidence_threshold: Annotated[
        float, must_be("within 0 and 1, or -1", lambda v: 0 <= v <= 1 or v == -1)
    ] = free(-1.0, "how sure a model's plan must be to count; -1: as the mode says (.7, .9, .5)")
    max_tool_iterations: Annotated[int, within(-1, 20)] = free(
        -1, "how often a model may use a tool; -1: as the mode says (2, 1, 3)"
    )
    max_candidates: Annotated[int, within(1, 1000)] = free(
        8, "how many matches a tool gives, and names of a kind a prompt"
    )
    extractor_model: str = setting("", "the model that plans; empty means ollama.chat_model")
    hyde_model: str = setting("", "the model that writes the hypothetical note; empty as above")
    router_model: str = setting("", "the model that chooses the route; empty as above")
    tag_cap: Annotated[int, within(1, 1000)] = free(
        8, "when a query is taken for more tags than this, ..."
    )
    tag_keep: Annotated[
        int, must_fit("within 1 and planner.tag_cap", lambda v, own: 0 < v <= max(own.tag_cap, 5))
    ] = free(5, "... only so many of them are kept")
    time_window: Annotated[str, one_of(*WINDOWS)] = free(
        "ALL_TIME", "the time of queries that name none: ALL_TIME, THIS_YEAR, PAST_SIX_MONTHS, ..."
    )
    aliases: Annotated[dict[str, Any], names_by_name] = free(
        dict, 'other names of tags and vaults, e.g. { k8s = "kubernetes" }'
    )
    neighbours: Annotated[dict[str, Any], lists_of("tags")] = free(
        dict, 'tags that go together, e.g. { kubernetes = ["containers", "helm"] }'
    )
    fields: Annotated[dict[str, Any], lists_of("words")] = free(
        dict, 'words that mean a front matter field, e.g. { deadline = ["due", "締切"] }'
    )
    audit: bool = setting(
        True, "keep what was understood, beside the index, for an audit", free=_off
    )
    raw_replies: bool = setting(
        False,
        "keep the replies of models word for word in it, with what they wrote to tools",
        free=_off,
    )
    audit_days: Annotated[int, at_least(0)] = setting(90, "how many days of it are kept; 0: all")


@dataclass(frozen=True, kw_only=True)
class ModelsConfig:
    """The sections that providers of models are made of: a provider's own is one of them."""

    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    chat: ChatConfig = field(default_factory=ChatConfig)
    rerank: RerankConfig = field(default_factory=RerankConfig)
    ollama: OllamaConfig = field(default_factory=OllamaConfig)


def models_config(config: ModelsConfig | OllamaConfig | None) -> ModelsConfig:
    """Return the sections for providers alone: those given, else the defaults.

    Who gives an `[ollama]` section asks for Ollama.
    """
    if config is None:
        return ModelsConfig()
    if isinstance(config, OllamaConfig):
        return ModelsConfig(embedding=EmbeddingConfig("ollama"), ollama=config)
    return ModelsConfig(**{item.name: getattr(config, item.name) for item in fields(ModelsConfig)})


class Ask(NamedTuple):
    """Something that a project's file asks for and that takes trust; `value` is as it is shown."""

    name: str
    value: str


class Project(NamedTuple):
    """A project's file, what it asks for, and what the user said to that.

    :param digest: of the file's content, and of the folders outside that it leads to.
    :param answer: `True` when the user trusts it, `False` when the user said no, `None` when
        nobody has asked.
    """

    file: Path
    digest: str = ""
    asks: tuple[Ask, ...] = ()
    answer: bool | None = None


class LeftOut(NamedTuple):
    """A setting of a file that does not count.

    :param value: what it was to be, as it is shown.
    :param hint: what makes it count.
    """

    value: str
    reason: str
    hint: str


@dataclass(frozen=True)
class RAGConfig(ModelsConfig):
    """All settings.

    `origins` maps a setting (`search.top_k`) to where its value came from; `root` is the
    folder that relative paths of the project file are relative to, or `None` without one.
    `project` is a project's file that asks for trust; `left_out` are settings of it that do not
    count, by name; outside `vaults_within`, if it is a folder, nothing is a vault of `vaults_dir`.
    """

    data_dir: Path = setting(lambda: platform_folder("user_data_dir"), "where the index is kept")
    vaults_dir: Path | None = setting(
        None,
        "every folder directly below it is a vault (default: vaults, beside the project file)",
        free=below_project,
    )
    target_vaults: list[str] = setting(
        list, "index only these folders of vaults_dir; empty means all", free=of_own_vaults
    )
    warm: bool = setting(
        True,
        "keep a warm process, so that the next command need not start cold",
        free=_off,
    )
    index: IndexConfig = field(default_factory=IndexConfig)
    obsidian: ObsidianConfig = field(default_factory=ObsidianConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    links: LinksConfig = field(default_factory=LinksConfig)
    ask: AskConfig = field(default_factory=AskConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    routes: RoutesConfig = field(default_factory=RoutesConfig)
    planner: PlannerConfig = field(default_factory=PlannerConfig)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)
    root: Path | None = field(default=None, compare=False)
    project: Project | None = field(default=None, compare=False)
    left_out: Mapping[str, LeftOut] = field(default_factory=dict, compare=False)
    vaults_within: Path | None = field(default=None, compare=False)

    @property
    def index_dir(self) -> Path:
        """The folder of the index's files: one for each collection of a server."""
        if not self.store.url:
            return self.data_dir / "index"
        return server_folder(self.data_dir, self.store.addresses, self.store.collection)


# As they are listed; the settings of none come first.
SECTIONS = (
    *("index", "obsidian", "search", "links", "ask", "embedding", "chat", "rerank", "ollama"),
    *("store", "routes", "planner"),
)


class Setting(NamedTuple):
    """A setting as it was declared: see `setting`; `check` is the rule in its type."""

    type: Any
    default: Any
    help: str
    free: Rule
    check: Rule


def settings() -> dict[str, Setting]:
    """Return all settings by their dotted names."""
    return {
        name: Setting(
            item.type,
            item.default_factory() if callable(item.default_factory) else item.default,
            **item.metadata,
            check=getattr(item.type, "__metadata__", [anything])[0],
        )
        for name, item in _declared().items()
    }


@cache
def _declared() -> dict[str, Field[Any]]:
    own = {item.name: item for item in fields(RAGConfig)}
    declared = {name: item for name, item in own.items() if item.metadata}
    for section in SECTIONS:
        for item in fields(own[section].default_factory):  # type: ignore[arg-type]
            declared[f"{section}.{item.name}"] = item
    return declared


def values(config: RAGConfig) -> dict[str, Any]:
    """Return every setting's dotted name with its value."""
    by_name = {name: attrgetter(name)(config) for name in _declared()}
    return {n: str(value) if isinstance(value, Path) else value for n, value in by_name.items()}


def keys_in_use(config: RAGConfig) -> Iterator[KeyInUse]:
    """Yield the keys that servers will get."""
    providers = {"embedding": config.embedding.provider, "chat": config.chat.asked}
    for key in KEYS:
        variable, url = attrgetter(key.variable, key.url)(config)
        # Left open, it may be the one who made the vectors of the index.
        is_asked = providers.get(key.section, AUTO) in ("openai", AUTO)
        if is_asked and url and os.environ.get(variable, "").strip():
            yield KeyInUse(key, variable, addresses_in(url))


def default_toml() -> str:
    """Return the configuration file that sets nothing: every setting, its help, its default."""
    lines = [
        "# Settings of rag. Each line shows a default; take off the # to change it.",
        "# RAG_<SECTION>__<NAME> in the environment and flags of a command win over this file.",
    ]
    section = ""
    # Where the platform keeps data differs; the file is the same everywhere.
    folders = {"data_dir": "~/.local/share/rag", "vaults_dir": "vaults"}
    for name, declared in settings().items():
        head, _, key = name.rpartition(".")
        if head != section:
            section = head
            lines += ["", f"[{head}]"]
        default = folders.get(name, declared.default)
        lines += [f"# {declared.help}"]
        lines += [f"# {key} = {'{}' if default == {} else json.dumps(default)}"]
    return "\n".join(lines) + "\n"

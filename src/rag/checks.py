"""What some settings may be; `config` says where a value that may not be came from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from rag.config import OllamaConfig, StoreConfig

QUANTIZATIONS = ("none", "scalar", "binary")
_DURATION = re.compile(r"0|-?(\d+(\.\d+)?(h|ms|m|s))+")


def store_rules(store: StoreConfig) -> dict[str, tuple[bool, str]]:
    """Return by setting whether it is as it must be, and how that is."""
    rules = {
        "url": (
            not store.url or is_address(store.url),
            "must be an address such as http://127.0.0.1:6333",
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
    for name in ("connect_timeout", "read_timeout", "request_timeout", "query_timeout"):
        rules[name] = (0 < getattr(ollama, name) < 1e6, "must be positive and below 1,000,000")
    return {f"ollama.{name}": rule for name, rule in rules.items()}


def may_hold_server_key(variable: str) -> bool:
    """Tell whether a file that came with somebody's notes may have this variable sent away."""
    return not variable or variable.startswith(("QDRANT", "RAG"))


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

"""What an index was made with: when any of it changes, the index is rebuilt."""

from __future__ import annotations

import json

from rag.config import RAGConfig
from rag.text.bm25 import LEXICAL_VERSION
from rag.vault.chunking import CHUNKER_VERSION

# Raise it when points written by an older version would not be read right.
SCHEMA_VERSION = 6


def fingerprint(config: RAGConfig) -> str:
    """Return all that decides what the same notes become in the index, as JSON."""
    index = config.index
    facts = {
        "schema": SCHEMA_VERSION,
        "tokenizer": LEXICAL_VERSION,
        "chunker": CHUNKER_VERSION,
        "chunk_size": index.chunk_size,
        "chunk_overlap": index.chunk_overlap,
        "max_note_mb": index.max_note_mb,
        "only": index.only,
        "embedding_model": "",
    }
    return json.dumps(facts, sort_keys=True, ensure_ascii=False, default=str)


def readable(known: str) -> bool:
    """Return whether an index of that fingerprint can be searched by this program."""
    facts = json.loads(known or "{}")
    return (facts.get("schema"), facts.get("tokenizer")) == (SCHEMA_VERSION, LEXICAL_VERSION)

"""Notes as the library gives them, and what indexing a vault did."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rag.vault import Note


@dataclass
class DocumentMeta:
    """What a note's front matter says of it; `file_id` is the UUID of the note."""

    tags: list[str] = field(default_factory=list)
    created: str = ""
    normalized: bool = False
    file_id: str = ""


@dataclass
class Document:
    """A note as `scan_vault` found it; `content` is its text below the front matter."""

    file_path: Path
    title: str
    content: str
    metadata: DocumentMeta
    vault_name: str
    note: Note | None = field(default=None, repr=False, compare=False)


@dataclass
class IndexingResult:
    """What indexing a vault did: notes found, notes (re)indexed, chunks written, what failed."""

    total_docs: int
    indexed_docs: int
    total_chunks: int
    errors: list[str] = field(default_factory=list)

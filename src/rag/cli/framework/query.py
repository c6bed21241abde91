"""What `search` and `ask` share: filters made of options, and the state of the index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.cli.render.console import plural, say
from rag.config import MODES, RAGConfig
from rag.exceptions import UsageError

if TYPE_CHECKING:
    from rag.search.results import QueryFilters, SearchResult


@dataclass(frozen=True)
class IndexFacts:
    """The index a command reads: its size, age, vaults' folders, tags, and how many notes
    changed since (`None` when that took too long to find out)."""

    notes: int
    chunks: int
    indexed_at: str
    roots: dict[str, str]
    tags: dict[str, int]
    changed: int | None
    odd_files: dict[tuple[str, str], str]

    def to_json(self) -> dict[str, Any]:
        """Return the `index` part of a command's JSON."""
        return {
            "notes": self.notes,
            "chunks": self.chunks,
            "indexed_at": self.indexed_at,
            "stale": None if self.changed is None else self.changed > 0,
            "changed": self.changed,
        }

    def warn_if_stale(self) -> None:
        """Say when what is shown may be older than the notes."""
        if self.changed:
            say(f"{plural(self.changed, 'note')} changed since the last index (`rag index`)")

    def file(self, result: SearchResult) -> Path:
        """Return where a result's note is on disk."""
        file = self.odd_files.get((result.vault, result.file_path), result.file_path)
        return Path(self.roots.get(result.vault, "")) / file


def index_facts(config: RAGConfig) -> IndexFacts:
    """Read the state of the current generation.

    :raises IndexUnavailableError: when there is no index, or one of another version.
    """
    from rag.index.lookup import open_manifest
    from rag.indexing.changes import count_stale

    with open_manifest(config) as manifest:
        notes, chunks = manifest.kept_totals()
        stale = count_stale(manifest, config.index.ignore) if config.search.freshness else None
        return IndexFacts(
            notes=notes,
            chunks=chunks,
            indexed_at=manifest.get("indexed_at"),
            roots=manifest.vaults(),
            tags=manifest.tags(),
            changed=stale,
            odd_files=manifest.odd_files(),
        )


def make_filters(
    vaults: list[str] | None,
    tags: list[str] | None,
    date_from: str | None,
    date_to: str | None,
    paths: list[str] | None,
) -> QueryFilters:
    """Make filters of options.

    :raises UsageError: for words that are no date, or a span that ends before it begins.
    """
    from rag.query import parse_date_range
    from rag.search.results import QueryFilters

    for option, given in (("--tag", tags), ("--path", paths)):
        if any(not value.strip("#/ \t") for value in given or []):
            raise UsageError(f"{option} is empty", hint=f"Leave out {option}, or give it a value.")
    first = None if date_from is None else parse_date_range(date_from).first
    last = None if date_to is None else parse_date_range(date_to).last
    if first and last and last < first:
        raise UsageError(f"--to {last} lies before --from {first}", hint="Swap them?")
    return QueryFilters(vaults or None, tags or None, first, last, paths or None)


def check_vaults(vaults: list[str] | None, facts: IndexFacts) -> None:
    """Refuse a vault that is not in the index.

    :raises UsageError: with the nearest names.
    """
    from rag.index.vault_registry import unknown_vault

    for name in vaults or []:
        if name not in facts.roots:
            raise unknown_vault(name, list(facts.roots))


def check_mode(mode: str) -> str:
    """Return a mode, or refuse one that does not exist.

    :raises UsageError: for an unknown mode.
    """
    if mode not in MODES:
        raise UsageError(f"no mode {mode!r}", hint=f"Use --mode {', '.join(MODES)}.")
    return mode


def tell_corrections(corrections: dict[str, str]) -> None:
    """Say which words were searched for instead of those that no note holds."""
    for word, meant in corrections.items():
        say(f'searched for "{meant}": no note holds "{word}"')


def near_tags(tags: list[str] | None, facts: IndexFacts) -> Iterator[str]:
    """Yield which tags are near each that no note has."""
    from difflib import get_close_matches

    from rag.vault import normalize_tags

    for tag in tags or []:
        name = next(iter(normalize_tags([tag])), "")
        if name not in facts.tags:
            near = get_close_matches(name, list(facts.tags), 3, 0.5)
            also = f"; near: {', '.join('#' + n for n in near)}" if near else ""
            yield f"no note has the tag #{name}{also}"

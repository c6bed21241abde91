"""The catalog of an index: what a query may name, looked up in the manifest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256

from rag.index.manifest import Manifest

_MOST_VALUES = 1_000  # of a field


class ManifestCatalogue:
    """A `rag.query.planner.catalog.Catalogue` over one snapshot of an index.

    Only `tags` and `titles` read much, and only when they are first asked for.

    :param manifest: of a published snapshot; it must stay open.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest, self._tables = manifest, manifest.catalogue
        self._beside: dict[tuple[str, int], Sequence[str]] = {}

    def vaults(self) -> Sequence[str]:
        """Return the names of the vaults."""
        return self._vaults

    def tags(self) -> Sequence[str]:
        """Return all tags, lower case, parents of nested ones too."""
        return self._tags

    def has_tag(self, tag: str) -> bool:
        """Return whether a note has exactly this tag."""
        return self._tables.has_tag(tag)

    def titles(self) -> Sequence[str]:
        """Return titles, aliases and file names of all notes."""
        return self._titles

    def titled(self, name: str) -> Sequence[str]:
        """Return the titles of the notes that have a name, in any case and width."""
        return self._tables.titled(name)

    def fields(self) -> Sequence[str]:
        """Return the names of the front matter fields."""
        return self._fields

    def values(self, field: str) -> Sequence[str]:
        """Return what a field holds, the most frequent first, at most 1,000."""
        return self._tables.values(field, _MOST_VALUES)

    def neighbours(self, tag: str, limit: int = 5) -> Sequence[str]:
        """Return the tags that stand beside a tag most often."""
        if (tag, limit) not in self._beside:  # a plan asks for those of a tag more than once
            self._beside[tag, limit] = self._tables.beside(tag, limit)
        return self._beside[tag, limit]

    def digest(self) -> str:
        """Return a hash of all names, to detect a changed index."""
        parts = (self._manifest.revision, self._tables.size(), self._vaults)
        return sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:16]

    @cached_property
    def _vaults(self) -> list[str]:
        return list(self._manifest.vaults())

    @cached_property
    def _tags(self) -> list[str]:
        return list(self._tables.tags())

    @cached_property
    def _titles(self) -> list[str]:
        return self._tables.names()

    @cached_property
    def _fields(self) -> list[str]:
        return self._tables.fields()

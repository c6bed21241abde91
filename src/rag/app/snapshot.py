"""One snapshot of an index, and what was opened to read it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag.app.index_state import IndexState, read_state
from rag.config import RAGConfig

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.index.lookup import FoundNote
    from rag.index.manifest import Manifest
    from rag.stores.base.document_store import BaseDocumentStore
    from rag.stores.edge.session import ShardAccess


class NoteName(NamedTuple):
    """What a note is called; `id` is the whole of its id."""

    vault: str
    path: str
    title: str
    id: str


class Snapshot:
    """The index of a configuration, as it is when its store is first asked for.

    :param access: from `rag.stores.begin_opening`.
    """

    def __init__(self, config: RAGConfig, access: ShardAccess | None = None) -> None:
        self.config = config
        self._access = access  # what has begun to open it, until the store is made
        self._opened = ExitStack()
        self._pipelines: dict[tuple[Hashable, ...], Pipeline] = {}
        self._changed: int | None = None  # how many notes did since, where somebody just looked

    @property
    def is_open(self) -> bool:
        """Whether something of it was read."""
        return bool({"store", "state"} & vars(self).keys())

    def is_current(self) -> bool:
        """Return whether no other snapshot was published since this one was opened."""
        from rag.index.snapshots import IndexDirectory

        if not self.is_open:
            return True
        return self.store.access.snapshot_name() == IndexDirectory.of(self.config).current()

    def note_changes(self, changed: int | None) -> None:
        """Take note of how many notes changed since it was made."""
        if "state" in vars(self):
            vars(self)["state"] = replace(self.state, changed=changed)
        self._changed = changed

    def reopen(self, changed: int | None) -> None:
        """Read the index as it is from now on.

        :param changed: how many notes changed since it was made, where somebody has just looked.
        """
        self._opened.close()
        self._pipelines.clear()
        for name in ("store", "state"):
            vars(self).pop(name, None)
        self._changed = changed

    @cached_property
    def store(self) -> BaseDocumentStore:
        """The document store, which reads one snapshot."""
        from rag.stores import get_document_store

        access, self._access = self._access, None
        store = self._opened.enter_context(get_document_store(self.config, access=access))
        self._opened.enter_context(store.pinned())
        return store

    @cached_property
    def state(self) -> IndexState:
        """The state of the snapshot.

        :raises IndexUnavailableError: when there is none, or one of another version.
        """
        with self.manifest() as manifest:
            return read_state(manifest, self.config, self._changed)

    def places(self) -> list[tuple[str, str]]:
        """Return vault and path of every note.

        :raises IndexUnavailableError: as for `state`.
        """
        with self.manifest() as manifest:
            return [name[:2] for name in manifest.names()]

    def note_names(self) -> list[NoteName]:
        """Return what the notes are called, by vault and path.

        :raises IndexUnavailableError: as for `state`.
        """
        with self.manifest() as manifest:
            return [NoteName(*name[:3], name[4]) for name in manifest.names()]

    def note(self, vault: str, path: str) -> FoundNote | None:
        """Return a note of the snapshot, and the folder of its vault."""
        from rag.index.lookup import FoundNote

        with self.manifest() as manifest:
            row, root = manifest.note(vault, path), manifest.vaults().get(vault)
        return FoundNote(row, Path(root)) if row and root else None

    @contextmanager
    def manifest(self) -> Iterator[Manifest]:
        """Open the manifest of the snapshot.

        :raises IndexUnavailableError: as for `state`.
        """
        from rag.index.lookup import open_manifest, reading
        from rag.index.snapshots import IndexDirectory

        manifest = self.store.manifest()
        if manifest is None:
            with open_manifest(self.config) as manifest:
                yield manifest
        else:
            with reading(manifest, IndexDirectory.of(self.config)):
                yield manifest

    def pipeline(self, make: Callable[[], Pipeline], *key: Hashable) -> Pipeline:
        """Return the pipeline of a key, which `make` makes when it is first asked for."""
        if key not in self._pipelines:
            self._pipelines[key] = self._opened.enter_context(closing(make()))
        return self._pipelines[key]

    def close(self) -> None:
        """Release all that was opened."""
        if self._access is not None:
            self._access.close()
        self._opened.close()

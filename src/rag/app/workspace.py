"""One configuration and one snapshot of its index, which the use cases read.

with Workspace(config) as workspace:
    report = search(workspace, SearchRequest("rollback"))
    print(to_json(report))

What reads no snapshot (`get_note`, `sync`, `read_status`, …) is a function of the configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState, read_state
from rag.config import RAGConfig
from rag.exceptions import RAGError
from rag.support.closing import Closing
from rag.text.tokenizer import name_key

if TYPE_CHECKING:
    from haystack import Pipeline

    from rag.index.lookup import FoundNote
    from rag.index.manifest import Manifest
    from rag.stores.base.document_store import BaseDocumentStore


class Workspace(Closing):
    """The index of a configuration, as it is when it is first asked: all searches and answers are
    from that one snapshot, whatever is published meanwhile. `close` lets it go."""

    def __init__(self, config: RAGConfig) -> None:
        self.config = config
        self._opened = ExitStack()
        self._pipelines: dict[tuple[Hashable, ...], Pipeline] = {}
        self._changed: int | None = None  # how many notes did since, where somebody just looked

    @property
    def is_open(self) -> bool:
        """Whether something of it was read."""
        return bool({"store", "state"} & vars(self).keys())

    @property
    def is_current(self) -> bool:
        """Whether it is known that no other snapshot was published since this one was opened."""
        from rag.index.snapshots import IndexDirectory

        try:
            newest = IndexDirectory.of(self.config).current()
            return not self.is_open or self.store.snapshot_name() == newest
        except RAGError:
            return False

    def note_changes(self, changed: int | None) -> None:
        """Take note of how many notes changed since it was made."""
        if "state" in vars(self):
            vars(self)["state"] = replace(self.state, changed=changed)
        self._changed = changed

    def refresh(self) -> tuple[str, ...]:
        """Index what changed before anything is read; return what there is to tell of that."""
        from rag.app.sync import refresh

        self._changed, notices = refresh(self.config)
        return notices

    def begin_reading(self) -> None:
        """Have the reader load while a question is planned and searched for; an index by words
        does without."""
        from rag.clients.factory import begin_reading
        from rag.index.embedding_space import VECTORS

        if (self.config.index_dir / VECTORS).is_file():
            begin_reading()

    @cached_property
    def store(self) -> BaseDocumentStore:
        """The document store, which reads one snapshot."""
        from rag.stores import get_document_store

        store = self._opened.enter_context(get_document_store(self.config))
        self._opened.enter_context(store.pinned())
        return store

    @cached_property
    def state(self) -> IndexState:
        """The state of the snapshot.

        :raises IndexUnavailableError: when there is none, or one of another version.
        """
        with self.manifest() as manifest:
            return read_state(manifest, self.config, self._changed)

    def note(self, vault: str, path: str) -> FoundNote | None:
        """Return a note of the snapshot, and the folder of its vault."""
        from rag.index.lookup import FoundNote

        with self.manifest() as manifest:
            row, root = manifest.note(vault, path), manifest.vaults().get(vault)
        return FoundNote(row, Path(root)) if row and root else None

    @contextmanager
    def manifest(self) -> Iterator[Manifest]:
        """Open the manifest of the snapshot."""
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

    def count_notes(self, kind: str, of: str = "") -> dict[str, int]:
        """Return how many notes have each of `tags` or `properties`, the most frequent first, or
        `folders` or `vaults`; only those below one, or the values of a property."""
        with self.manifest() as manifest:
            if kind == "vaults":
                counts = manifest.counts().items()
                return {vault: notes for vault, (notes, _) in counts if of in ("", vault)}
            if kind == "folders":
                above, within = of.strip("/ "), Counter[str]()
                for vault, path, *_ in manifest.names():
                    folders = f"{vault}/{path}".split("/")[:-1]
                    within.update(accumulate(folders, "{}/{}".format))
                return {
                    folder: notes
                    for folder, notes in sorted(within.items())
                    if not above or f"/{above}/" in f"/{folder}/"
                }
            if kind == "properties":
                numbers = manifest.catalogue.counts(name_key(of.strip()))
            else:
                above, tags = name_key(of.strip("# /")), manifest.catalogue.tags().items()
                numbers = [
                    (tag, notes)
                    for tag, notes in tags
                    if not above or f"{tag}/".startswith(f"{above}/")
                ]
        return dict(sorted(numbers, key=lambda number: (-number[1], number[0])))

    def warm_up(self) -> None:
        """Do what the first search does once, so that it need not; no server of models is asked."""
        from rag.search.run import create_search_pipeline

        # What a search imports while it runs. Two first ones at once would do so at the same time.
        for name in ("haystack.tools.toolset", "rapidfuzz.distance", "rapidfuzz.process"):
            import_module(name)
        _ = self.state
        create_search_pipeline(self.store, self.config).close()

    def close(self) -> None:
        """Release the index and the models' connections."""
        self._opened.close()


@dataclass(frozen=True)
class CountsReport:
    """How many notes have each tag, and each property, or each value of one."""

    tags: dict[str, int]
    properties: dict[str, int]


def count_names(workspace: Workspace, below: str = "") -> CountsReport:
    """Count the tags and properties of notes; see `Workspace.count_notes`."""
    return CountsReport(*(workspace.count_notes(kind, below) for kind in ("tags", "properties")))

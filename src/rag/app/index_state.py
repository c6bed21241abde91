"""The index that a request reads: its size, its age, its vaults and tags."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from rag.config import RAGConfig
from rag.exceptions import RUN_INDEX, IndexingError, IndexUnavailableError
from rag.support.json_reports import hidden
from rag.vault.markdown import RENDERED

if TYPE_CHECKING:
    from rag.index.manifest import Manifest
    from rag.index.snapshots import IndexDirectory
    from rag.search.results import SearchResult

_PER_NOTE = 1e-5  # seconds that a note takes at least: to be listed, examined and compared
_GLANCE = 0.05  # seconds for looking whether notes changed, beside a search
FILE, OBSIDIAN = "file", "obsidian"


def link_to(template: str, file: Path, line: int, heading: str = "", page: int = 0) -> str:
    """Return a link to a line of a note, with nothing in it that steers a terminal.

    :param template: `file`; `obsidian`, which opens the note at a heading; empty for `obsidian`
        inside a folder that it keeps, else `file`; or a link with `{path}`, `{line}` and `{col}`.
    :param page: of a PDF, or slide, that is opened where the program does so.
    """
    path = quote(os.fsencode(file))
    if not template:  # `Path.is_dir` raises where a folder may not be read
        is_kept = any(os.path.isdir(folder / ".obsidian") for folder in file.parents)  # noqa: PTH112
        template = OBSIDIAN if is_kept else FILE
    if template == FILE:
        return f"file://{path}#page={page}" if page else f"file://{path}"
    if template == OBSIDIAN:
        section = f"%23{quote(heading, safe='')}" if heading else ""
        section = f"%23page={page}" if page else section
        return f"obsidian://open?path={quote(os.fsencode(file), safe='')}{section}"
    for name, value in (("{path}", path), ("{line}", str(line)), ("{col}", "1")):
        template = template.replace(name, value)
    return template


@dataclass(frozen=True, kw_only=True)
class IndexState:
    """The index that was read.

    :param stale: whether notes changed since it was made; `null` when that is not known.
    :param changed: how many did.
    :param roots: the folders of its vaults, by name.
    :param tags: its tags, and how many notes have each.
    :param odd_files: by vault and path, the files whose names are spelt otherwise on disk.
    :param uri: how links to notes are made; see `link_to`.
    """

    notes: int
    chunks: int
    indexed_at: str
    stale: bool | None
    changed: int | None
    roots: dict[str, str] = hidden()
    tags: dict[str, int] = hidden()
    odd_files: dict[tuple[str, str], str] = hidden()
    uri: str = hidden("")

    def file(self, result: SearchResult) -> Path:
        """Return where a result's note is on disk."""
        file = self.odd_files.get((result.vault, result.file_path), result.file_path)
        return Path(self.roots.get(result.vault, ""), file)

    def mark_gone(self, results: Iterable[SearchResult]) -> None:
        """Mark the results whose files are gone, by one look at each; of a vault whose folder is
        not on this machine nothing is known."""
        is_here: dict[str, bool] = {}
        for result in results:
            root = self.roots.get(result.vault, "")
            if is_here.setdefault(root, bool(root) and os.path.isdir(root)):  # noqa: PTH112
                try:
                    self.file(result).stat()
                except (FileNotFoundError, NotADirectoryError):
                    result.gone = True
                except OSError:  # it may not be looked at, and may well be there
                    pass

    def link(self, result: SearchResult, line: int = 0) -> str:
        """Return a link to a result, or to another line of its note."""
        headings = [part for part in result.heading if part != result.title]
        heading = headings[-1] if headings else ""
        file = self.file(result)
        if file.suffix.lower() in RENDERED:  # what was found is another text than the file's
            return link_to(self.uri, file, 1, page=result.page)
        return link_to(self.uri, file, line or result.line, heading)


@contextmanager
def open_index(config: RAGConfig) -> Iterator[Manifest]:
    """Open the manifest of the current snapshot, which is fetched first where another machine has
    published a newer one and its server answers.

    :raises StoreConnectionError: when there is none here, and the server does not answer.
    """
    from rag.index.lookup import open_manifest
    from rag.stores import open_directory

    open_directory(config, is_needed=False)
    with open_manifest(config) as manifest:
        yield manifest


def open_to_write(config: RAGConfig) -> IndexDirectory:
    """Return the folder of the index, which this machine writes.

    :raises UsageError: when another does.
    """
    from rag.stores import open_directory

    directory = open_directory(config)
    if config.store.url:
        from rag.indexing.server import require_writer

        require_writer(config, directory)
    return directory


def count_changed(
    manifest: Manifest,
    config: RAGConfig,
    seconds: float = _GLANCE,
    patience: float = 1.0,
) -> int | None:
    """Return how many notes changed on disk since the index was made; `None` where another machine
    indexes them, or it would surely take more than so many `seconds`, or took `patience` times as
    long."""
    from rag.indexing.changes import count_stale_in, scan_vault

    if config.store.url:
        from rag.index.snapshots import IndexDirectory
        from rag.stores.server.catalog import is_written_here

        if not is_written_here(IndexDirectory.of(config)):
            return None
    if manifest.kept_totals()[0] * _PER_NOTE > seconds:
        return None
    deadline, changed = time.monotonic() + seconds * patience, 0
    for vault, root in manifest.vaults().items():
        try:
            scan = scan_vault(root, config, deadline)
            changed += count_stale_in(root, manifest.stats(vault), scan)
        except TimeoutError:
            return None
        except IndexingError:
            continue  # not mounted: what was indexed is the best there is
    return changed


def read_state(manifest: Manifest, config: RAGConfig, changed: int | None = None) -> IndexState:
    """Read the state of an index from its manifest, where somebody may just have looked how many
    notes changed."""
    notes, chunks = manifest.kept_totals()
    if not config.search.freshness:
        changed = None
    elif changed is None:
        changed = count_changed(manifest, config)
    return IndexState(
        notes=notes,
        chunks=chunks,
        indexed_at=manifest.get("indexed_at"),
        roots=manifest.vaults(),
        tags=manifest.catalogue.tags(),
        stale=None if changed is None else changed > 0,
        changed=changed,
        odd_files=manifest.odd_files(),
        uri=config.links.uri,
    )


def check_vaults(config: RAGConfig, vaults: Iterable[str] | None, indexed: Iterable[str]) -> None:
    """Refuse a vault that is not in the index.

    :raises IndexUnavailableError: for one that is registered.
    :raises UsageError: for another, with the nearest names.
    """
    from rag.index.vault_registry import configured_vaults, unknown_vault

    names = list(indexed)
    for name in vaults or ():
        if name not in names:
            if name in configured_vaults(config):
                what = f"the vault {name!r} is not indexed yet"
                raise IndexUnavailableError(what, hint=RUN_INDEX)
            raise unknown_vault(name, names)

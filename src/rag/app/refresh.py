"""Bringing an index up to date before a search, where that is done in a moment.

Only what an index holds is looked at: no vault comes or goes, and nothing is rebuilt. No model is
asked: new text is found by its words, until a run of the indexer embeds it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag.app.index_state import count_changed, open_index, open_to_write
from rag.config import RAGConfig
from rag.exceptions import EMBED_REST, LockedError, RAGError
from rag.text.messages import plural

if TYPE_CHECKING:
    from rag.indexing.run import IndexRun
    from rag.vault import Scan

MOST = 100  # changed notes; more are left to a run of the indexer, which shows how far it is
_GLANCE = 0.2  # seconds for looking what changed: those of about 20,000 notes
_PATIENCE = 10.0  # times as long where other work goes on, before what was saved is not found


class Refreshed(NamedTuple):
    """How many notes the index still knows as they were, if that is known, and notices."""

    changed: int | None = None
    notices: tuple[str, ...] = ()


def refresh(config: RAGConfig) -> Refreshed:
    """Index what changed, where it is little and nobody else writes the index. Whatever goes wrong
    is a notice, and so is Ctrl-C: the index can be searched as it was."""
    from rag.index.manifest import fingerprint
    from rag.indexing.run import IndexRun

    changed: int | None = None
    scans: dict[str, Scan] = {}
    try:
        with open_index(config) as manifest:
            changed = count_changed(manifest, config, _GLANCE, _PATIENCE, scans)
            is_rebuilt = manifest.get("fingerprint") != fingerprint(config)
            vaults = manifest.vaults()
        if not changed or changed > MOST or is_rebuilt or not os.access(config.index_dir, os.W_OK):
            return Refreshed(changed)
        with IndexRun(config, open_to_write(config)) as run:
            run.prepare()
            if run.is_rebuilding:  # all notes would have to be read again
                return Refreshed(changed)
            for vault, root in vaults.items():
                run.index_vault(vault, Path(root), scan=scans.get(vault))
            run.publish()
            return Refreshed(0, tuple(_notices(run)))
    except LockedError:  # that it is not up to date is told as ever
        return Refreshed(changed)
    except KeyboardInterrupt:
        return Refreshed(changed, ("interrupted: the index is searched as it was",))
    except (RAGError, OSError, sqlite3.Error) as error:
        if changed is None:  # the search says what is wrong with the index
            return Refreshed()
        return Refreshed(changed, (f"the index could not be brought up to date: {error}",))


def _notices(run: IndexRun) -> Iterator[str]:
    from rag.index.manifest import UNEMBEDDED

    reports = run.report.vaults.values()
    indexed = sum(report.added + report.changed for report in reports)
    gone = sum(report.deleted for report in reports)
    parts = [f"indexed {plural(indexed, 'changed note')}"] if indexed else []
    parts += [f"forgot {plural(gone, 'note')} no longer there"] if gone else []
    if parts and run.embedded and run.manifest.get(UNEMBEDDED):
        parts.append("some chunks have no embedding")
        yield f"{', '.join(parts)} {EMBED_REST}"
    elif parts:
        yield ", ".join(parts)
    for report in reports:
        for path, why in report.failed.items():
            yield f"{report.vault}/{path}: {why}"

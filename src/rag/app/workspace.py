"""One configuration and one snapshot of its index: what front-ends ask.

with Workspace(config) as workspace:
    report = workspace.search(SearchRequest("rollback"))
    print(to_json(report))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from rag.app.index_state import IndexState
from rag.app.snapshot import NoteName, Snapshot
from rag.config import RAGConfig

# What a request needs is imported with it: a note is printed without the engine.
if TYPE_CHECKING:
    from pathlib import Path

    from rag.answers.verdicts import Progress
    from rag.app.ask import AnswerReport
    from rag.app.audit import AuditReport, RecordReport, Replay
    from rag.app.chat import Chat, SessionsReport
    from rag.app.doctor import CheckResult, DoctorReport
    from rag.app.evaluate import EvaluationReport, Track
    from rag.app.notes import Limits, NoteReport, NotesReport
    from rag.app.notes.lines import MatchingLines
    from rag.app.notes.links import LinksReport
    from rag.app.plan import PlanReport
    from rag.app.related import RelatedReport
    from rag.app.requests import (
        AskRequest,
        ChatRequest,
        EvaluateRequest,
        LinksRequest,
        PlanRequest,
        RelatedRequest,
        SearchRequest,
        SyncRequest,
    )
    from rag.app.search import SearchReport
    from rag.app.status import StatusReport
    from rag.app.sync import ShowProgress, SyncCopy, SyncPreview, SyncReport
    from rag.app.transform_preview import TransformReport
    from rag.app.vaults import VaultChange, VaultsReport
    from rag.search.planned_query import Intent
    from rag.search.results import QueryFilters
    from rag.stores.edge.session import ShardAccess


class Workspace:
    """The index of a configuration, as it is when it is first asked.

    All searches and answers are from that one snapshot, whatever is published meanwhile; `close`
    lets it go.

    :param access: what has begun to open it, from `rag.stores.begin_opening`.
    """

    def __init__(self, config: RAGConfig, access: ShardAccess | None = None) -> None:
        self.config = config
        self._snapshot = Snapshot(config, access)

    # -- requests ----------------------------------------------------------------------

    def search(self, request: SearchRequest) -> SearchReport:
        """Find notes; the query is planned first where it asks for that.

        :raises IndexUnavailableError: when there is no index.
        :raises UsageError: for a vault that is not in it.
        :raises QueryError: for a query that cannot be searched.
        """
        from rag.app.search import search

        return search(self._snapshot, request)

    def related(self, request: RelatedRequest) -> RelatedReport:
        """Find notes related to one; see `rag.app.related.related`."""
        from rag.app.related import related

        return related(self._snapshot, request)

    def links(self, request: LinksRequest) -> LinksReport:
        """Walk the links of a note; see `rag.app.notes.links.walk_links`."""
        from rag.app.notes.links import walk_links

        return walk_links(self.config, request)

    def ask(
        self,
        request: AskRequest,
        on_text: Callable[[str], None] | None = None,
        on_thinking: Callable[[str], None] | None = None,
        on_plan: Callable[[Intent], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_piece: Callable[[str], None] | None = None,
    ) -> AnswerReport:
        """Answer a question from the notes, by a chat model or by quotation.

        :param on_text: is given the answer of a model, piece by piece.
        :param on_thinking: is given its reasoning.
        :param on_plan: is given how the question was planned, before it is answered.
        :param on_progress: is given how many sentences of a model's answer came, while it comes.
        :param on_piece: is given each piece that a model writes, before it is verified.
        :raises RAGError: as for `search`.
        """
        from rag.app.ask import ask

        return ask(self._snapshot, request, on_text, on_thinking, on_plan, on_progress, on_piece)

    def chat(self, request: ChatRequest) -> Chat:
        """Begin a conversation, or go on with one; it must be closed.

        It reads whatever index is the newest when a question is asked.
        """
        from rag.app.chat import Chat

        return Chat(self.config, request)

    def sessions(self) -> SessionsReport:
        """List the conversations that are kept."""
        from rag.app.chat import kept_sessions

        return kept_sessions(self.config)

    def plan(self, request: PlanRequest) -> PlanReport:
        """Return what a query means; nothing is searched.

        :raises RAGError: as for `search`.
        """
        from rag.app.plan import plan

        return plan(self._snapshot, request)

    def evaluate(self, request: EvaluateRequest, track: Track | None = None) -> EvaluationReport:
        """Measure how well the search answers a set of questions.

        :param track: is given the questions and a mode; yields them as they are asked.
        :raises UsageError: for a question that cannot be searched, a file that cannot be written,
            or a baseline without such a mode.
        """
        from rag.app.evaluate import evaluate

        return evaluate(self._snapshot, request, *([track] if track else []))

    def preview_transforms(
        self, query: str, transforms: Sequence[str] | None = None
    ) -> TransformReport:
        """Return what a search would look for; see `rag.app.transform_preview.plan_search`."""
        from rag.app.transform_preview import plan_search

        return plan_search(self.config, query, transforms)

    def audit(self, last: int | None = None, since: str | None = None) -> AuditReport:
        """List the plans on record; see `rag.app.audit.list_records`."""
        from rag.app.audit import list_records

        return list_records(self.config, last, since)

    def audit_record(self, beginning: str) -> RecordReport:
        """Return the plan on record whose id begins so.

        :raises UsageError: when there is none, or there are several.
        """
        from rag.app.audit import find_record

        return find_record(self.config, beginning)

    def replay(self, beginning: str) -> Replay:
        """Make a plan on record again; see `rag.app.audit.replay`."""
        from rag.app.audit import find_record, replay

        return replay(self.config, find_record(self.config, beginning).record)

    def checks(self) -> Iterator[CheckResult]:
        """Check all that `rag` relies on; see `rag.app.doctor.run_checks`."""
        from rag.app.doctor import run_checks

        return run_checks(self.config)

    def doctor(self) -> DoctorReport:
        """Return what all checks find, once the last is done."""
        from rag.app.doctor import DoctorReport

        return DoctorReport([*self.checks()])

    def get_note(
        self,
        name: str,
        vaults: Sequence[str] | None = None,
        folder: Path | None = None,
        limits: Limits | None = None,
    ) -> NoteReport:
        """Read a note; see `rag.app.notes.get_note`."""
        from rag.app.notes import get_note

        return get_note(self.config, name, vaults, folder, limits)

    def get_notes(
        self,
        names: Sequence[str],
        vaults: Sequence[str] | None = None,
        folder: Path | None = None,
        limits: Limits | None = None,
    ) -> NotesReport:
        """Read several notes; see `rag.app.notes.get_notes`."""
        from rag.app.notes import get_notes

        return get_notes(self.config, names, vaults, folder, limits)

    def status(self, links: bool = False, vectors: bool = False) -> StatusReport:
        """Check the index and its notes.

        :param links: resolve every link too.
        :param vectors: look up which notes have chunks without a vector too.
        :raises IndexUnavailableError: when there is no index.
        """
        from rag.app.status import read_status

        return read_status(self.config, links, vectors)

    # -- what changes the index --------------------------------------------------------

    def sync(self, request: SyncRequest, show_progress: ShowProgress | None = None) -> SyncReport:
        """Bring the index up to date with the notes.

        A workspace that has read the index goes on reading it as it was.

        :raises UsageError: for a folder that is none, or when there is nothing to index.
        :raises LockedError: when another process is writing it.
        :raises IndexingError: when it cannot be written.
        """
        from rag.app.sync import no_progress, sync

        return sync(self.config, request, show_progress or no_progress)

    def preview_sync(self, request: SyncRequest) -> SyncPreview:
        """Return what `sync` would do, without doing any of it."""
        from rag.app.sync import preview_sync

        return preview_sync(self.config, request)

    def copy_index(self, wait: bool = False, show_progress: ShowProgress | None = None) -> SyncCopy:
        """Copy the index to the Qdrant server that the settings name.

        :param wait: for another writer, instead of failing.
        """
        from rag.app.sync import copy_index, no_progress

        return copy_index(self.config, wait, show_progress or no_progress)

    def vaults(self) -> VaultsReport:
        """List the vaults that are configured, registered or indexed."""
        from rag.app.vaults import list_vaults

        return list_vaults(self.config)

    def add_vault(self, folder: Path, name: str = "") -> VaultChange:
        """Register a folder; see `rag.app.vaults.add_vault`."""
        from rag.app.vaults import add_vault

        return add_vault(self.config, folder, name)

    def rename_vault(self, name: str, wanted: str) -> VaultChange:
        """Give a vault another name; see `rag.app.vaults.rename_vault`."""
        from rag.app.vaults import rename_vault

        return rename_vault(self.config, name, wanted)

    def remove_vault(self, name: str) -> VaultChange:
        """Take a vault out of the index; see `rag.app.vaults.remove_vault`."""
        from rag.app.vaults import remove_vault

        return remove_vault(self.config, name)

    @property
    def state(self) -> IndexState:
        """The state of the index.

        :raises IndexUnavailableError: when there is none, or one of another version.
        """
        return self._snapshot.state

    @property
    def is_current(self) -> bool:
        """Whether what it reads is the newest that was published."""
        return self._snapshot.is_current()

    def note_changes(self, changed: int | None) -> None:
        """Take note of how many notes changed since its snapshot, where somebody has looked."""
        self._snapshot.note_changes(changed)

    def note_names(self) -> list[NoteName]:
        """Return what the notes of its snapshot are called, by vault and path.

        :raises IndexUnavailableError: as for `state`.
        """
        return self._snapshot.note_names()

    def notes_like(self, pattern: str) -> list[str]:
        """Return `vault/path` of the notes whose path matches a pattern, such as `daily/2026-11-*`.

        :raises IndexUnavailableError: as for `state`.
        """
        from rag.app.notes.names import notes_like

        with self._snapshot.manifest() as manifest:
            found = notes_like(manifest, pattern)
        return [f"{named.note.row.vault}/{named.note.row.path}" for named in found]

    def lines_with(
        self, test: Callable[[str], object], filters: QueryFilters | None, order: str = ""
    ) -> Iterator[MatchingLines]:
        """Yield the notes that have lines of a kind; see `rag.app.notes.lines.matching_lines`."""
        from rag.app.notes.lines import matching_lines

        return matching_lines(self._snapshot, test, filters, order)

    def count_notes(self, kind: str, of: str = "") -> dict[str, int]:
        """Return how many notes have each tag, property, folder or vault; see `rag.app.overview`.

        :param kind: `tags`, `properties`, `folders` or `vaults`.
        :param of: only what is below this; of a property, its values.
        """
        from rag.app import overview

        count = {
            "tags": overview.count_tags,
            "properties": overview.count_properties,
            "folders": overview.count_folders,
            "vaults": overview.count_vaults,
        }[kind]
        with self._snapshot.manifest() as manifest:
            return count(manifest, of)

    def warm_up(self) -> None:
        """Do what the first search does once, so that it need not; no server of models is asked.

        :raises IndexUnavailableError: as for `state`.
        """
        from rag.search.pipeline import create_search_pipeline

        # What a search imports while it runs. Two first ones at once would do so at the same time.
        for name in ("haystack.tools.toolset", "rapidfuzz.distance", "rapidfuzz.process"):
            import_module(name)
        _ = self._snapshot.state
        create_search_pipeline(self._snapshot.store, self._snapshot.config).close()

    def warm_up_answers(self) -> None:
        """Do what the first question does once; no model is asked.

        :raises IndexUnavailableError: as for `state`.
        """
        from rag.qa.pipeline import create_qa_pipeline

        create_qa_pipeline(self._snapshot.store, self._snapshot.config).close()

    def close(self) -> None:
        """Release the index and the models' connections."""
        self._snapshot.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""Schema 1: the JSON of every report, which all front-ends return."""

from __future__ import annotations

from dataclasses import asdict
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from rag.exceptions import RAGError

# The class of a report -> what writes it. A report brings what made it, and its writer is
# imported with it: who prints one has no need of the others.
_WRITERS = {
    "SearchReport": "results.search_to_json",
    "AnswerReport": "answers.report_to_json",
    "PlanReport": "plans.report_to_json",
    "TransformReport": "plans.transform_to_json",
    "AuditReport": "plans.audit_to_json",
    "RecordReport": "plans.one_record_to_json",
    "Replay": "plans.replay_to_json",
    "TurnReport": "chat.turn_to_json",
    "SessionsReport": "chat.sessions_to_json",
    "FactsReport": "chat.facts_to_json",
    "RememberedReport": "chat.remembered_to_json",
    "ForgottenReport": "chat.forgotten_to_json",
    "SourcesReport": "chat.sources_to_json",
    "ClearedReport": "chat.cleared_to_json",
    "ChatCommandsReport": "chat.commands_to_json",
    "LinksReport": "related.links_to_json",
    "NoteReport": "index.note_to_json",
    "NotesReport": "index.notes_to_json",
    "EvaluationReport": "evaluation.report_to_json",
    "SyncReport": "sync.sync_to_json",
    "SyncPreview": "sync.preview_to_json",
    "SyncCopy": "sync.copy_to_json",
    "VaultsReport": "index.vaults_to_json",
    "VaultChange": "index.vault_change_to_json",
    "SettingsReport": "setup.settings_to_json",
    "TrustReport": "setup.trust_to_json",
    "TrustListReport": "setup.trust_list_to_json",
    "TrustRemovedReport": "setup.trust_removed_to_json",
    "WarmReport": "setup.warm_to_json",
    "StoppedReport": "setup.stopped_to_json",
    "ClientConfig": "setup.client_config_to_json",
    "StatusReport": "index.status_to_json",
}
# Reports that have the fields of schema 1.
_AS_THEY_ARE = {"InstallReport", "RemovalReport", "ServiceReport"}


@runtime_checkable
class _WithJSON(Protocol):
    """A report that is named as schema 1 names it."""

    def to_json(self) -> dict[str, Any]: ...


def to_json(report: object) -> dict[str, Any]:
    """Return a report, or an error, as schema 1 has it.

    :raises TypeError: for what is neither.
    """
    name = type(report).__name__
    if name in _AS_THEY_ARE:
        return asdict(report)  # type: ignore[call-overload, no-any-return]
    if isinstance(report, _WithJSON):
        return report.to_json()
    writer = "errors.report_to_json" if isinstance(report, RAGError) else _WRITERS.get(name)
    if writer is None:
        raise TypeError(f"no report: {name}")
    module, _, function = writer.partition(".")
    found: dict[str, Any] = getattr(import_module(f"{__name__}.{module}"), function)(report)
    return found

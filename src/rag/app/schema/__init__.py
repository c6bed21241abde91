"""Schema 1: the JSON of every report, which all front-ends return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from rag.exceptions import Message, RAGError

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
    "RelatedReport": "related.related_to_json",
    "NoteReport": "index.note_to_json",
    "NotesReport": "index.notes_to_json",
    "EvaluationReport": "evaluation.report_to_json",
    "SyncReport": "sync.sync_to_json",
    "SyncPreview": "sync.preview_to_json",
    "SyncCopy": "sync.copy_to_json",
    "VaultsReport": "index.vaults_to_json",
    "VaultChange": "index.vault_change_to_json",
    "SetupReport": "setup.setup_to_json",
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


def to_json(report: object, wording: Callable[[str], str] | None = None) -> dict[str, Any]:
    """Return a report, or an error, as schema 1 has it.

    :param wording: adds to a text what mends it, as this front-end names it; without it texts
        name no command, and beside a hint stand the code of its `remedy` and its `subject`.
    :raises TypeError: for what is neither.
    """
    name = type(report).__name__
    if name in _AS_THEY_ARE:
        fields = asdict(report)  # type: ignore[call-overload]
        return _worded(fields, wording) if wording else _with_remedies(fields)  # type: ignore
    writer = "errors.report_to_json" if isinstance(report, RAGError) else _WRITERS.get(name)
    if isinstance(report, _WithJSON):
        found = report.to_json()
    elif writer:
        module, _, function = writer.partition(".")
        found = getattr(import_module(f"{__name__}.{module}"), function)(report)
    else:
        raise TypeError(f"no report: {name}")
    made: dict[str, Any] = _worded(found, wording) if wording else _with_remedies(found)
    return made


def _with_remedies(data: Any) -> Any:
    """Return JSON in which a hint has the code of its remedy, and what it is for, beside it."""
    if isinstance(data, dict):
        made = {name: _with_remedies(value) for name, value in data.items()}
        hint = data.get("hint")
        if isinstance(hint, Message) and hint.remedy:
            made["remedy"] = hint.remedy.value
            if hint.subject:
                made["subject"] = hint.subject
        return made
    return [_with_remedies(value) for value in data] if isinstance(data, (list, tuple)) else data


def _worded(data: Any, wording: Callable[[str], str]) -> Any:
    """Return JSON in which every text is worded."""
    if isinstance(data, str):
        return wording(data)
    if isinstance(data, dict):
        return {name: _worded(value, wording) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_worded(value, wording) for value in data]
    return data

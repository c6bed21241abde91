"""Conversations in schema 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.app.chat import (
        ChatCommandsReport,
        ClearedReport,
        FactsReport,
        ForgottenReport,
        RememberedReport,
        SessionsReport,
        SourcesReport,
        TurnReport,
    )


def turn_to_json(report: TurnReport) -> dict[str, Any]:
    """Return a question and its answer."""
    from rag.app.schema.answers import answer_to_json, context_to_json
    from rag.app.schema.plans import plan_to_json

    relaxed = report.answer.relaxed
    return {
        "session": report.session,
        "question": report.question,
        "asked": report.asked,
        **answer_to_json(report.answer, report.think),
        **({"plan": plan_to_json(report.plan, relaxed)} if report.plan else {}),
        **({"context": context_to_json(report.answer)} if report.explain else {}),
    }


def sessions_to_json(report: SessionsReport) -> dict[str, Any]:
    """Return the conversations that are kept."""
    return {
        "sessions": [
            {
                "id": session.id,
                "questions": [turn.question for turn in session.turns],
                "notices": session.notices,
            }
            for session in report.sessions
        ]
    }


def facts_to_json(report: FactsReport) -> dict[str, Any]:
    """Return what is remembered of the user."""
    facts = [
        {"number": number, "text": fact.content, "at": fact.created_at.isoformat()}
        for number, fact in enumerate(report.facts, 1)
    ]
    return {"command": "facts", "facts": facts}


def remembered_to_json(report: RememberedReport) -> dict[str, Any]:
    """Return a fact that is kept."""
    return {"command": "remember", "remembered": report.text}


def forgotten_to_json(report: ForgottenReport) -> dict[str, Any]:
    """Return a fact that is forgotten."""
    return {"command": "forget", "forgotten": report.text}


def sources_to_json(report: SourcesReport) -> dict[str, Any]:
    """Return the sources of the last answer."""
    sources = [
        {
            "number": number,
            "vault": source.vault,
            "path": source.file_path,
            "line": source.line,
            "title": source.title,
        }
        for number, source in enumerate(report.sources or [], 1)
    ]
    return {"command": "sources", "sources": sources}


def cleared_to_json(report: ClearedReport) -> dict[str, Any]:
    """Return the conversation that begins."""
    return {"command": "clear", "session": report.session, "old": report.old}


def commands_to_json(report: ChatCommandsReport) -> dict[str, Any]:
    """Return the commands of a conversation."""
    return {"command": "help", "commands": dict(report.commands)}

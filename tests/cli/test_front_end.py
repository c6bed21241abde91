"""A front-end of few lines, which prints what the commands print with `--json`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.app.ask import ask
from rag.app.chat import kept_sessions
from rag.app.doctor import DoctorReport, run_checks
from rag.app.notes import get_note
from rag.app.plan import plan, plan_search
from rag.app.requests import AskRequest, SearchRequest, SyncRequest
from rag.app.search import search
from rag.app.status import read_status
from rag.app.sync import preview_sync
from rag.app.vaults import list_vaults, remove_vault
from rag.app.workspace import Workspace
from rag.config import load_config
from rag.exceptions import UsageError
from rag.search.results import QueryFilters
from rag.support.json_reports import to_json

Run = Callable[..., Any]
_PASSING = ("elapsed_ms", "latency_ms", "timings", "audit")

FRONT_END: dict[str, Callable[[Workspace], Any]] = {
    "search backups": lambda ws: search(ws, SearchRequest("backups")),
    "search backups --chunks --explain -k 2": lambda ws: search(
        ws, SearchRequest("backups", top_k=2, chunks=True, explain=True)
    ),
    "search backups --vault work": lambda ws: search(
        ws, SearchRequest("backups", QueryFilters(vaults=["work"]))
    ),
    "ask backups": lambda ws: ask(ws, AskRequest("backups")),
    "get Backups": lambda ws: get_note(ws.config, "Backups"),
    "get Backups:1-2": lambda ws: get_note(ws.config, "Backups:1-2"),
    "status": lambda ws: read_status(ws.config),
    "plan backups": lambda ws: plan(ws, "backups"),
    "transform backups": lambda ws: plan_search(ws.config, "backups"),
    "vault list": lambda ws: list_vaults(ws.config),
    "index --dry-run": lambda ws: preview_sync(ws.config, SyncRequest()),
    "chat --list": lambda ws: kept_sessions(ws.config),
}


def lasting(found: Any) -> Any:
    """Return JSON without what differs from run to run."""
    if isinstance(found, dict):
        return {k: lasting(v) for k, v in found.items() if k not in _PASSING}
    return [lasting(item) for item in found] if isinstance(found, list) else found


@pytest.mark.parametrize("command", FRONT_END)
def test_it_gives_the_json_of_the_command(command: str, library: Path, rag: Run) -> None:
    printed = rag(*command.split(), "--json").json
    with Workspace(load_config()) as workspace:
        report = to_json(FRONT_END[command](workspace))
    printed.pop("schema")
    assert lasting(json.loads(json.dumps(report))) == lasting(printed)


def test_all_requests_of_a_workspace_are_answered_from_one_snapshot(
    tmp_path: Path, rag: Run
) -> None:
    notes = tmp_path / "own"
    notes.mkdir()
    (notes / "Old.md").write_text("# Wombat\n\nA wombat digs.\n")
    rag("index", notes)
    with Workspace(load_config()) as workspace:
        assert search(workspace, SearchRequest("quokka")).response.total == 0
        (notes / "New.md").write_text("# Quokka\n\nA quokka smiles.\n")
        rag("index")
        assert search(workspace, SearchRequest("quokka")).response.total == 0
    with Workspace(load_config()) as workspace:
        assert search(workspace, SearchRequest("quokka")).response.total == 1


def test_each_check_has_json_as_soon_as_it_is_known_and_all_have(library: Path, rag: Run) -> None:
    with Workspace(load_config()) as workspace:
        each = [to_json(check) for check in run_checks(workspace.config)]
        whole = to_json(DoctorReport([*run_checks(workspace.config)]))
    printed = rag("doctor", "--json").json
    assert {"schema", *whole} == {*printed}
    assert without_sizes(each) == without_sizes(whole["checks"])
    assert without_sizes(each) == without_sizes(printed["checks"])


def without_sizes(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return checks without sizes on the disk.

    Other programs fill the disk meanwhile, and the engine's files take and give back blocks
    while they are open.
    """
    return [
        {key: value for key, value in check.items() if key not in {"bytes", "message"}}
        if check["name"] == "index"
        else check
        for check in checks
        if check["name"] != "disk"
    ]


def test_the_hint_of_an_error_names_the_command(library: Path) -> None:
    with Workspace(load_config()) as workspace, pytest.raises(UsageError) as caught:
        remove_vault(workspace.config, "wrk")
    assert to_json(caught.value)["error"] == {
        "kind": "usage",
        "message": "no vault named 'wrk'",
        "hint": "Did you mean: work? `rag vault list` shows all.",
    }

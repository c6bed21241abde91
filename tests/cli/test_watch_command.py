"""`rag watch`, and what `rag status` says of it; how it watches is tried in tests/app."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rag.app.watch_state import WatcherStatus, WatchRun, be_only_watcher, write_watcher
from rag.config import load_config

Rag = Callable[..., Any]
NOON = "2026-11-25T12:00:00+00:00"
STATUS = WatcherStatus(
    7, NOON, "2999-01-01T00:00:00+00:00", last_event=NOON, last_run=WatchRun(NOON, 400, 0, 2, "")
)


@pytest.fixture
def indexed(rag, write_notes) -> None:
    """An index of one note."""
    rag("index", str(write_notes("work", {"Backups.md": "# Backups\n\nNinety days.\n"})))


def test_without_a_vault_it_says_what_makes_one(rag):
    ran = rag("watch")
    assert (ran.code, "there is nothing to watch" in ran.err) == (2, True)
    assert "`rag index FOLDER`" in ran.err


def test_beside_another_one_it_ends(rag, indexed):
    with be_only_watcher(load_config()):
        ran = rag("watch")
    assert (ran.code, "the notes are watched already" in ran.err) == (75, True)


def test_status_shows_a_watcher_that_runs(rag, indexed):
    with be_only_watcher(load_config()):
        write_watcher(load_config(), replace(STATUS, polled=["/net/notes"]))
        shown = rag("status").out
    assert "watcher   process 7 since 2026-11-25 12:00\n" in shown
    last = "last event 2026-11-25 12:00, last run 2026-11-25 12:00 (0.4 s): 2 notes changed"
    assert last in shown
    [indexed_at] = re.findall(r"^indexed   (.*), up to date$", shown, re.MULTILINE)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", indexed_at)
    assert "/net/notes: looked at every few seconds" in shown


def test_status_says_of_one_that_ended_unexpectedly_what_starts_it(rag, indexed):
    write_watcher(load_config(), replace(STATUS, heartbeat=NOON))
    shown = rag("status").out
    assert "watcher   ended unexpectedly after 2026-11-25 12:00 (`rag watch`)\n" in shown
    assert "last run" not in shown

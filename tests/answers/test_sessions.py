"""Conversations on disk: what is kept, who may read it, and what a damaged file is."""

import json
import os
import stat
from datetime import datetime

import pytest

from rag.exceptions import NotFoundError, UsageError
from rag.qa.sessions import Session, Turn, latest_session, list_sessions, new_session, open_session

NOW = datetime(2026, 11, 21, 9, 30, 5)
SOURCE = {"number": 1, "vault": "work", "path": "a.md", "line": 3, "title": "A"}
TURN = Turn("and now?", "backups now?", "証明書 [1]", sources=[SOURCE])


@pytest.fixture
def session(tmp_path) -> Session:
    """A conversation of one turn."""
    session = new_session(tmp_path / "data", NOW)
    session.add(TURN)
    return session


def test_a_turn_comes_back_as_it_was(session, tmp_path):
    session.add(Turn("?", "?", "", found=False, partial=True))
    again = open_session(tmp_path / "data", session.id)
    assert (again.turns, again.notices) == (session.turns, [])
    assert session.id == "2026-11-21-093005"


@pytest.mark.parametrize("sources", [5, ["a.md"], [{**SOURCE, "line": "3"}], [{"number": 1}]])
def test_a_turn_with_damaged_sources_is_passed_over(session, tmp_path, sources):
    damaged = {"question": "q", "asked": "q", "answer": "a", "sources": sources}
    with session.path.open("a") as file:
        file.write(json.dumps(damaged) + "\n")
    again = open_session(tmp_path / "data", session.id)
    assert again.turns == [TURN]
    assert again.notices == [f"passed over a damaged line of {session.path}"]


def test_only_its_owner_may_read_it(tmp_path):
    session = new_session(tmp_path / "data")
    session.add(TURN)
    assert stat.S_IMODE(session.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(session.path.parent.stat().st_mode) == 0o700


def test_two_of_the_same_second_have_two_names(tmp_path):
    first = new_session(tmp_path / "data", NOW)
    first.add(TURN)
    assert new_session(tmp_path / "data", NOW).id == f"{first.id}-2"


def test_a_damaged_last_line_is_passed_over_and_told_and_written_after(session, tmp_path):
    with session.path.open("a") as file:
        file.write('{"question": "ha')
    again = open_session(tmp_path / "data", session.id)
    assert again.turns == [TURN]
    assert "passed over a damaged line" in again.notices[0]
    again.add(TURN)
    assert open_session(tmp_path / "data", session.id).turns == [TURN, TURN]


@pytest.mark.parametrize(
    "line",
    ["null", "[]", "3", '{"question": 1}', '{"question": 1, "asked": 2, "answer": 3}', "[" * 9999],
)
def test_lines_that_are_no_turn_are_passed_over(session, tmp_path, line):
    with session.path.open("a") as file:
        file.write(line + "\n\x00\xff\n")
    session.add(TURN)
    found = open_session(tmp_path / "data", session.id)
    assert (found.turns, len(found.notices)) == ([TURN, TURN], 1)


def test_what_later_versions_add_to_a_turn_is_no_damage(session, tmp_path):
    text = session.path.read_text().replace('"question"', '"mood": "good", "question"')
    session.path.write_text(text)
    assert open_session(tmp_path / "data", session.id).turns == [TURN]


@pytest.mark.parametrize("head", ['{"version": 2}', "", "{}", "[]", "\x00\x01", "null"])
def test_another_version_or_no_conversation_is_refused(session, tmp_path, head):
    _, _, rest = session.path.read_text().partition("\n")
    session.path.write_text(f"{head}\n{rest}")
    with pytest.raises(UsageError, match=r"version|no conversation"):
        open_session(tmp_path / "data", session.id)
    assert list_sessions(tmp_path / "data")[0].notices


@pytest.mark.parametrize("name", ["2020-01-01", "../secret", "", "a/b", ".", "x" * 300])
def test_a_name_that_is_none_is_not_found(tmp_path, name):
    (tmp_path / "data" / "chats").mkdir(parents=True)
    (tmp_path / "secret.jsonl").write_text(json.dumps({"version": 1}) + "\n")
    with pytest.raises(NotFoundError, match="no conversation") as caught:
        open_session(tmp_path / "data", name)
    assert "rag chat --list" in caught.value.hint


def test_the_latest_is_the_one_that_was_added_to_last(tmp_path):
    old, new = (
        new_session(tmp_path / "data", NOW),
        new_session(tmp_path / "data", NOW.replace(year=2027)),
    )
    for session, when in ((new, 10), (old, 20)):
        session.add(TURN)
        os.utime(session.path, (when, when))
    assert latest_session(tmp_path / "data").id == old.id
    assert [session.id for session in list_sessions(tmp_path / "data")] == [old.id, new.id]

"""File times of a cloned vault are no dates: when they are taken for those of a copy."""

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rag.config import RAGConfig
from rag.index.lookup import open_manifest
from rag.vault.discovery import own_time, spans_of_copies
from tables import rows

MINUTE = 60_000_000_000
CLONED = datetime(2026, 3, 1, 9)
LATER = datetime(2026, 3, 5, 10)


def test_a_minute_that_holds_most_files_is_that_of_a_copy():
    assert spans_of_copies([5, 1, 2, 3, 4]) == ((1, 1 + MINUTE),)
    assert spans_of_copies([1, 2, 3, 4, 5, 10 * MINUTE]) == ((1, 1 + MINUTE),)


@rows(
    "times",
    [],
    [1, 2, 3, 4],
    [1, 2, 3, 4, 10 * MINUTE],
    [0, 2 * MINUTE, 4 * MINUTE, 6 * MINUTE, 8 * MINUTE],
    [*range(5), *range(10 * MINUTE, 60 * MINUTE, 10 * MINUTE)],
)
def test_few_files_and_files_of_several_times_are_no_copy(times):
    assert spans_of_copies(times) == ()


def test_what_was_found_stays_when_most_files_were_edited():
    found = spans_of_copies([1, 2, 3, 4, 5])
    assert spans_of_copies([1, 2, *range(MINUTE * 5, MINUTE * 50, MINUTE * 9)], found) == found


def test_a_time_outside_the_minutes_is_a_notes_own():
    assert own_time(30.0, [(0, MINUTE)]) is None and own_time(61.0, [(0, MINUTE)]) == 61.0
    assert own_time(None, []) is None


# Runs of the indexer


@pytest.fixture
def clone(write_notes) -> Path:
    folder = write_notes("work", {f"n{i}.md": f"text {i} #ops" for i in range(6)})
    (folder / "2026-01-15.md").write_text("daily")
    (folder / "own.md").write_text("---\ncreated: 2020-01-01\n---\nown")
    for number, file in enumerate(sorted(folder.iterdir())):
        touch(file, CLONED + timedelta(seconds=number))
    return folder


def touch(file: Path, when: datetime) -> None:
    os.utime(file, (when.timestamp(), when.timestamp()))


def dates(config: RAGConfig, *names: str) -> list[tuple[str, str]]:
    with open_manifest(config) as manifest:
        rows = [manifest.note("work", name) for name in names]
    return [(row.created[:10], row.modified[:10]) for row in rows if row]


def test_notes_of_a_clone_have_only_the_dates_they_name(clone, refresh, config):
    refresh(work=clone)
    names = ("n1.md", "2026-01-15.md", "own.md")
    assert dates(config, *names) == [("", ""), ("2026-01-15", ""), ("2020-01-01", "")]


def test_a_note_edited_after_the_clone_has_the_date_of_its_file(clone, refresh, config):
    (clone / "n1.md").write_text("edited")
    touch(clone / "n1.md", LATER)
    refresh(work=clone)
    assert dates(config, "n1.md", "n2.md") == [("2026-03-05", "2026-03-05"), ("", "")]


@pytest.mark.parametrize("rebuild", [False, True])
def test_it_stays_so_whatever_is_edited_later(clone, refresh, config, rebuild):
    refresh(work=clone)
    for number in range(5):
        (clone / f"n{number}.md").write_text("edited")
        touch(clone / f"n{number}.md", LATER + timedelta(days=number))
        refresh(work=clone)
    refresh(work=clone, rebuild=rebuild)
    assert dates(config, "n0.md", "n4.md", "n5.md") == [
        *(("2026-03-05", "2026-03-05"), ("2026-03-09", "2026-03-09"), ("", ""))
    ]

"""File times of a cloned vault are no dates: when they are taken for those of a copy."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.config import RAGConfig
from rag.index.lookup import open_manifest
from rag.index.note_rows import own_time, spans_of_copies

MINUTE = 60_000_000_000
CLONED = datetime(2026, 3, 1, 9)
LATER = datetime(2026, 3, 5, 10)


def test_a_minute_that_holds_most_files_is_that_of_a_copy() -> None:
    assert spans_of_copies([5, 1, 2, 3, 4]) == ((1, 1 + MINUTE),)
    assert spans_of_copies([1, 2, 3, 4, 5, 10 * MINUTE]) == ((1, 1 + MINUTE),)


@pytest.mark.parametrize(
    "times",
    [
        [],
        [1, 2, 3, 4],
        [1, 2, 3, 4, 10 * MINUTE],
        [0, 2 * MINUTE, 4 * MINUTE, 6 * MINUTE, 8 * MINUTE],
        [*range(5), *range(10 * MINUTE, 60 * MINUTE, 10 * MINUTE)],
    ],
)
def test_few_files_and_files_of_several_times_are_no_copy(times: list[int]) -> None:
    assert spans_of_copies(times) == ()


def test_what_was_found_stays_when_most_files_were_edited() -> None:
    found = spans_of_copies([1, 2, 3, 4, 5])
    assert spans_of_copies([1, 2, *range(MINUTE * 5, MINUTE * 50, MINUTE * 9)], found) == found


def test_a_second_copy_is_another_minute() -> None:
    first = spans_of_copies([1, 2, 3, 4, 5])
    again = [9 * MINUTE + n for n in range(5)]
    assert spans_of_copies(again, first) == (*first, (9 * MINUTE, 10 * MINUTE))


@given(st.lists(st.integers(0, 20 * MINUTE), max_size=12))
def test_what_is_found_once_is_found_again_and_nothing_else(times: list[int]) -> None:
    found = spans_of_copies(times)
    assert spans_of_copies(times, found) == found
    for first, last in found:
        count = sum(first <= time <= last for time in times)
        assert count >= 5 and 2 * count > len(times)


def test_a_time_outside_the_minutes_is_a_notes_own() -> None:
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


def test_notes_of_a_clone_have_only_the_dates_they_name(clone, refresh, config) -> None:
    refresh(work=clone)
    names = ("n1.md", "2026-01-15.md", "own.md")
    assert dates(config, *names) == [("", ""), ("2026-01-15", ""), ("2020-01-01", "")]


def test_a_note_edited_after_the_clone_has_the_date_of_its_file(clone, refresh, config) -> None:
    (clone / "n1.md").write_text("edited")
    touch(clone / "n1.md", LATER)
    refresh(work=clone)
    assert dates(config, "n1.md", "n2.md") == [("2026-03-05", "2026-03-05"), ("", "")]


@pytest.mark.parametrize("rebuild", [False, True])
def test_it_stays_so_whatever_is_edited_later(clone, refresh, config, rebuild) -> None:
    refresh(work=clone)
    for number in range(5):
        (clone / f"n{number}.md").write_text("edited")
        touch(clone / f"n{number}.md", LATER + timedelta(days=number))
        refresh(work=clone)
    refresh(work=clone, rebuild=rebuild)
    assert dates(config, "n0.md", "n4.md", "n5.md") == [
        *(("2026-03-05", "2026-03-05"), ("2026-03-09", "2026-03-09"), ("", ""))
    ]


def test_notes_that_were_taken_for_others_are_read_again(clone, refresh, config) -> None:
    more = sorted(clone.iterdir())[4:]
    texts = {file: file.read_text() for file in more}
    for file in more:
        file.unlink()
    refresh(work=clone)
    assert dates(config, "n1.md") == [("2026-03-01", "2026-03-01")]
    for file, text in texts.items():
        file.write_text(text)
        touch(file, CLONED)
    report = refresh(work=clone)
    assert dates(config, "n1.md") == [("", "")]
    assert report.vaults["work"].changed == 0
    assert not refresh(work=clone).published


def test_large_vaults_are_read_alike(write_notes, refresh, config) -> None:
    folder = write_notes("work", {f"n{i}.md": f"word{i} " * 20_000 for i in range(12)})
    for file in folder.iterdir():
        touch(file, CLONED)
    refresh(work=folder)
    assert dates(config, "n1.md") == [("", "")]

"""One file, as it is read to be indexed."""

import json
from pathlib import Path

import pytest

from rag.config import IndexConfig
from rag.indexing.note_reader import NoteReader
from rag.vault import scan_folder


def problems_of(folder: Path) -> list[str]:
    [file] = scan_folder(str(folder)).notes
    return NoteReader(str(folder), "v", IndexConfig(max_note_mb=0.001)).open(file)[1].problems


def test_of_a_note_that_is_too_large_the_first_lines_are_read(tmp_path):
    (tmp_path / "a.md").write_text("A line.\n" * 200)
    assert problems_of(tmp_path) == [
        "larger than 0.001 MB (index.max_note_mb): only the first 1,000 of 1,600 bytes are indexed"
    ]


def test_a_note_of_one_long_line_is_read_up_to_a_character(tmp_path):
    (tmp_path / "a.md").write_text("# 題\n" + "あ" * 1_000, "utf-8")
    assert problems_of(tmp_path) == [
        "larger than 0.001 MB (index.max_note_mb): only the first 999 of 3,006 bytes are indexed"
    ]


@pytest.mark.parametrize("name", ["board.canvas", "Board.CANVAS", "tasks.base"])
def test_of_a_file_that_is_no_text_to_read_no_part_is_taken_for_a_damaged_one(tmp_path, name):
    (tmp_path / name).write_text(json.dumps({"nodes": [{"type": "text", "text": "a " * 2_000}]}))
    assert problems_of(tmp_path) == [
        "larger than 0.001 MB (index.max_note_mb): its text is not read"
    ]

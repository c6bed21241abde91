"""Commands on notes that became something else after they were indexed."""

from __future__ import annotations

import os

import pytest

OTHERS = {
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", OTHERS)
def test_get_says_that_it_cannot_be_read(program, indexed, kind):
    (indexed / "Backups.md").unlink()
    OTHERS[kind](indexed / "Backups.md")
    ran = program("get", "Backups", timeout=60)
    assert (ran.code, ran.out) == (1, "")
    assert "work/Backups.md is in the index, but its file cannot be read" in ran.err


def test_a_note_that_leads_out_of_its_vault_now_is_not_printed(rag, indexed, tmp_path):
    (tmp_path / "secret.md").write_text("# Secret\n")
    (indexed / "Backups.md").unlink()
    (indexed / "Backups.md").symlink_to(tmp_path / "secret.md")
    ran = rag("get", "Backups")
    assert (ran.code, ran.out) == (1, "")
    assert "work/Backups.md is in the index, but its file cannot be read" in ran.err


def test_a_note_too_large_to_print_is_refused(rag, indexed):
    with (indexed / "Backups.md").open("wb") as file:
        file.truncate(50_000_001)
    ran = rag("get", "Backups")
    assert (ran.code, ran.out) == (2, "")
    assert "work/Backups.md is larger than 50 MB" in ran.err


def test_a_note_that_became_a_pipe_is_taken_out_of_the_index(program, indexed):
    (indexed / "Backups.md").unlink()
    os.mkfifo(indexed / "Backups.md")
    assert program("index", "-q", indexed, timeout=60).code == 0
    assert program("search", "restore script", "--paths", timeout=60).out == ""


def test_problems_name_the_bound_that_a_note_went_beyond(rag, indexed):
    (indexed / "Tags.md").write_text(" ".join(f"#t{number}" for number in range(1200)))
    assert rag("index", "-q", indexed).code == 0
    assert "more than 1,000 tags: only the first 1,000 are kept" in rag("status", "--problems").out

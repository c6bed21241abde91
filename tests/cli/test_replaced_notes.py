"""Commands on notes that became something else after they were indexed."""

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


def test_a_note_that_became_a_pipe_is_taken_out_of_the_index(program, rag, indexed):
    (indexed / "Backups.md").unlink()
    os.mkfifo(indexed / "Backups.md")
    assert program("index", "-q", indexed, timeout=60).code == 0
    assert rag("search", "restore script", "--paths").out == ""

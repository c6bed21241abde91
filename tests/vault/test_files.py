"""Which files of a folder are notes: `scan_folder`."""

import os
import unicodedata
from pathlib import Path

import pytest

from disk_files import write_all
from rag.exceptions import IndexingError
from rag.vault import scan_folder

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def vault(tmp_path) -> Path:
    folder = tmp_path / "金庫"
    folder.mkdir()
    return folder


def fill(vault: Path, *names: str) -> None:
    write_all(vault, {name: f"# {name}\n" for name in names})


def paths(vault: Path, *ignore: str) -> list[str]:
    return [note.path for note in scan_folder(str(vault), ignore).notes]


def test_notes_are_the_markdown_files_of_all_folders_sorted(vault):
    fill(vault, "b.md", "a.MD", "日記/二月.md", "日記/深い/x.md", "image.png", "b.md.bak", "md")
    assert paths(vault) == ["a.MD", "b.md", "日記/二月.md", "日記/深い/x.md"]


def test_all_kinds_of_notes_are_notes(vault):
    fill(
        vault, "a.md", "b.markdown", "c.canvas", "d.base", "e.excalidraw.md", "f.json", "g.MARKDOWN"
    )
    assert paths(vault) == [
        *("a.md", "b.markdown", "c.canvas", "d.base", "e.excalidraw.md", "g.MARKDOWN")
    ]


def test_a_note_comes_with_its_size_and_time(vault):
    fill(vault, "a.md")
    os.utime(vault / "a.md", ns=(1, 1_700_000_000_123_456_789))
    (note,) = scan_folder(str(vault)).notes
    assert note == ("a.md", "a.md", (vault / "a.md").stat().st_size, note.mtime_ns)
    assert note.mtime_ns == (vault / "a.md").stat().st_mtime_ns


def test_a_pipe_named_like_a_note_is_none(vault):
    os.mkfifo(vault / "pipe.md")
    assert paths(vault) == []


@pytest.mark.parametrize("name", ["missing", "file.md"])
def test_a_vault_that_is_no_folder_is_an_error(vault, name):
    fill(vault, "file.md")
    with pytest.raises(IndexingError, match="cannot list the vault folder"):
        scan_folder(str(vault / name))


# Hidden and ignored


def test_hidden_files_and_folders_are_left_out(vault):
    fill(vault, ".hidden.md", ".obsidian/x.md", ".trash/日記.md", "folder/.git/x.md", "seen.md")
    assert paths(vault) == ["seen.md"]


@pytest.mark.parametrize("name", [".gitignore", ".ragignore"])
def test_ignore_files_are_followed(vault, name):
    fill(vault, "draft-1.md", "下書き/x.md", "keep.md", "folder/draft-2.md", "folder/keep.md")
    (vault / name).write_text("# comment\n\ndraft-*.md\n下書き/\n/folder/keep.md\n", "utf-8")
    assert paths(vault) == ["keep.md"]


def test_a_nested_ignore_file_counts_below_its_folder_only(vault):
    fill(vault, "x.md", "内/x.md", "内/深い/x.md", "内/y.md")
    (vault / "内" / ".gitignore").write_text("x.md\n")
    assert paths(vault) == ["x.md", "内/y.md"]


def test_a_nested_ignore_file_may_take_back_what_an_outer_one_ignores(vault):
    fill(vault, "draft.md", "inner/draft.md", "inner/deep/draft.md", "other/draft.md")
    (vault / ".gitignore").write_text("draft.md\n")
    (vault / "inner" / ".gitignore").write_text("!draft.md\n")
    assert paths(vault) == ["inner/deep/draft.md", "inner/draft.md"]


def test_nothing_comes_back_out_of_an_ignored_folder(vault):
    fill(vault, "out/keep.md", "all/keep.md", "all/drop.md")
    (vault / ".gitignore").write_text("out/\n!out/keep.md\nall/*\n!all/keep.md\n")
    assert paths(vault) == ["all/keep.md"]


def test_ragignore_counts_more_than_gitignore_beside_it(vault):
    fill(vault, "private.md", "public.md")
    (vault / ".ragignore").write_text("!private.md\npublic.md\n")
    (vault / ".gitignore").write_text("private.md\n!public.md\n")
    assert paths(vault) == ["private.md"]


def test_the_configurations_patterns_are_followed(vault):
    fill(vault, "a.md", "テンプレート/t.md", "deep/テンプレート/t.md", "old/2019/x.md", "old/b.md")
    assert paths(vault, "テンプレート/", "old/**/x.md") == ["a.md", "old/b.md"]


def test_a_pattern_that_is_none_is_reported_and_the_others_are_followed(vault):
    fill(vault, "a.md", "b.md")
    (vault / ".gitignore").write_text("a.md\n!\n")
    found = scan_folder(str(vault))
    assert [note.path for note in found.notes] == ["b.md"]
    assert (found.problems, found.notices) == (
        {},
        {".gitignore": "ignore file: not a pattern: '!'"},
    )


def test_an_ignore_file_that_cannot_be_read_is_reported(vault):
    fill(vault, "a.md")
    (vault / ".ragignore").mkdir()
    found = scan_folder(str(vault))
    assert [note.path for note in found.notes] == ["a.md"]
    assert (found.problems, found.notices) == ({}, {".ragignore": "ignore file: Is a directory"})


# Names


def test_names_are_nfc_and_the_disks_own_name_is_kept(vault):
    decomposed = unicodedata.normalize("NFD", "ガイド/プラグイン é.md")
    fill(vault, decomposed)
    (note,) = scan_folder(str(vault)).notes
    assert note.path == "ガイド/プラグイン é.md"
    assert (vault / note.file).read_text("utf-8").startswith("#")


def test_patterns_match_names_in_either_unicode_form(vault):
    fill(vault, unicodedata.normalize("NFD", "ガイド.md"), "プラグイン.md", "a.md")
    assert paths(vault, "ガイド.md", unicodedata.normalize("NFD", "プラグイン.md")) == ["a.md"]


def test_two_files_of_one_nfc_name_are_one_note_and_a_problem(vault):
    fill(vault, "が.md", unicodedata.normalize("NFD", "が.md"))
    if len(list(vault.iterdir())) == 1:
        pytest.skip("this file system takes both names for one")
    found = scan_folder(str(vault))
    assert [(note.path, note.file) for note in found.notes] == [("が.md", "か\u3099.md")]
    assert list(found.problems) == ["が.md"]


def test_a_name_that_is_not_utf_8_is_listed_under_a_name_that_is(vault):
    name = os.fsencode(vault) + b"/caf\xe9.md"
    try:
        Path(os.fsdecode(name)).write_bytes(b"# x\n")
    except OSError:
        pytest.skip("this file system demands UTF-8 names")
    (note,) = scan_folder(str(vault)).notes
    assert note.path == "caf?.md"
    assert os.fsencode(note.file) == b"caf\xe9.md"


# Symbolic links


def test_a_link_to_a_note_or_a_folder_inside_is_left_out(vault):
    fill(vault, "folder/a.md", "folder/.deep/b.md")
    (vault / "1.md").symlink_to(vault / "folder" / "a.md")
    (vault / "deep").symlink_to(vault / "folder" / ".deep", target_is_directory=True)
    found = scan_folder(str(vault))
    assert [note.path for note in found.notes] == ["folder/a.md"]
    assert (found.problems, found.notices) == ({}, {})


def test_links_that_leave_the_vault_are_left_out(vault):
    outside = vault.parent / "outside"
    fill(outside, "secret.md")
    (vault / "file.md").symlink_to(outside / "secret.md")
    (vault / "folder").symlink_to(outside, target_is_directory=True)
    (vault / "up.md").symlink_to("../outside/secret.md")
    assert paths(vault) == []


def test_a_neighbour_whose_name_begins_like_the_vaults_is_outside(vault):
    neighbour = vault.parent / "金庫2"
    fill(neighbour, "a.md")
    (vault / "a.md").symlink_to(neighbour / "a.md")
    (vault / "folder").symlink_to(neighbour, target_is_directory=True)
    found = scan_folder(str(vault))
    assert (found.notes, [*found.notices]) == ([], ["folder"])


def test_links_in_circles_end(vault):
    fill(vault, "folder/a.md")
    (vault / "folder" / "up").symlink_to(vault, target_is_directory=True)
    (vault / "self.md").symlink_to("self.md")
    (vault / "one.md").symlink_to("two.md")
    (vault / "two.md").symlink_to("one.md")
    found = scan_folder(str(vault))
    assert [note.path for note in found.notes] == ["folder/a.md"]
    assert found.problems == {}


def test_the_vault_itself_may_be_a_link(vault):
    fill(vault, "a.md", "folder/b.md")
    (vault / "link.md").symlink_to("a.md")
    entry = vault.parent / "entry"
    entry.symlink_to(vault, target_is_directory=True)
    assert paths(entry) == ["a.md", "folder/b.md"]


def test_a_linked_folder_that_leads_out_is_told(vault):
    fill(vault.parent / "outside", "x.md", "y.md")
    (vault / "folder").symlink_to(vault.parent / "outside", target_is_directory=True)
    found = scan_folder(str(vault))
    assert (found.notes, found.problems) == ([], {})
    why = "this link leads to a folder outside the vault: it is not followed"
    assert found.notices == {"folder": why}
    assert scan_folder(str(vault), ["folder/"]).notices == {}


# What cannot be read


@pytest.mark.skipif(AS_ROOT, reason="root may read every folder")
def test_a_folder_that_may_not_be_listed_is_reported(vault):
    fill(vault, "a.md", "鍵/b.md")
    (vault / "鍵").chmod(0)
    try:
        found = scan_folder(str(vault))
    finally:
        (vault / "鍵").chmod(0o700)
    assert [note.path for note in found.notes] == ["a.md"]
    assert found.problems == {"鍵": "folder cannot be listed: Permission denied"}


@pytest.mark.skipif(AS_ROOT, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_reported_though_its_size_and_time_are_the_same(
    vault,
):
    fill(vault, "a.md", "b.md")
    (vault / "b.md").chmod(0)
    found = scan_folder(str(vault))
    assert [note.path for note in found.notes] == ["a.md"]
    assert found.problems == {"b.md": "Permission denied"}


def test_a_folder_whose_path_is_too_long_is_reported_and_the_rest_is_listed(vault):
    fill(vault, "a.md")
    name = "f" * 200
    parent = os.open(vault, os.O_RDONLY)
    for _ in range(25):  # step by step: no single path may be longer than 4096 bytes
        os.mkdir(name, dir_fd=parent)
        parent, above = os.open(name, os.O_RDONLY, dir_fd=parent), parent
        os.close(above)
    os.close(parent)
    found = scan_folder(str(vault))
    assert [note.path for note in found.notes] == ["a.md"]
    assert list(found.problems.values()) == ["folder cannot be listed: File name too long"]

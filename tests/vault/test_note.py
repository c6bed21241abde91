"""A note as it is read from a file's bytes: `read_note`."""

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.vault import Note, normalize_tags, read_note
from tables import rows

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
VAULTS = SHARED / "vaults"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data")

NOON = datetime(2024, 5, 31, 12, 0, 0)


def note(source: str | bytes, path: str = "日記/My note.md") -> Note:
    raw = source if isinstance(source, bytes) else source.encode()
    return read_note(raw, "v", path, NOON.timestamp())


# Bytes


def test_a_byte_order_mark_does_not_hide_the_front_matter():
    marked = note(b"\xef\xbb\xbf---\ntitle: " + "題名".encode() + b"\n---\n# H\n")
    assert (marked.title, marked.problems) == ("題名", [])
    assert marked.lines[0] == "---"


@rows("encoding", "utf-16-le", "utf-16-be")
def test_utf_16_is_known_by_its_byte_order_mark(encoding):
    wide = note("\ufeff---\ntitle: 題名\n---\n本文 text\n".encode(encoding))
    assert (wide.title, wide.lines[-1], wide.problems) == ("題名", "本文 text", [])


def test_a_nul_becomes_a_space_and_is_reported():
    binary = note("# 題\0名\n".encode())
    assert binary.lines == ["# 題 名"]
    assert binary.problems == ["holds NUL characters; is it a text file?"]


@rows("end", "\n", "\r\n", "\r")
def test_all_line_ends_count_alike(end):
    windows = note(end.join(["---", "title: 題名", "---", "# 見出し", "", "#tag"]) + end)
    assert (windows.title, windows.tags, windows.body_line) == ("題名", ["tag"], 3)
    assert windows.lines == ["---", "title: 題名", "---", "# 見出し", "", "#tag"]


def test_text_is_kept_as_it_is_written():
    written = "ＰＤＦ ﾌﾟﾗｸﾞｲﾝ か\u3099 a\u00a0b\u200bc"
    assert note(written).lines == [written]


# Title


@rows(
    "source, title",
    ("---\ntitle: From front matter\n---\n# H1", "From front matter"),
    ("---\ntitle: '  題\t名 '\n---\n", "題 名"),
    ("---\nTitle: Case\n---\n", "Case"),
    ("---\ntitle: 2024\n---\n", "2024"),
    ("---\ntitle: 2024-05-31\n---\n", "2024-05-31"),
    ("---\ntitle:\n---\n# 見出し", "見出し"),
    ("---\ntitle: [a]\n---\n# 見出し", "見出し"),
    ("---\ntitle: 0x" + "f" * 5000 + "\n---\n# 見出し", "見出し"),
    ("## Two\n# **One**\n# Other", "One"),
    ("題名\n===\n", "題名"),
    ("#\n\ntext", "My note"),
    ("## Only two", "My note"),
    ("見出しなし", "My note"),
)
def test_the_title_is_front_matter_else_first_h1_else_file_name(source, title):
    assert note(source).title == title


# Aliases and tags


@rows(
    "field, aliases",
    ("aliases:", []),
    ("aliases: []", []),
    ("aliases: 別名", ["別名"]),
    ("aliases: one, 二、three", ["one", "二", "three"]),
    ("aliases: [a, null, 3, 2024-01-02, 別]", ["a", "3", "2024-01-02", "別"]),
    ("aliases:\n  - A B\n  - 別名", ["A B", "別名"]),
    ("alias: x", ["x"]),
    ("aliases: {a: b}", []),
)
def test_aliases_may_be_null_scalar_or_mixed(field, aliases):
    assert note(f"---\n{field}\n---\n").aliases == aliases


@rows(
    "field, tags",
    ("tags:", []),
    ("tags: 日記", ["日記"]),
    ("tags: one two, 三、#four", ["one", "two", "三", "four"]),
    ("tags: [A, null, 2024, '#b', ＰＤＦ]", ["a", "2024", "b", "pdf"]),
    ("tags:\n- 料理\n- Cooking", ["料理", "cooking"]),
    ("tag: x", ["x"]),
    ("tags: {a: b}", []),
)
def test_tags_may_be_null_scalar_or_mixed(field, tags):
    assert note(f"---\n{field}\n---\n").tags == tags


def test_tags_of_front_matter_and_text_are_joined():
    assert note("---\ntags: [Work]\n---\n#work #仕事 text").tags == ["work", "仕事"]


@rows(
    "tags, expected",
    (["a/b/c"], ["a/b/c", "a/b", "a"]),
    (["仕事/会議", "仕事/報告"], ["仕事/会議", "仕事", "仕事/報告"]),
    (["/a//b/"], ["a//b", "a"]),
    (["#X", "x"], ["x"]),
    (["ﾀｸﾞ", "か\u3099"], ["タグ", "が"]),
    (["", "#", "/"], []),
)
def test_nested_tags_count_for_their_parents(tags, expected):
    assert normalize_tags(tags) == expected


@settings(max_examples=examples(200))
@given(st.lists(st.text(st.one_of(st.sampled_from("/# \u200b"), st.characters()), max_size=8)))
def test_normalised_tags_stay_as_they_are(tags):
    once = normalize_tags(tags)
    assert set(normalize_tags(once)) == set(once)
    assert all(tag and len(set(once)) == len(once) for tag in once)


# Dates


@rows(
    "field, created",
    ("created: 2024-01-02", "2024-01-02"),
    ("created: 02.01.2024", "2024-01-02"),
    ("created: 2.1.2024 10:30", "2024-01-02T10:30:00"),
    ("date: 2024-01-02 03:04:05", "2024-01-02T03:04:05"),
    ("date: 2024-01-02T03:04:05+09:00", "2024-01-02T03:04:05"),
    ("date: '2024/01/02'", "2024-01-02"),
    ("作成日: 2024-01-02", "2024-01-02"),
    ("date: 2023-01-01\ncreated: 2024-01-02", "2024-01-02"),
    ("created:\ndate: 2024-01-02", "2024-01-02"),
    ("title: x", "2024-05-31T12:00:00"),
)
def test_created_is_front_matter_else_the_files_date(field, created):
    found = note(f"---\n{field}\n---\n")
    assert (found.created, found.problems) == (created, [])


def test_the_files_birth_counts_before_its_last_change():
    found = read_note(b"", "v", "a.md", NOON.timestamp(), NOON.timestamp() - 60)
    assert (found.created, found.modified) == ("2024-05-31T11:59:00", "2024-05-31T12:00:00")


@rows("written", "2024-02-30", "明日", "[2024-01-01]", "{{date}}")
def test_an_impossible_date_is_reported_and_the_files_is_taken(written):
    found = note(f"---\ntitle: T\ndate: {written}\n---\n")
    assert (found.title, found.created) == ("T", "2024-05-31T12:00:00")
    assert any("'date' is not a date" in problem for problem in found.problems)


# Links


def test_links_out_are_kept_once_each():
    assert note("[[B|二]] ![[A]]\n[c](c.md) [[B]]").links == {"B": 1, "A": 1, "c.md": 2}


# Real vaults


@pytest.mark.shared
@needs_shared
def test_every_note_of_the_help_vaults_is_read_without_a_problem():
    files = sorted(VAULTS.rglob("*.md"))
    notes = [read_note(file.read_bytes(), "v", file.name, 0.0) for file in files]
    assert len(notes) == 346
    assert [(found.path, found.problems) for found in notes if found.problems] == []
    assert all(found.title for found in notes)


@pytest.mark.shared
@needs_shared
def test_the_links_of_the_help_vaults_are_found_in_both_languages():
    def linked(vault: str) -> set[str]:
        files = (VAULTS / vault).rglob("*.md")
        notes = [read_note(file.read_bytes(), vault, file.name, 0.0) for file in files]
        return {link.rpartition("/")[2] for found in notes for link in found.links}

    assert {"Internal links", "Properties", "Web viewer"} <= linked("obsidian-help-en")
    assert {"内部リンク", "プロパティ"} <= linked("obsidian-help-ja")

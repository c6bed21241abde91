"""What is printed on a terminal of eighty columns, and of fewer."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.cli.framework.lazy_group import COMMANDS, load_command
from rag.cli.render.console import print_line, say, width, wrapped

COLUMNS = 40


@pytest.fixture
def at_terminal(monkeypatch):
    """Take the streams of the test, which it has once it runs, for a terminal."""

    def begin(columns: int = COLUMNS) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm-256color")
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)

    return begin


def test_a_message_is_broken_between_words(at_terminal, capsys):
    at_terminal()
    words = "12 notes changed since the last index, which `rag index` brings up to date"
    say(words)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert " ".join(lines) == words
    assert all(len(line) <= COLUMNS for line in lines)


def test_further_lines_of_a_list_begin_below_its_text(at_terminal, capsys):
    at_terminal()
    print_line("indexed   2026-11-23T10:00:00, 12 notes changed since", 10)
    first, second = capsys.readouterr().out.splitlines()
    assert (first[:10], second[:11]) == ("indexed   ", " " * 10 + "c")


def test_off_a_terminal_a_message_is_one_line(capsys):
    say("word " * 50)
    assert capsys.readouterr().err.count("\n") == 1


def test_a_word_that_is_too_wide_stays_whole():
    assert wrapped("see /a/very/long/path/indeed now", 12) == "see\n/a/very/long/path/indeed\nnow"


def test_a_japanese_character_fills_two_columns():
    assert wrapped("日本語 の ノート", 8) == "日本語\nの ノー\nト"


def test_japanese_is_broken_between_characters_but_not_inside_a_latin_word():
    text = "質問に最も近いObsidianの文（信頼度 0.55）。"
    assert wrapped(text, 20).split("\n") == ["質問に最も近い", "Obsidianの文（信頼度", "0.55）。"]


def test_no_line_begins_with_a_mark_that_ends_or_ends_with_one_that_begins():
    text = "かきく。けこさ「しす」せ"
    assert wrapped(text, 6).split("\n") == ["かき", "く。け", "こさ", "「し", "す」せ"]


def test_a_path_with_japanese_names_stays_whole_where_a_line_holds_it():
    assert wrapped("番号は ja/日本語/ノート.md:3", 22) == "番号は\nja/日本語/ノート.md:3"


@pytest.mark.inside
@pytest.mark.parametrize("columns", [80, 60])
def test_a_check_of_the_doctor_is_broken_between_words_below_its_text(
    rag, indexed, at_terminal, columns
):
    at_terminal(columns)
    lines = plain(rag("doctor").out).splitlines()
    told = [line for line in lines if "off (ollama.enabled" in line or line.endswith("quotations")]
    assert len(told) == 2
    assert told[1].startswith(" " * 24) and told[1][24] != " "
    assert all(len(line.rstrip()) <= columns for line in lines if "/" not in line)


@pytest.mark.inside
def test_an_answer_is_broken_between_words_of_japanese_too(rag, write_notes, at_terminal):
    text = "証明書の更新は Obsidian だけでなく、すべてのKubernetesクラスタでcertbotを使って行う。"
    write_notes("work", {"証明書.md": f"# 証明書\n\n{text}\n"})
    assert rag("index", "-q", *[write_notes("work", {})]).code == 0
    for columns in range(30, 60):
        at_terminal(columns)
        shown = rag("ask", "証明書の更新は？").out + rag("search", "証明書の更新", "--full").out
        for word in ("Kubernetes", "certbot", "Obsidian"):
            assert plain(shown).count(word) == 2


def plain(text: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", text)


@example("aa a ", 4, 0)
@given(st.text(st.sampled_from("ab 日-"), max_size=60), st.integers(4, 20), st.integers(0, 3))
def test_no_character_is_lost_and_no_line_is_wider_than_a_word(text, columns, indent):
    lines = wrapped(text, columns, indent).split("\n")
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    for line in lines:
        assert width(line) <= columns or len(line.split()) == 1 or not line.strip()


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_no_example_of_a_help_is_broken(rag, name):
    command = load_command(name) if name else None
    groups = [[name, inner] for inner in getattr(command, "commands", {})] or [[name]]
    for words in groups:
        out = rag(*filter(None, words), "--help").out
        examples = [line for line in out.splitlines() if line.startswith("  rag ")]
        assert [line for line in examples if width(line) > 80] == []


def test_titles_are_bold_and_not_dim(rag, library, at_terminal):
    at_terminal(80)
    head = rag("search", "rolling back").out.splitlines()[0]
    assert "\x1b[1mRolling back" in head
    assert "\x1b[2m 1" in head

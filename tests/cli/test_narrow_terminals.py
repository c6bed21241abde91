"""What is printed on a terminal of eighty columns, and of fewer."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.cli.framework.lazy_group import COMMANDS, load_command
from rag.cli.render.console import print_line, say
from rag.cli.render.wrapping import width, wrapped

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
    assert wrapped("日本語 の ノート", 8) == "日本語\nの\nノート"


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

"""The commands of `rag chat`, on stdin as off a terminal, and `--explain`."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from ollama_answers import QUESTION, TRUE
from ollama_server import OllamaServer
from rag.cli.commands.ask import CHAT_HELP, as_command
from tables import rows


@pytest.fixture
def server(server, answer_index, monkeypatch) -> OllamaServer:
    monkeypatch.setenv("RAG_OLLAMA__EMBEDDING_MODEL", "")
    return server


@pytest.fixture
def chat(rag, typed) -> Callable[..., Any]:
    """Type lines into `rag chat`: `chat("/facts", "-q")` types one, with an option."""

    def run(*given: str) -> Any:
        typed(*(line for line in given if not line.startswith("-")))
        return rag("chat", *(option for option in given if option.startswith("-")))

    return run


@pytest.fixture
def objects(chat) -> Callable[..., list[Any]]:
    """The same with --json; one object for each line."""
    return lambda *given: [json.loads(line) for line in chat(*given, "--json").out.splitlines()]


@rows(
    "line, command",
    ("/facts", ("/facts", "")),
    ("/remember  I am\ta nurse", ("/remember", "I am\ta nurse")),
    ("/FORGET 3", ("/forget", "3")),
    ("／ｆａｃｔｓ", ("/facts", "")),
    ("/remember　夜勤が多い", ("/remember", "夜勤が多い")),
    ("/wrong word", ("/wrong", "word")),
    ("/etc/hosts what is it?", None),
    ("/etc/hosts", None),
    ("/a.md says what?", None),
    ("/2 of it?", None),
    ("/", None),
    ("/ facts", None),
    ("//facts", None),
    ("what does /facts do?", None),
    ("-facts", None),
)
def test_a_command_is_a_slash_and_letters_and_anything_else_a_question(line, command):
    assert as_command(line) == command


class TestFacts:
    def test_are_kept_listed_and_forgotten(self, chat, server):
        ran = chat("/remember I am a nurse", "/remember  I work   nights", "/facts", "/forget 1")
        assert ran.out == "  1  I am a nurse\n  2  I work nights\n"
        assert ran.err == (
            "remembered: I am a nurse\nremembered: I work nights\nforgotten: I am a nurse\n"
        )
        assert ran.code == 0
        assert chat("/facts").out == "  1  I work nights\n"
        assert server.requests("/api/chat") == []

    @pytest.mark.parametrize(
        ("line", "said", "code"),
        [
            ("/forget 3", "rag: there is no fact 3: there is 1\n", 1),
            ("/forget tea", "rag: no fact holds 'tea'\n", 1),
            ("/forget", "rag: which fact is to be forgotten?\n", 2),
            ("/remember", "rag: there is nothing to remember\n", 2),
        ],
    )
    def test_a_wrong_number_or_no_word_says_so(self, chat, server, line, said, code):
        ran = chat("/remember I am a nurse", line, "-q")
        assert (ran.code, ran.out) == (code, "")
        assert ran.err.startswith(said)
        assert "/f" in ran.err or "/remember I" in ran.err

    def test_steer_no_terminal(self, chat, server):
        ran = chat("/remember a \x1b[2J\x07b", "/facts")
        assert "\x1b" not in ran.out + ran.err and ran.out == "  1  a b\n"


class TestSources:
    def test_are_printed_as_below_the_answer(self, chat, server):
        server.say(TRUE)
        assert chat(QUESTION, "/sources").out.endswith(
            "\n\n[1] Backups  v/Backups.md:6\n\n[1] Backups  v/Backups.md:6\n"
        )


class TestUnknownCommands:
    @rows("typed, near", ("/fact", "/facts"), ("/source", "/sources"), ("/claer", "/clear"))
    def test_name_the_nearest_and_ask_nobody(self, chat, server, typed, near):
        ran = chat(f"{typed} x")
        assert ran.err.startswith(f"rag: there is no command {typed}\nDid you mean {near}?")
        assert (ran.code, server.requests("/api/chat")) == (2, [])


@rows("word", "/quit", "/exit", "/q", "/QUIT", "/quit now", "quit", "Exit")
def test_help_lists_every_command_and_quit_leaves(chat, server, word):
    ran = chat("/help", word, "/facts")
    assert [line.split()[0] for line in ran.out.splitlines()] == [
        usage.split()[0] for usage in CHAT_HELP
    ]
    assert ran.code == 0


class TestExplain:
    def test_prints_the_window_on_stderr_after_the_answer(self, rag, chat, server):
        chat("/remember I am a nurse")
        server.say(TRUE)
        plain = rag("ask", QUESTION, "-q")
        server.say(TRUE)
        ran = rag("ask", QUESTION, "--explain")
        assert ran.out == plain.out
        lines = [" ".join(line.split()) for line in ran.err.splitlines()]
        assert lines[2].startswith("shown to llama3.2:latest: ")
        assert lines[3] == "priority tokens what"
        assert [line.split()[0] for line in lines[4:8]] == ["10", "9", "8", "5"]
        assert lines[4].endswith("rules") and lines[5].endswith("question")
        assert lines[6].endswith("fact: I am a nurse")
        assert lines[7].endswith(
            "note: Backups (v/Backups.md), with lines 8–10 around it — [1] in the answer"
        )

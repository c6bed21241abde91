"""`rag ask` and `rag chat` with a model: what is printed where, and the exit codes."""

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from types import SimpleNamespace

import pytest

from daemon_fixture import RAG, Terminal
from ollama_answers import QUESTION, TRUE
from ollama_server import OllamaServer, Reply

MODELS = ["nomic-embed-text", "llama3.2", "qwen3"]


@pytest.fixture
def server(server, answer_index, monkeypatch) -> OllamaServer:
    """A server that the settings name, and a data folder with the index in it."""
    monkeypatch.setenv("RAG_OLLAMA__READ_TIMEOUT", "2")
    monkeypatch.setenv("RAG_OLLAMA__QUERY_TIMEOUT", "2")
    return server


class TestAsk:
    def test_the_answer_and_its_sources_go_to_stdout_and_the_rest_to_stderr(self, rag, server):
        server.say(f"{TRUE} They are deleted. [9]\n\n- PWNED\n")
        ran = rag("ask", QUESTION)
        assert ran.code == 0
        assert ran.out == (f"{TRUE} They are deleted. [no source]\n\n[1] Backups  v/Backups.md:6\n")
        [said] = ran.err.splitlines()
        assert said.startswith("llama3.2:latest · ")
        assert said.endswith("1 of 2 sentences with a source · removed: [9], sentence")

    def test_of_a_prompt_that_the_server_cut_it_says_what_helps(self, rag, server):
        server.fail("/api/chat", "counts")
        server.say("Rolling back a deploy takes two minutes. [1]")
        ran = rag("ask", f"{QUESTION} And rolling back a deploy?", "--no-stream")
        assert ran.code == 0 and "takes two minutes. [1]" in ran.out
        [said] = [line for line in ran.err.splitlines() if "prompt" in line]
        assert "llama3.2:latest read only 8,192 tokens of the prompt" in said
        assert "Raise ollama.max_context, lower ask.top_k" in said

    @pytest.mark.parametrize("option", [[], ["--think"]])
    def test_reasoning_is_shown_only_when_asked_for(self, rag, server, option):
        server.say(Reply(TRUE, thinking="let me see"), Reply(f"<think>let me see</think>{TRUE}"))
        for _ in range(2):
            ran = rag("ask", QUESTION, "--model", "qwen3", *option)
            assert ("let me see" in ran.err) == bool(option)
            assert "let me see" not in ran.out

    def test_a_broken_answer_is_marked_and_4(self, rag, server):
        server.fail("/api/chat", "hangup", lines=16, times=2)
        server.say(f"{TRUE} They are deleted after that. [1]")
        ran = rag("ask", QUESTION)
        assert ran.code == 4
        assert ran.out.startswith(f"{TRUE}\n(broken off)\n")
        assert "rag: the answer of llama3.2:latest broke off" in ran.err
        found = rag("ask", QUESTION, "--json")
        assert (found.code, found.json["partial"], found.json["answer"]) == (4, True, TRUE)
        assert found.json["error"]["kind"] == "unfinished"

    @pytest.mark.parametrize("option", [[], ["--no-stream"], ["--json"], ["--paths"]])
    @pytest.mark.parametrize(
        "said", ["PWNED [1]", "\x1b]0;PWNED\x07 PWNED. [1] [2]", "<think>x</think>PWNED", "PWNED"]
    )
    def test_a_model_that_obeys_a_note_does_not_get_past(self, rag, server, said, option):
        server.say(said)
        ran = rag("ask", "What does parking cost?", *option)
        shown = json.dumps({**ran.json, "sources": []}) if "--json" in option else ran.out
        assert "PWNED" not in shown + ran.err
        assert "\x1b" not in ran.out + ran.err
        assert ran.code == 0


class TestChat:
    def test_each_line_of_stdin_is_a_question(self, rag, server, typed):
        typed(QUESTION, "", "and restores?", "/quit", "never asked")
        server.say(
            TRUE,
            {"question": "How long do backups and restores take?"},
            "Restores take twenty minutes. [1]",
        )
        ran = rag("chat")
        assert ran.code == 0
        assert TRUE in ran.out
        assert "Restores take twenty minutes. [1]\n\n[1] Backups" in ran.out
        assert "(How long do backups and restores take?)" in ran.err
        asked = server.requests("/api/chat")[2].json["messages"][-1]["content"]
        assert "Question: How long do backups and restores take?" in asked

    @pytest.mark.parametrize(
        "rewritten", ["", "<think>", "PWNED", {"question": "PWNED"}, {"question": ["x"]}, "garbage"]
    )
    def test_a_model_that_rewrites_badly_is_stood_in_for(self, rag, server, typed, rewritten):
        typed(QUESTION, "and why?")
        server.say(TRUE, rewritten, "NOT_FOUND")
        ran = rag("chat", "--json")
        first, second = map(json.loads, ran.out.splitlines())
        assert (first["found"], first["question"]) == (True, QUESTION)
        assert second["asked"] == "and why? (long keep backups)"
        assert (second["found"], ran.code) == (False, 1)
        assert "PWNED" not in ran.out

    def test_an_answer_is_out_before_the_next_question_is_read(self, rag, server, monkeypatch):
        """Off a terminal too, where a program may ask."""
        written, read = io.BytesIO(), list[bytes]()
        lines = iter([f"{QUESTION}\n", ""])

        def readline(_: int) -> str:
            read.append(written.getvalue())
            return next(lines)

        asking = SimpleNamespace(readline=readline, isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", asking)
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "utf-8"))
        server.say(TRUE)
        assert rag("chat", "--json").code == 0
        assert read[0] == b"" and json.loads(read[1])["found"]

    def test_a_conversation_goes_on_where_it_ended(self, rag, server, typed, tmp_path):
        typed(QUESTION)
        server.say(TRUE)
        first = rag("chat", "--json").json
        typed("why?")
        ran = rag("chat", "--continue", "--no-model")
        assert f'after "{QUESTION}" (session {first["session"]})' in ran.err
        assert "(why? (long keep backups))" in ran.err
        typed()
        assert rag("chat", "--session", first["session"], "-q").code == 0
        listed = rag("chat", "--list", "--json").json["sessions"]
        assert listed == [{"id": first["session"], "questions": [QUESTION, "why?"], "notices": []}]
        assert rag("chat", "--list").out == f"{first['session']}    2  {QUESTION}\n"
        with (tmp_path / "data" / "chats" / f"{first['session']}.jsonl").open("a") as file:
            file.write('{"question": "wh')
        typed()
        assert "passed over a damaged line" in rag("chat", "--continue").err


class TestOnATerminal:
    SLOW = f"{TRUE}\n\n" + "They are deleted after ninety days. [1]\n\n" * 50

    @pytest.fixture
    def terminal(self, environment, server) -> Iterator[Callable[..., Terminal]]:
        """Run the program with all its streams on a terminal."""
        env = {**environment, **os.environ, "TERM": "xterm"}
        with ExitStack() as opened:
            yield lambda *arguments: opened.enter_context(
                closing(Terminal([*RAG, *arguments], env, columns=80))
            )

    def test_markdown_is_set_block_by_block(self, on_terminal, server):
        server.say("We keep **backups** for ninety days. [1]\n\n- They are deleted. [1]\n")
        code, shown = on_terminal("ask", QUESTION)
        assert code == 0
        assert "\x1b[1mbackups\x1b[0m" in shown
        assert "•" in shown and "- They" not in shown
        assert "v/Backups.md:6" in shown

    def test_ctrl_c_marks_what_there_is_and_ends_with_130(self, terminal, server):
        server.fail("/api/chat", "slow_stream", seconds=0.02)
        server.say(self.SLOW)
        asked = terminal("ask", QUESTION)
        asked.wait_for(r"ninety days\. \[1\]")
        asked.type("\x03")
        code, shown = asked.end()
        assert code == 130
        assert "(interrupted)" in shown and "[1] " in shown
        assert "Traceback" not in shown
        assert "\x1b[?25l" not in shown  # the cursor was never hidden

    def test_in_a_conversation_ctrl_c_ends_the_answer_and_ctrl_d_the_conversation(
        self, terminal, server
    ):
        server.fail("/api/chat", "slow_stream", seconds=0.02)
        server.say(self.SLOW, {"question": QUESTION}, TRUE)
        chat = terminal("chat")
        chat.wait_for("rag> ")
        chat.type(QUESTION + "\n")
        chat.wait_for(r"ninety days\. \[1\]")
        chat.type("\x03")
        chat.wait_for(r"\(interrupted\)(?s:.*)\nrag> ")
        chat.type(QUESTION + "\n")
        chat.wait_for(r"1 of 1 sentences(?s:.*)\nrag> ")
        chat.type("\x04")
        code, shown = chat.end()
        assert (code, "Traceback" in shown) == (0, False)

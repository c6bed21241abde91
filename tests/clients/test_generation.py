"""Answers: what is asked for, how they arrive, and what becomes of half an answer."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage

from ollama_server import Reply
from rag.clients import generate_response
from rag.clients.chat_generators import OllamaGenerator
from rag.clients.dialects import OllamaClient
from rag.clients.http_client import Delta, ThinkSplitter
from rag.clients.protocols import RESPONSE, Response
from rag.clients.servers import Endpoint
from rag.config import OllamaConfig
from rag.exceptions import TooLongError, UnfinishedError
from tables import rows

Settings = Callable[..., OllamaConfig]


@pytest.fixture
def chat(settings) -> Any:
    config = settings()
    model = OllamaClient(Endpoint("ollama", "chat", config.url, config.chat_model), config)
    model.backoff = 0.01
    yield model
    model.close()


# -- what is asked for -----------------------------------------------------------------


def test_the_context_is_always_sent_and_nothing_may_be_cut_or_thought(server, chat):
    chat.respond("When?", options={"temperature": 0})
    [request] = server.requests("/api/chat")
    assert request.options == {"num_ctx": 8192, "temperature": 0}
    asked = {name: request.json[name] for name in ("think", "truncate", "shift", "keep_alive")}
    assert asked == {"think": False, "truncate": False, "shift": False, "keep_alive": "10m"}


# -- how it arrives --------------------------------------------------------------------


def test_pieces_arrive_as_they_are_made(server, chat):
    server.fail("/api/chat", "slow_stream", seconds=0.2)
    server.say("one two three")
    is_finished = []
    response = chat.respond("?", lambda _: is_finished.append(server.requests()[-1].finished))
    assert response.text == "one two three"
    assert not is_finished[0]


def test_the_counts_and_the_reason_of_the_end(server, chat):
    response = chat.respond("one two three")
    assert (response.finish_reason, response.tokens) == ("stop", 4)
    assert response.prompt_tokens and response.prompt_tokens > 3
    assert (response.model, response.server) == ("llama3.2", server.url)
    assert 0 < response.seconds < 5 and response.load_seconds > 0


def test_reasoning_is_asked_for_and_kept_apart(server, settings):
    chat = OllamaClient(Endpoint("ollama", "chat", server.url, "qwen3"), settings())
    server.say(Reply("Nine.", thinking="let me see"), Reply("Nine.", thinking="let me see"))
    response = chat.respond("?", think=True)
    assert (response.text, response.thinking) == ("Nine.", "let me see")
    assert chat.respond("?").thinking == ""
    chat.close()


def test_reasoning_that_is_written_into_the_answer_is_taken_out(server, chat):
    server.say(Reply(chunks=["<th", "ink>\nlet me", " see</thi", "nk>\n", "\nNine <think>."]))
    pieces: list[Delta] = []
    response = chat.respond("?", pieces.append)
    assert (response.text, response.thinking) == ("Nine <think>.", "\nlet me see")
    assert "".join(piece.text for piece in pieces) == "Nine <think>."


@rows("size", 1, 2, 3, 50)
@rows(
    "said, answer, thought",
    ("plain", "plain", ""),
    ("", "", ""),
    ("a < b <think>x</think>", "a < b <think>x</think>", ""),
    ("\n<think>why</think>\n\nso", "so", "why"),
    ("<think></think>so", "so", ""),
    ("<think>never ends </thin", "", "never ends </thin"),
    ("<thin", "<thin", ""),
    ("<think>a < b</think>so </think>", "so </think>", "a < b"),
)
def test_reasoning_is_found_wherever_the_stream_is_cut(said, answer, thought, size):
    splitter = ThinkSplitter()
    parts = [splitter.feed(said[at : at + size]) for at in range(0, len(said), size)]
    parts.append(splitter.feed("", is_end=True))
    assert ("".join(a for a, _ in parts), "".join(t for _, t in parts)) == (answer, thought)


# -- what goes wrong -------------------------------------------------------------------


def test_a_prompt_that_does_not_fit_is_an_error(server, settings):
    with pytest.raises(TooLongError, match="longer than the 512 tokens") as caught:
        generate_response("word " * 1000, settings(max_context=512))
    assert "max_context" in caught.value.hint


@pytest.mark.parametrize("kind", ["hangup", "cut", "error_line", "unfinished", "garbage"])
def test_half_an_answer_is_an_error_that_keeps_the_half(server, chat, kind):
    server.fail("/api/chat", kind, lines=2)
    server.say("one two three four")
    response = Response()
    answering = chat.answer("?", response)
    with pytest.raises(UnfinishedError) as caught:
        list(answering)
    assert caught.value.partial == response.text == "one two"
    assert response.finish_reason == ""
    assert len(server.requests("/api/chat")) == 1


def test_an_endless_answer_ends_at_the_deadline(server, chat):
    server.fail("/api/chat", "endless", seconds=0.01)
    with pytest.raises(UnfinishedError, match="took too long") as caught:
        chat.respond("one two", seconds=0.4)
    assert caught.value.partial


def test_an_abandoned_answer_keeps_what_had_arrived_and_stops_the_server(server, chat):
    server.fail("/api/chat", "endless", seconds=0.01)
    response = Response()
    with closing(chat.answer("one two", response)) as answering:
        assert next(answering)
    assert response.text == "one"
    deadline = time.monotonic() + 20
    while server.requests("/api/chat")[0].status is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.requests("/api/chat")[0].status == 499


@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 500}, {"kind": "drop"}])
def test_what_fails_before_the_first_word_is_sent_again(server, chat, fault):
    server.fail("/api/chat", times=1, **fault)
    assert chat.respond("one").text == "one"
    assert len(server.requests("/api/chat")) == 2


# -- the component ---------------------------------------------------------------------


def test_the_component_streams_and_returns_a_message(server, settings):
    generator = OllamaGenerator(settings(), generation_kwargs={"num_predict": 2})
    heard: list[str] = []
    messages = [ChatMessage.from_system("Be brief."), ChatMessage.from_user("one two three")]
    [reply] = generator.run(messages, lambda chunk: heard.append(chunk.content))["replies"]
    generator.close()
    assert (reply.text, "".join(heard)) == ("one two", "one two")
    assert reply.meta["finish_reason"] == "length"
    assert reply.meta["usage"]["completion_tokens"] == 2
    assert [m["role"] for m in server.requests("/api/chat")[0].json["messages"]] == [
        "system",
        "user",
    ]


def test_the_component_ends_an_answer_that_is_much_longer_than_it_may_be(server, settings):
    server.fail("/api/chat", "endless", seconds=0.001)
    generator = OllamaGenerator(
        settings(request_timeout=5), generation_kwargs={"num_predict": 2}, keeps_failures=True
    )
    [reply] = generator.run("one two")["replies"]
    generator.close()
    assert reply.meta[RESPONSE].failure is None
    assert 24 < len(reply.text) < 100


def test_the_component_takes_a_schema_for_one_answer(server, settings):
    own, other = {"type": "object"}, {"type": "array", "items": {"type": "integer"}}
    generator = OllamaGenerator(settings(), response_format=own)
    messages = [ChatMessage.from_user("one")]
    [reply] = generator.run(messages, response_format=other)["replies"]
    assert json.loads(reply.text) == [0]
    generator.run(messages)
    generator.close()
    sent = [request.json["format"] for request in server.requests("/api/chat")]
    assert sent == [other, own]

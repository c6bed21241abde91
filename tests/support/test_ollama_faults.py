"""The test server's faults, and what ollama and ollama-haystack make of each."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pydantic
import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage
from haystack_integrations.components.embedders.ollama import (
    OllamaDocumentEmbedder,
    OllamaTextEmbedder,
)
from haystack_integrations.components.generators.ollama import OllamaChatGenerator
from ollama import Client, ResponseError

from ollama_faults import KINDS
from ollama_server import OllamaServer, Reply, refused

EMBED, CHAT = "nomic-embed-text", "llama3.2"
MODELS = [EMBED, CHAT]
ASK = [{"role": "user", "content": "When do holds expire?"}]


@pytest.fixture
def client(server: OllamaServer) -> Iterator[Client]:
    with Client(server.url, timeout=5) as connected:
        yield connected


def test_a_closed_port_refuses() -> None:
    with refused() as url, Client(url, timeout=5) as client:
        with pytest.raises(ConnectionError, match="Failed to connect"):
            client.list()
        with pytest.raises(httpx.ConnectError):
            list(client.chat(CHAT, ASK, stream=True))


def test_a_closed_server_refuses_and_can_come_back() -> None:
    with OllamaServer() as server, Client(server.url, timeout=5) as client:
        client.list()
        server.close()
        with pytest.raises((ConnectionError, httpx.RemoteProtocolError)):
            client.list()
        with OllamaServer(port=server.port):
            assert client.list().models


def test_faults_meet_the_requests_they_are_set_for(server: OllamaServer, client: Client) -> None:
    once = server.fail("/api/embed", status=500)
    later = server.fail("/api/embed", status=503, after=1, times=2)
    states = []
    for _ in range(5):
        try:
            client.embed(EMBED, "one")
            states.append(200)
        except ResponseError as error:
            states.append(error.status_code)
    assert states == [500, 200, 503, 503, 200]
    assert (once.used, later.used) == (1, 2)
    always = server.fail("*", status=500, times=None)
    for call in (client.list, client.ps):
        with pytest.raises(ResponseError, match="unexpectedly stopped"):
            call()
    server.heal()
    assert client.list() and always.used == 2
    assert server.requests()[-2].fault is always
    with pytest.raises(ValueError, match="no such fault"):
        server.fail("/api/embed", "flood")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        ({"status": 500}, 500, "model runner has unexpectedly stopped"),
        ({"status": 503}, 503, "server busy, please try again.  maximum pending requests exceeded"),
        ({"status": 429, "retry_after": 2}, 429, "too many requests"),
        ({"status": 502, "error": "bad gateway"}, 502, "bad gateway"),
        ({"kind": "missing"}, 404, "not found"),
        ({"kind": "overflow"}, 400, "context length"),
    ],
)
@pytest.mark.parametrize("path", ["/api/embed", "/api/chat"])
def test_error_answers(
    server: OllamaServer,
    client: Client,
    path: str,
    options: dict[str, Any],
    status: int,
    words: str,
) -> None:
    server.fail(path, times=3, **options)
    calls: list[Callable[[], Any]] = [lambda: client.embed(EMBED, "one")] * 2
    if path == "/api/chat":
        calls = [lambda: client.chat(CHAT, ASK), lambda: list(client.chat(CHAT, ASK, stream=True))]
    for call in calls:
        with pytest.raises(ResponseError, match=words) as caught:
            call()
        assert caught.value.status_code == status
    raw = httpx.post(server.url + path, json={"model": EMBED})
    assert raw.headers.get("retry-after") == ("2" if status == 429 else None)


def test_a_slow_answer_runs_into_the_timeout(server: OllamaServer) -> None:
    server.fail("*", "slow", seconds=60, times=None)
    with Client(server.url, timeout=0.2) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.embed(EMBED, "one")
        with pytest.raises(httpx.ReadTimeout):
            list(client.chat(CHAT, ASK, stream=True))
    deadline = time.monotonic() + 2
    while any(r.status is None for r in server.requests()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [r.status for r in server.requests()] == [499, 499]  # as the server's own log has it


def test_a_slow_stream_is_slow_between_its_lines(server: OllamaServer) -> None:
    server.fail("/api/chat", "slow_stream", seconds=0.1)
    server.say("a b c")
    with Client(server.url, timeout=5) as client:
        times = [time.monotonic() for _ in client.chat(CHAT, ASK, stream=True)]
    assert len(times) == 4 and times[-1] - times[0] > 0.25


@pytest.mark.parametrize(
    ("kind", "streamed", "plain"),
    [
        ("error_line", ResponseError, ResponseError),
        ("cut", httpx.ReadError, httpx.ReadError),
        ("hangup", httpx.RemoteProtocolError, httpx.RemoteProtocolError),
        ("drop", httpx.RemoteProtocolError, httpx.RemoteProtocolError),
        ("reset", httpx.ReadError, httpx.ReadError),
        ("garbage", ValueError, ValueError),
        ("html", ValueError, ValueError),
        ("deep", RecursionError, RecursionError),
        ("deep_error", RecursionError, RecursionError),
    ],
)
def test_broken_answers(
    server: OllamaServer, client: Client, kind: str, streamed: type, plain: type
) -> None:
    server.fail("*", kind, times=2)
    server.say("one two three four")
    heard = []
    with pytest.raises(streamed):
        heard.extend(part.message.content for part in client.chat(CHAT, ASK, stream=True))
    with pytest.raises(plain):
        heard.extend(part.message.content for part in client.chat(CHAT, ASK, stream=True))
    assert len(heard) <= 4
    server.fail("*", kind)
    with pytest.raises(plain):
        client.embed(EMBED, ["one", "two"])
    # The connection is usable again, and the reply is still in the queue.
    assert client.chat(CHAT, ASK).message.content == "one two three four"


def test_a_broken_stream_breaks_after_some_lines(server: OllamaServer, client: Client) -> None:
    for kind in ("error_line", "cut", "hangup", "garbage"):
        server.fail("/api/chat", kind, lines=3)
        stream = client.chat(CHAT, [{"role": "user", "content": "a b c d e"}], stream=True)
        assert [part.message.content for part in islice(stream, 3)] == ["a", " b", " c"]
        with pytest.raises((ResponseError, httpx.TransportError, ValueError)):
            next(stream)


def test_a_stream_that_just_ends_is_not_noticed_by_the_client(
    server: OllamaServer, client: Client
) -> None:
    server.fail("/api/chat", "unfinished", lines=2, times=2)
    *_, last = client.chat(CHAT, ASK, stream=True)
    assert (last.message.content, last.done, last.done_reason) == (" do", False, None)
    assert client.chat(CHAT, ASK).done is False


def test_a_wrong_content_type_is_not_noticed_by_the_client(
    server: OllamaServer, client: Client
) -> None:
    server.fail("/api/embed", "content_type")
    assert client.embed(EMBED, "one").embeddings


def test_an_endless_reply_goes_on_until_the_client_leaves(server: OllamaServer) -> None:
    server.fail("/api/chat", "endless", seconds=0.001, times=None)
    with Client(server.url, timeout=2) as client:
        stream = client.chat(CHAT, ASK, stream=True)
        assert len(list(islice(stream, 200))) == 200
        stream.close()
        with pytest.raises(httpx.ReadTimeout):
            client.chat(CHAT, ASK)


def test_a_huge_reply_arrives(server: OllamaServer, client: Client) -> None:
    server.fail("/api/chat", "huge", size=3_000_000, times=2)
    assert len(client.chat(CHAT, ASK).message.content or "") == 3_000_000
    assert (
        sum(len(p.message.content or "") for p in client.chat(CHAT, ASK, stream=True)) == 3_000_000
    )


def test_counts_at_the_limit_tell_of_a_cut_prompt(server: OllamaServer, client: Client) -> None:
    server.fail("*", "counts", times=3)
    options = {"num_ctx": 1024}
    assert client.chat(CHAT, ASK, options=options).prompt_eval_count == 1024
    assert list(client.chat(CHAT, ASK, stream=True, options=options))[-1].prompt_eval_count == 1024
    assert client.embed(EMBED, "one").prompt_eval_count == 2048


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        ("dimension", lambda vectors: [len(v) for v in vectors] == [7, 7]),
        ("nan", lambda vectors: math.isnan(vectors[-1][-1])),
        ("inf", lambda vectors: math.isinf(vectors[-1][-1])),
        ("zero", lambda vectors: not any(map(any, vectors))),
        ("fewer", lambda vectors: len(vectors) == 1),
        ("none", lambda vectors: vectors == []),
    ],
)
def test_wrong_vectors_pass_the_client_unnoticed(
    server: OllamaServer, client: Client, kind: str, check: Callable[[Any], bool]
) -> None:
    server.fail("/api/embed", kind)
    assert check(client.embed(EMBED, ["one", "two"]).embeddings)
    assert len(client.embed(EMBED, ["one", "two"]).embeddings) == 2


def test_null_in_a_vector_is_a_validation_error(server: OllamaServer, client: Client) -> None:
    server.fail("/api/embed", "null")
    with pytest.raises(pydantic.ValidationError):
        client.embed(EMBED, "one")


def test_one_poisonous_text_fails_every_batch_that_holds_it(
    server: OllamaServer, client: Client
) -> None:
    poison = server.poison("bad text")
    for batch in (["one", "a bad text"], ["a bad text"]):
        with pytest.raises(ResponseError):
            client.embed(EMBED, batch)
    assert client.embed(EMBED, ["one", "two"]).embeddings
    assert poison.used == 2


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kind", "many", "one"),
    [
        ("status", ResponseError, ResponseError),
        ("slow", httpx.ReadTimeout, httpx.ReadTimeout),
        ("drop", httpx.RemoteProtocolError, httpx.RemoteProtocolError),
        ("garbage", json.JSONDecodeError, json.JSONDecodeError),
        ("null", pydantic.ValidationError, pydantic.ValidationError),
        ("fewer", ValueError, IndexError),
        ("none", ValueError, IndexError),
    ],
)
def test_what_the_embedders_of_haystack_make_of_a_fault(
    server: OllamaServer, kind: str, many: type, one: type
) -> None:
    server.fail("*", kind, times=2, seconds=30)
    embedder = OllamaDocumentEmbedder(EMBED, server.url, timeout=0.2, progress_bar=False)
    with closing(embedder), pytest.raises(many):
        embedder.run([Document(content="one"), Document(content="two")])
    text = OllamaTextEmbedder(EMBED, server.url, timeout=0.2)
    with closing(text), pytest.raises(one):
        text.run("one")


def test_what_the_generator_of_haystack_makes_of_a_fault(server: OllamaServer) -> None:
    generator = OllamaChatGenerator(CHAT, server.url, timeout=5, max_retries=1)
    messages = [ChatMessage.from_user("How long?")]
    with closing(generator):
        server.fail("/api/chat", status=503)
        assert generator.run(messages)["replies"][0].text == "How long?"
        assert [r.status for r in server.requests()] == [503, 200]  # it asked again
        for kind, error in (("error_line", ResponseError), ("cut", httpx.ReadError)):
            server.fail("/api/chat", kind)
            with pytest.raises(error):
                generator.run(messages, streaming_callback=lambda _: None)
        assert len(server.requests()) == 4  # but not for a stream
        server.fail("/api/chat", "unfinished")
        with pytest.raises(TypeError):  # its bug: a stream without its last line, with the counts
            generator.run(messages, streaming_callback=lambda _: None)
        server.say(Reply("Nine", done_reason="length"), Reply(tool_calls=[("now", {})]))
        assert generator.run(messages)["replies"][0].meta["finish_reason"] is None
        with pytest.raises(json.JSONDecodeError):  # its bug: a tool call without arguments
            generator.run(messages, streaming_callback=lambda _: None)


def test_every_fault_is_tested_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [kind for kind in KINDS if f'"{kind}"' not in source] == []

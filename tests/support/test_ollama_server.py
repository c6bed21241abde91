"""The test server without faults, through the clients that will meet it."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack_integrations.components.embedders.ollama import (
    OllamaDocumentEmbedder,
    OllamaTextEmbedder,
)
from haystack_integrations.components.generators.ollama import OllamaChatGenerator
from ollama import AsyncClient, Client, ResponseError

from ollama_server import KNOWN, Model, OllamaServer, Reply

EMBED, CHAT, THINKER = "nomic-embed-text", "llama3.2", "qwen3"
TINY = Model("tiny", dimension=16, context=12)
MODELS = [EMBED, CHAT, THINKER, TINY]
ASK = [{"role": "user", "content": "When do holds expire?"}]
SOURCES = """Answer from the sources and cite them as [1].

[1] Glossary (engineering/Glossary.md:19)
A hold keeps a slot. Holds expire after 9 minutes.

[2] 用語集
仮押さえは9分で切れる。
"""


@pytest.fixture
def client(server: OllamaServer) -> Iterator[Client]:
    with Client(server.url, timeout=5) as connected:
        yield connected


def cosine(one: Any, other: Any) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


# The models


def test_the_server_says_that_it_runs_and_which_version_it_is(server: OllamaServer) -> None:
    assert httpx.get(server.url).text == "Ollama is running"
    assert httpx.head(f"{server.url}/api/version").status_code == 200
    assert httpx.get(f"{server.url}/api/version").json() == {"version": "0.33.0"}
    assert httpx.get(f"{server.url}/api/nothing").status_code == 404
    assert httpx.get(f"{server.url}/api/chat").status_code == 405


def test_models_are_listed_with_their_tag_and_digest(server: OllamaServer, client: Client) -> None:
    models = client.list().models
    assert [m.model for m in models] == [f"{n}:latest" for n in (EMBED, CHAT, THINKER, "tiny")]
    assert models[0].digest == KNOWN[EMBED].digest
    assert len(models[0].digest or "") == 64
    assert models[0].details and models[0].details.family == "nomic-bert"
    del server.models[CHAT]
    assert len(client.list().models) == 3


def test_show_tells_context_length_dimension_and_capabilities(client: Client) -> None:
    shown = client.show(EMBED)
    info = shown.modelinfo or {}
    family = info["general.architecture"]
    assert (info[f"{family}.context_length"], info[f"{family}.embedding_length"]) == (2048, 768)
    assert shown.capabilities == ["embedding"]
    assert (shown.parameters or "").split() == ["num_ctx", "8192"]
    assert client.show(THINKER).capabilities == ["completion", "tools", "thinking"]
    assert client.show("TINY:latest").capabilities == ["embedding"]


def test_running_models_are_those_in_memory(client: Client) -> None:
    assert client.ps().models == []
    client.embed(EMBED, "one", keep_alive="10m")
    client.chat(CHAT, ASK, options={"num_ctx": 8192}, keep_alive=-1)
    running = {m.name: m for m in client.ps().models}
    assert running[f"{EMBED}:latest"].context_length == 2048
    assert running[f"{CHAT}:latest"].context_length == 8192
    client.chat(CHAT, [], keep_alive=0)
    client.embed(EMBED, "one", keep_alive=0)
    assert client.ps().models == []


@pytest.mark.parametrize("keep_alive", ["10", "soon"])
def test_a_duration_without_a_unit_is_refused(client: Client, keep_alive: str) -> None:
    with pytest.raises(ResponseError, match="duration") as caught:
        client.embed(EMBED, "one", keep_alive=keep_alive)
    assert caught.value.status_code == 400


def test_pulling_streams_its_progress_and_brings_the_model(client: Client) -> None:
    steps = list(client.pull("bge-m3", stream=True))
    assert steps[0].status == "pulling manifest"
    assert [round(s.completed / s.total, 2) for s in steps if s.completed and s.total] == [
        0.25,
        0.5,
        0.75,
        1,
    ]
    assert steps[-1].status == "success"
    assert len(client.embed("bge-m3", "one").embeddings[0]) == 1024
    assert client.pull("gemma3").status == "success"
    with OllamaServer([], registry=[TINY]) as empty, Client(empty.url, timeout=5) as other:
        assert other.list().models == []
        other.pull("tiny")
        assert len(other.embed("tiny", "one").embeddings[0]) == 16


def test_pulling_an_unknown_model_fails_after_the_first_line(client: Client) -> None:
    stream = client.pull("nothing", stream=True)
    assert next(stream).status == "pulling manifest"
    with pytest.raises(ResponseError, match="file does not exist") as caught:
        next(stream)
    assert caught.value.status_code == -1
    with pytest.raises(ResponseError) as caught:
        client.pull("nothing")
    assert caught.value.status_code == 500


def test_each_endpoint_has_its_own_words_for_an_unknown_model(client: Client) -> None:
    pull = 'model "none" not found, try pulling it first'
    plain, tagged = "model 'none' not found", "model 'none:latest' not found"
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: client.embed("none", "one"), pull),
        (lambda: client.chat("none", ASK), plain),
        (lambda: list(client.chat("none", ASK, stream=True)), plain),
        (lambda: client.generate("none", "one"), plain),
        (lambda: client.show("none"), tagged),
    ]
    for call, words in calls:
        with pytest.raises(ResponseError) as caught:
            call()
        assert (caught.value.status_code, caught.value.error) == (404, words)


def test_a_request_that_is_no_json_is_refused(server: OllamaServer) -> None:
    for body in (b"", b"{", b"[1]", b"\xff"):
        answer = httpx.post(f"{server.url}/api/embed", content=body)
        assert answer.status_code == 400 and answer.json()["error"]
    wrong = httpx.post(f"{server.url}/api/embed", json={"model": EMBED, "input": [1]})
    assert wrong.json() == {"error": "invalid input type"}


# Embedding


def test_vectors_are_unit_length_the_same_every_time_and_near_for_shared_words(
    client: Client,
) -> None:
    texts = ["roll back a bad deploy", "the bad deploy", "bake bread", "証明書の更新", "証明書"]
    vectors = client.embed(EMBED, texts).embeddings
    assert all(len(v) == 768 and math.isclose(cosine(v, v), 1, abs_tol=1e-5) for v in vectors)
    roll_back, deploy, bread, renewal, certificate = vectors
    assert cosine(roll_back, deploy) > 0.5 > 0.2 > abs(cosine(roll_back, bread))
    assert cosine(renewal, certificate) > 0.5 > 0.2 > abs(cosine(renewal, deploy))
    assert client.embed(EMBED, texts[0]).embeddings == [roll_back]
    places = {index: value for index, value in enumerate(certificate) if value}
    assert list(places) == [59, 105, 271, 363, 430, 460, 539, 547]  # on every machine
    assert [value > 0 for value in places.values()] == [False] * 3 + [True] * 2 + [False] * 2 + [
        True
    ]
    assert {abs(value) for value in places.values()} == {0.3535534}
    assert client.embed("tiny", "").embeddings == []


def test_two_models_do_not_share_their_vectors() -> None:
    one, other = Model("one").vector("deploy"), Model("other").vector("deploy")
    assert one != other
    assert Model("one", digest="0" * 64).vector("deploy") != one


def test_a_known_prefix_is_not_read_as_words_and_is_recorded(
    server: OllamaServer, client: Client
) -> None:
    texts = ["search_query: holds", "search_document: holds", "query: holds"]
    query, document, unknown = client.embed(EMBED, texts).embeddings
    assert query == document != unknown
    assert server.prefixes() == {"search_query: ": 1, "search_document: ": 1, "": 1}
    assert server.inputs() == server.requests("/api/embed")[0].inputs == texts


def test_dimensions_cut_the_vector_and_keep_its_length(client: Client) -> None:
    (short,) = client.embed(EMBED, "deploy a slot", dimensions=300).embeddings
    assert len(short) == 300 and math.isclose(cosine(short, short), 1, abs_tol=1e-5)


def test_an_input_too_long_is_cut_or_refused(client: Client) -> None:
    long = " ".join(f"w{n}" for n in range(30))
    cut = client.embed("tiny", long)
    assert cut.prompt_eval_count == 12
    assert cut.embeddings == client.embed("tiny", " ".join(long.split()[:10])).embeddings
    assert client.embed("tiny", "w " * 10, truncate=False).prompt_eval_count == 12
    for options in ({}, {"num_ctx": 9}):
        with pytest.raises(ResponseError) as caught:
            client.embed(
                "tiny", ["w " * (8 if options else 11), "w"], truncate=False, options=options
            )
        assert caught.value.status_code == 400
        assert caught.value.error == "the input length exceeds the context length"


def test_an_input_too_long_is_refused_when_all_others_are_computed(
    server: OllamaServer, client: Client
) -> None:
    with pytest.raises(ResponseError, match="exceeds the context length"):
        client.embed("tiny", ["one", "w " * 30, "two"], truncate=False)
    client.embed("tiny", ["two"])
    assert server.computed() == {"one": 1, "two": 2}


def test_the_models_of_haystack_embed(server: OllamaServer) -> None:
    text = OllamaTextEmbedder(EMBED, server.url, timeout=5)
    with closing(text):
        found = text.run("search_query: deploy", generation_kwargs={"num_ctx": 512})["embedding"]
    documents = [Document(content=c) for c in ("bad\ndeploy", "bread", "a third")]
    embedder = OllamaDocumentEmbedder(
        EMBED, server.url, timeout=5, batch_size=2, progress_bar=False, prefix="search_document: "
    )
    with closing(embedder):
        embedded = embedder.run(documents)["documents"]
    assert cosine(found, embedded[0].embedding) > 0.5 > cosine(found, embedded[1].embedding)
    query, first, second = server.requests()
    assert query.options == {"num_ctx": 512}
    assert first.inputs == ["search_document: bad deploy", "search_document: bread"]
    assert len(second.inputs) == 1
    assert server.prefixes()["search_document: "] == 3


def test_asynchronous_clients_embed_and_chat(server: OllamaServer) -> None:
    async def run() -> None:
        embedder = OllamaDocumentEmbedder(EMBED, server.url, batch_size=1, progress_bar=False)
        done = await embedder.run_async([Document(content=f"note {n}") for n in range(4)])
        await embedder.close_async()
        assert all(document.embedding for document in done["documents"])
        async with AsyncClient(server.url, timeout=5) as client:
            answer = [part async for part in await client.chat(CHAT, ASK, stream=True)]
            assert "".join(p.message.content or "" for p in answer) == ASK[0]["content"]
            assert (await client.generate(CHAT, "Hello")).response == "Hello"

    server.fail("/api/embed", "slow", seconds=0.2, times=4)
    asyncio.run(asyncio.wait_for(run(), 10))
    assert server.most_in_flight("/api/embed") == 4
    assert server.most_in_flight("/api/chat") == 1


# Chat


def test_the_default_reply_quotes_the_first_source(server: OllamaServer, client: Client) -> None:
    plain = client.chat(CHAT, [{"role": "user", "content": SOURCES}, *ASK])
    assert plain.message.content == "A hold keeps a slot. [1]"
    assert (plain.done, plain.done_reason) == (True, "stop")
    assert plain.prompt_eval_count and plain.eval_count and plain.total_duration
    tagged = '<source id="1" title="x">\n仮押さえは9分で切れる。次。\n</source>'
    assert client.generate(CHAT, tagged).response == "仮押さえは9分で切れる。 [1]"
    assert client.chat(CHAT, ASK).message.content == ASK[0]["content"]
    assert [r.status for r in server.requests()] == [200] * 3


def test_a_stream_is_lines_of_json_with_counts_on_the_last(
    server: OllamaServer, client: Client
) -> None:
    server.say("Holds expire\nafter 9 minutes. 「はい」 ")
    *parts, last = client.chat(CHAT, ASK, stream=True)
    assert (
        "".join(p.message.content or "" for p in parts)
        == "Holds expire\nafter 9 minutes. 「はい」 "
    )
    assert all(p.done is False and p.eval_count is None for p in parts)
    assert (last.done, last.message.content, last.eval_count) == (True, "", len(parts))
    with httpx.stream("POST", f"{server.url}/api/chat", json={"model": CHAT, "messages": ASK}) as r:
        assert r.headers["content-type"] == "application/x-ndjson"
        assert r.headers["transfer-encoding"] == "chunked"
        r.read()


def test_replies_are_scripted_by_a_queue_then_by_a_callable(
    client: Client, server: OllamaServer
) -> None:
    server.say("one", {"score": 3}, lambda request: f"about {request['messages'][-1]['content']}")
    server.api.answer = lambda request: Reply(text=request["model"], done_reason="length")
    said = [client.chat(CHAT, ASK) for _ in range(4)]
    assert [a.message.content for a in said] == [
        "one",
        '{"score": 3}',
        "about " + ASK[0]["content"],
        CHAT,
    ]
    assert said[-1].done_reason == "length"


def test_a_script_that_breaks_breaks_the_test() -> None:
    with (
        pytest.raises(ZeroDivisionError),
        OllamaServer(answer=lambda _: str(1 / 0)) as server,
        Client(server.url) as client,
        pytest.raises(ResponseError, match="ZeroDivisionError"),
    ):
        client.chat(CHAT, ASK)


def test_a_thinking_model_thinks_unless_told_not_to(server: OllamaServer, client: Client) -> None:
    server.api.answer = lambda _: Reply("Nine.", thinking="Let me see. ")
    assert client.chat(THINKER, ASK).message.thinking == "Let me see. "
    assert client.chat(THINKER, ASK, think=False).message.thinking is None
    parts = list(client.chat(THINKER, ASK, stream=True, think=True))
    assert "".join(p.message.thinking or "" for p in parts) == "Let me see. "
    assert "".join(p.message.content or "" for p in parts) == "Nine."
    assert client.generate(THINKER, "Hm?", think=True).thinking == "Let me see. "
    with pytest.raises(ResponseError, match=r'"llama3\.2" does not support thinking'):
        client.chat(CHAT, ASK, think=True)


def test_tools_are_called(server: OllamaServer, client: Client) -> None:
    tool = {"type": "function", "function": {"name": "find", "description": "d", "parameters": {}}}
    calls = [("find", {"words": "deploy"}), ("find", {"words": "証明書"})]
    server.say(Reply(tool_calls=calls), Reply(tool_calls=calls))
    message = client.chat(CHAT, ASK, tools=[tool]).message
    assert [(c.function.name, c.function.arguments) for c in message.tool_calls or ()] == calls
    assert server.requests()[0].json["tools"][0]["function"]["name"] == "find"
    streamed = [p.message for p in client.chat(CHAT, ASK, tools=[tool], stream=True)]
    assert [len(m.tool_calls or ()) for m in streamed] == [1, 1, 0]
    for model, words in ((EMBED, "does not support chat"), ("gemma3", "does not support tools")):
        server.models["gemma3"] = KNOWN["gemma3"]
        with pytest.raises(ResponseError, match=words):
            client.chat(model, ASK, tools=[tool])


def test_a_format_is_kept_to(client: Client) -> None:
    schema = {
        "type": "object",
        "properties": {
            "scores": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2},
            "kind": {"enum": ["how", "why"]},
            "sure": {"type": "boolean"},
            "note": {"$ref": "#/$defs/Note"},
            "rest": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
        "$defs": {"Note": {"type": "object", "properties": {"title": {"type": "string"}}}},
    }
    assert json.loads(client.chat(CHAT, ASK, format=schema).message.content or "") == {
        "scores": [1, 1],
        "kind": "how",
        "sure": True,
        "note": {"title": ASK[0]["content"]},
        "rest": 0.0,
    }
    assert client.generate(CHAT, "Hi", format="json").response == '{"answer": "Hi"}'
    wrong = {"model": CHAT, "messages": ASK, "format": "xml"}
    answer = httpx.post(f"{client._client.base_url}/api/chat", json=wrong)
    assert answer.status_code == 500 and "invalid format" in answer.json()["error"]


@pytest.mark.parametrize(("overflow", "count"), [("shift", 52), ("cut", 100)])
def test_a_prompt_too_long_is_cut_in_silence(overflow: str, count: int) -> None:
    long = [{"role": "user", "content": SOURCES + "w " * 300}]
    with (
        OllamaServer([CHAT], overflow=overflow) as server,
        Client(server.url, timeout=5) as client,
    ):
        cut = client.chat(CHAT, long, options={"num_ctx": 100})
        whole = client.chat(CHAT, long)
        assert cut.prompt_eval_count == count < 300 < (whole.prompt_eval_count or 0)
        assert (whole.message.content or "").endswith("slot. [1]")
        assert not (cut.message.content or "").endswith("[1]")  # the source was cut away
        talk = [{"role": "user", "content": "w " * 90}, *ASK]
        short = client.chat(CHAT, talk, options={"num_ctx": 100}).prompt_eval_count
        assert short == client.chat(CHAT, ASK).prompt_eval_count  # the old message is dropped


@pytest.mark.parametrize("forbidden", [{"truncate": False}, {"shift": False}])
def test_a_request_may_forbid_the_cut_but_of_old_versions(forbidden: dict[str, bool]) -> None:
    body = {"model": CHAT, "messages": [{"role": "user", "content": "w " * 300}, *ASK]}
    body |= {"options": {"num_ctx": 100}, "stream": False, **forbidden}
    for refuses, status in ((True, 400), (False, 200)):
        with OllamaServer([CHAT], refuses=refuses) as server:
            assert httpx.post(f"{server.url}/api/chat", json=body).status_code == status


def test_old_versions_do_not_count_what_they_have_cached() -> None:
    with (
        OllamaServer([CHAT], counts_cached=False) as server,
        Client(server.url, timeout=5) as client,
    ):
        counts = [client.chat(CHAT, ASK).prompt_eval_count for _ in range(2)]
        more = client.chat(CHAT, [*ASK, *ASK]).prompt_eval_count
    assert counts[0] and counts[1] is None
    assert more and more < 2 * counts[0]


def test_a_prompt_too_long_is_an_error_for_models_that_cannot_shift() -> None:
    with (
        OllamaServer(models=[CHAT], overflow="error") as server,
        Client(server.url, timeout=5) as client,
        pytest.raises(ResponseError, match="longer than the context length") as caught,
    ):
        client.chat(CHAT, [{"role": "user", "content": "w " * 99}], options={"num_ctx": 64})
    assert caught.value.status_code == 400


def test_an_answer_too_long_ends_for_its_length(server: OllamaServer, client: Client) -> None:
    server.say("word " * 50)
    answer = client.chat(CHAT, ASK, options={"num_predict": 7})
    assert (answer.done_reason, answer.eval_count) == ("length", 7)
    assert answer.message.content == "word" + " word" * 6


def test_generating_from_a_prompt(server: OllamaServer, client: Client) -> None:
    answer = client.generate(CHAT, "Hello there", system="Be kind.")
    assert (answer.response, answer.done_reason) == ("Hello there", "stop")
    assert answer.context
    assert "".join(p.response or "" for p in client.generate(CHAT, "a b c", stream=True)) == "a b c"
    assert client.generate(CHAT, "").done_reason == "load"


def test_the_chat_generator_of_haystack(server: OllamaServer) -> None:
    generator = OllamaChatGenerator(THINKER, server.url, timeout=5, think=True)
    server.say(
        Reply("Nine.", thinking="Hm. "),
        Reply("Nine minutes.", thinking="Hm. "),
        Reply(tool_calls=[("find", {"words": "x"})]),
    )
    messages = [ChatMessage.from_system("Be short."), ChatMessage.from_user("How long?")]
    tool = Tool("find", "d", {"type": "object", "properties": {}}, print)
    chunks: list[Any] = []
    with closing(generator):
        plain = generator.run(messages)["replies"][0]
        streamed = generator.run(messages, streaming_callback=chunks.append)["replies"][0]
        called = generator.run(messages, tools=[tool])["replies"][0]
    assert (plain.text, plain.meta["usage"]["completion_tokens"]) == ("Nine.", 4)
    assert plain.reasoning and plain.reasoning.reasoning_text == "Hm. "
    assert (streamed.text, len(chunks)) == ("Nine minutes.", 7)
    assert (called.tool_call.tool_name, called.tool_call.arguments) == ("find", {"words": "x"})
    assert [m["role"] for m in server.requests()[0].json["messages"]] == ["system", "user"]


# What is recorded, and the end


def test_everything_received_is_recorded(server: OllamaServer) -> None:
    assert server.requests() == [] and server.connections == 0
    before = time.monotonic()
    with Client(server.url, timeout=5, headers={"Authorization": "Bearer key"}) as client:
        client.embed(EMBED, "one", truncate=False, options={"num_ctx": 512}, keep_alive="5m")
        client.ps()
    embed, ps = server.requests()
    assert (embed.number, embed.method, embed.path) == (0, "POST", "/api/embed")
    assert embed.body == {
        "model": EMBED,
        "input": "one",
        "truncate": False,
        "options": {"num_ctx": 512},
        "keep_alive": "5m",
    }
    assert embed.headers["authorization"] == "Bearer key"
    assert before <= embed.time <= ps.time <= time.monotonic()
    assert (ps.body, ps.status, embed.in_flight, ps.in_flight) == (None, 200, 1, 1)
    assert server.connections == 1  # kept alive
    assert server.requests("/api/ps") == [ps]


def test_requests_in_flight_are_counted(server: OllamaServer) -> None:
    server.fail("/api/embed", "slow", seconds=0.3, times=3)
    with Client(server.url, timeout=5) as client:
        threads = [threading.Thread(target=client.embed, args=(EMBED, "one")) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for _ in range(20):
            client.embed(EMBED, "one")
    assert server.most_in_flight() == server.most_in_flight("/api/embed") == 3
    assert max(r.in_flight for r in server.requests()[3:]) == 1


def test_the_server_listens_on_the_loopback_only(server: OllamaServer) -> None:
    assert server.url == f"http://127.0.0.1:{server.port}"
    assert server._http.socket.getsockname()[0] == "127.0.0.1"


def test_closing_does_not_wait_for_requests_in_flight() -> None:
    server = OllamaServer()
    server.fail("/api/embed", "slow", seconds=60)
    server.fail("/api/chat", "endless")
    caught: list[BaseException] = []

    def call(path: str) -> None:
        try:
            httpx.post(server.url + path, json={"model": EMBED}, timeout=30)
        except httpx.HTTPError as error:
            caught.append(error)

    with httpx.Client() as idle:
        idle.get(server.url)
        threads = [threading.Thread(target=call, args=(p,)) for p in ("/api/embed", "/api/chat")]
        for thread in threads:
            thread.start()
        while len(server.requests()) < 3:
            time.sleep(0.01)
        started = time.monotonic()
        server.close()
        server.close()
        assert time.monotonic() - started < 1
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()

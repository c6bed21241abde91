"""Every failure of the layers below, against the error that says what to type next."""

import builtins
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from embedding_calls import batches_of
from ollama_server import refused
from rag.clients import generate_response, get_embedding
from rag.clients.http_client import Blame, Refusal, explain
from rag.clients.servers import Endpoint
from rag.config import OllamaConfig
from rag.exceptions import (
    ConnectionError,
    ModelError,
    ModelMissingError,
    RAGError,
    TooLongError,
    UnfinishedError,
)
from tables import rows

Settings = Callable[..., OllamaConfig]
HERE = Endpoint("ollama", "embedding", "http://127.0.0.1:11434", "tiny")
ELSEWHERE = Endpoint("ollama", "embedding", "http://ollama.example:11434", "m")


def whole_index(config: OllamaConfig) -> None:
    for batch in batches_of(["one", "two"], config):
        assert not batch.failures


def query(config: OllamaConfig) -> None:
    get_embedding("one", config)


def answer(config: OllamaConfig) -> None:
    generate_response("one two three four", config)


# What the server does -> the error, a word of its message, and a word of its hint.
EMBEDDING = [
    ({"kind": "status", "status": 500}, ModelError, "error 500", "ollama serve"),
    ({"kind": "status", "status": 429}, ModelError, "busy", "max_in_flight"),
    ({"kind": "status", "status": 401}, ModelError, "error 401", "ollama.url"),
    ({"kind": "status", "status": 302}, ModelError, "redirects, which is not", "ollama.url"),
    ({"kind": "status", "status": 400}, ModelError, "error 400", "ollama serve"),
    ({"kind": "missing"}, ModelMissingError, "no model nomic-embed-text", "ollama pull nomic"),
    ({"kind": "overflow"}, TooLongError, "longer than nomic-embed-text reads", "chunk_size"),
    ({"kind": "slow", "seconds": 30}, ConnectionError, "said nothing|took too long", "timeout"),
    ({"kind": "endless"}, ConnectionError, "said nothing|took too long", "timeout"),
    ({"kind": "drop"}, ConnectionError, "broke the connection", "ollama serve"),
    ({"kind": "reset"}, ConnectionError, "broke the connection", "ollama serve"),
    ({"kind": "cut"}, ConnectionError, "broke the connection", "ollama serve"),
    ({"kind": "garbage"}, ModelError, "not Ollama's", "another program"),
    ({"kind": "deep"}, ModelError, "not Ollama's", "another program"),
    ({"kind": "html"}, ModelError, "not Ollama's", "another program"),
    ({"kind": "nan"}, ModelError, "no numbers", "embedding_model"),
    ({"kind": "zero"}, ModelError, "zero", "embedding_model"),
    ({"kind": "fewer"}, ModelError, "gave .* vectors for", "embedding_model"),
]
GENERATION = [
    *(row for row in EMBEDDING[:5]),
    ({"kind": "missing"}, ModelMissingError, "no model llama3.2", "ollama pull llama3.2"),
    ({"kind": "overflow"}, TooLongError, "the prompt is longer than the 8192 tokens", "top_k"),
    ({"kind": "slow", "seconds": 30}, ConnectionError, "said nothing|took too long", "timeout"),
    ({"kind": "endless"}, UnfinishedError, "broke off .*took too long", "request_timeout"),
    ({"kind": "slow_stream", "seconds": 30}, UnfinishedError, "broke off .*nothing", "timeout"),
    ({"kind": "drop"}, ConnectionError, "broke the connection", "ollama serve"),
    ({"kind": "reset"}, ConnectionError, "broke the connection", "ollama serve"),
    ({"kind": "hangup"}, UnfinishedError, "broke off", "ollama serve"),
    ({"kind": "cut"}, UnfinishedError, "broke off", "ollama serve"),
    ({"kind": "error_line"}, UnfinishedError, "broke off .*an error", "ollama serve"),
    ({"kind": "unfinished"}, UnfinishedError, "without saying that it is complete", "Ask again"),
    ({"kind": "garbage"}, UnfinishedError, "not Ollama's", "another program"),
    ({"kind": "deep"}, UnfinishedError, "not Ollama's", "another program"),
    ({"kind": "html"}, ModelError, "not Ollama's", "another program"),
]


def patience(fault: dict[str, Any], *kinds: str) -> float:
    """Seconds: few where the fault is that a server lets one wait, for these tests wait too; many
    elsewhere, for a busy machine lets one wait as well."""
    return 0.5 if fault["kind"] in kinds else 10.0


def named(row: Any) -> str | None:
    return f"{row['kind']}{row.get('status', '')}" if isinstance(row, dict) else None


@pytest.mark.sampled
@pytest.mark.parametrize("act", [whole_index, query])
@pytest.mark.parametrize(("fault", "error", "message", "hint"), EMBEDDING, ids=named)
def test_a_server_that_always_fails_to_embed(server, settings, act, fault, error, message, hint):
    server.fail("/api/embed", times=None, **fault)
    seconds = patience(fault, "slow", "endless")
    retries = 1 if "status" in fault else 0
    config = settings(read_timeout=seconds, query_timeout=seconds, retries=retries)
    if fault.get("status") in (429, 503) and act is whole_index:
        config = settings(urls=[server.url], retries=0)
    with pytest.raises(error, match=message) as caught:
        act(config)
    assert type(caught.value) is error
    assert (caught.value.exit_code, caught.value.server) == (4, server.url)
    assert hint in caught.value.hint
    assert caught.value.__cause__ is not None


@pytest.mark.sampled
@pytest.mark.parametrize(("fault", "error", "message", "hint"), GENERATION, ids=named)
def test_a_server_that_always_fails_to_answer(server, settings, fault, error, message, hint):
    server.fail("/api/chat", times=None, **fault)
    with pytest.raises(error, match=message) as caught:
        answer(
            settings(
                read_timeout=patience(fault, "slow", "slow_stream"),
                request_timeout=patience(fault, "endless"),
                retries=0,
            )
        )
    assert type(caught.value) is error
    assert (caught.value.exit_code, caught.value.server) == (4, server.url)
    assert hint in caught.value.hint


@pytest.mark.parametrize("act", [whole_index, query, answer])
def test_a_server_that_is_not_there(settings, act):
    with refused() as url, pytest.raises(ConnectionError, match="does not answer") as caught:
        act(settings(url=url))
    assert (caught.value.server, type(caught.value)) == (url, ConnectionError)
    assert "`ollama serve`" in caught.value.hint


@rows(
    "wording",
    "the input length exceeds the context length",
    "input after truncation exceeds maximum context length",
    "input length exceeds maximum context length",
    "the prompt is longer than the context length currently available to the model",
    "the request exceeds the available context size, try increasing it",
    "input is too large to process. increase the physical batch size",
    "exceed_context_size_error",
    "prompt too long; exceeded max context length by 4 tokens",
)
@rows("status", 400, 413, 500)
def test_all_wordings_of_too_long(wording, status):
    found = explain(Refusal(status, wording), HERE)
    assert (type(found.error), found.blame) == (TooLongError, Blame.LENGTH)
    assert wording in found.error.details


@rows(
    "error, message, hint",
    (httpx.ConnectTimeout("t"), "does not answer", "listens to the network"),
    (httpx.PoolTimeout("t"), "does not answer", "listens to the network"),
    (httpx.WriteError("w"), "broke the connection", "ollama serve"),
    (httpx.ProxyError("p"), "does not answer", "ollama.url"),
    (httpx.RemoteProtocolError("r"), "broke the connection", "ollama serve"),
    (httpx.DecodingError("d"), "not Ollama's", "proxy"),
    (builtins.ConnectionError("refused"), "does not answer", "ollama.url"),
    (json.JSONDecodeError("x", "", 0), "not Ollama's", "another program"),
    (KeyError("models"), "not Ollama's", "another program"),
    (Refusal(404, "model 'm' not found"), "no model m", f"`OLLAMA_HOST={ELSEWHERE.url} ollama"),
)
def test_failures_that_the_test_server_cannot_cause(error, message, hint):
    found = explain(error, ELSEWHERE).error
    assert (found.exit_code, found.__cause__) == (4, error)
    assert message in found.message and hint in found.hint


def test_what_a_server_says_is_one_short_printable_line():
    error = Refusal(500, "a\n\x1b[31mred\x07 " + "long " * 100)
    details = explain(error, HERE).error
    assert isinstance(details, RAGError)
    assert details.details.isprintable() and len(details.details) <= 200

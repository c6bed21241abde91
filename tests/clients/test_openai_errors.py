"""What servers of OpenAI's API refuse, in words that say what to do; and keys, never repeated."""

import logging
from collections.abc import Iterator

import httpx
import pytest

from openai_server import CHAT, EMBEDDINGS, OpenAIServer, settings
from rag.clients.dialects import OpenAIClient
from rag.clients.factory import chat_provider, embedding_provider
from rag.clients.http_client import Blame, Refusal, explain
from rag.clients.servers import Endpoint
from rag.config import ModelsConfig
from rag.exceptions import ConfigError, ModelError, ModelMissingError, TooLongError
from tables import rows

KEY, VARIABLE = "sk-very-secret-42", "RAG_TEST_MODEL_KEY"
EMBED, WRITE = "nomic-embed-text", "llama3.2"
HERE = Endpoint("openai", "chat", "http://127.0.0.1:9", WRITE)
THERE = Endpoint("openai", "embedding", "http://models.example", EMBED)


@pytest.fixture
def locked(monkeypatch) -> Iterator[OpenAIServer]:
    """A server that wants a key."""
    monkeypatch.delenv(VARIABLE, raising=False)
    with OpenAIServer([EMBED, WRITE], key=KEY) as running:
        yield running


def embed(config: ModelsConfig) -> None:
    embeddings = embedding_provider(config)
    try:
        embeddings.embed_query(["one"])
    finally:
        embeddings.close()


def write(config: ModelsConfig) -> str:
    return chat_provider(config).find_chat_model(5.0)


# -- refusals --------------------------------------------------------------------------


@rows(
    "status, said, kind, blame, says",
    (401, "no key", ModelError, Blame.SERVER, "wants an API key"),
    (403, "forbidden", ModelError, Blame.SERVER, "wants an API key"),
    (404, "The model `x` does not exist.", ModelMissingError, Blame.SERVER, "has no model"),
    (404, 'model "x" not found, try', ModelMissingError, Blame.SERVER, "has no model"),
    (404, "No models loaded. Please", ModelMissingError, Blame.SERVER, "has no model"),
    (400, "Invalid model identifier", ModelMissingError, Blame.SERVER, "has no model"),
    (404, "File Not Found", ModelError, Blame.SERVER, "has no chat"),
    (0, "Unexpected endpoint or method. (POST /x)", ModelError, Blame.SERVER, "has no chat"),
    (405, "Method Not Allowed", ModelError, Blame.SERVER, "has no chat"),
    (400, "maximum context length is 4096 tokens", TooLongError, Blame.LENGTH, "is longer"),
    (400, "exceed_context_size_error", TooLongError, Blame.LENGTH, "is longer"),
    (500, "input is too large, physical batch size", TooLongError, Blame.LENGTH, "is longer"),
    (413, "Payload Too Large", TooLongError, Blame.LENGTH, "is longer"),
    (413, "must have less than 512 tokens", TooLongError, Blame.LENGTH, "is longer"),
    (400, "prompt is too big compared to KV size", TooLongError, Blame.LENGTH, "is longer"),
    (400, "batch size is invalid, not be larger than 10", TooLongError, Blame.NUMBER, ""),
    (422, "batch size 64 > maximum allowed batch size 32", TooLongError, Blame.NUMBER, ""),
    (429, "Request too large: tokens per min", ModelError, Blame.BUSY, "is busy"),
    (503, "Loading model", ModelError, Blame.BUSY, "is busy"),
    (501, "does not support embeddings", ModelError, Blame.SERVER, "cannot do"),
    (400, "bad request", ModelError, Blame.INPUT, "error 400"),
    (500, "crashed", ModelError, Blame.UNCLEAR, "error 500"),
    (0, "crashed", ModelError, Blame.UNCLEAR, "broke off"),
    (307, "", ModelError, Blame.SERVER, "redirects"),
)
def test_a_refusal_names_the_cause_and_who_is_to_blame(status, said, kind, blame, says):
    found = explain(Refusal(status, said), HERE)
    assert type(found.error) is kind and found.blame is blame
    assert says in found.error.message and found.error.hint


def test_errors_name_the_setting_of_their_section():
    for endpoint in (HERE, THERE):
        for error in (
            *(Refusal(401, ""), Refusal(404, "model not found"), Refusal(404, "")),
            *(httpx.ConnectError("refused"), httpx.ConnectTimeout("slow")),
        ):
            assert f"{endpoint.section}." in explain(error, endpoint).error.hint


# -- keys ------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [embed, write])
def test_a_server_that_wants_a_key_says_where_to_name_one(locked, ask):
    with pytest.raises(ModelError, match="wants an API key, and none was sent") as caught:
        ask(settings(locked.url))
    section = "embedding" if ask is embed else "chat"
    assert f"{section}.api_key" in caught.value.hint and locked.keys() == {""}


def test_a_variable_that_is_not_set_is_named(locked):
    with pytest.raises(ModelError, match="wants an API key") as caught:
        embed(settings(locked.url, variable=VARIABLE))
    assert f"Set {VARIABLE}" in caught.value.hint


def test_the_key_is_sent_to_the_server_and_opens_it(locked, monkeypatch):
    monkeypatch.setenv(VARIABLE, f" {KEY}\n")
    config = settings(locked.url, variable=VARIABLE)
    embed(config)
    assert write(config) == WRITE
    assert locked.keys() == {"", f"Bearer {KEY}"}  # the first look at a server brings none


def test_a_wrong_key_is_not_repeated(locked, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    wrong = KEY[::-1]
    monkeypatch.setenv(VARIABLE, wrong)
    config = settings(locked.url, variable=VARIABLE)
    for ask in (embed, write):
        with pytest.raises(ModelError, match="refuses the API key") as caught:
            ask(config)
        error: BaseException | None = caught.value
        while error is not None:  # the server itself repeats it
            assert wrong not in f"{error!r} {error} {getattr(error, 'hint', '')}"
            error = error.__cause__ or error.__context__
        assert VARIABLE in caught.value.hint
    assert wrong not in caplog.text + "".join(capfd.readouterr())
    client = OpenAIClient(Endpoint("openai", "chat", locked.url, WRITE, VARIABLE), config.ollama)
    seen = [config, client, client.endpoint, client._http, client._http.headers]
    client.close()
    assert wrong not in "".join(map(repr, seen))


@rows("ask", embed, write)
def test_no_key_travels_in_the_clear(ask, monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    with pytest.raises(ConfigError, match="unencrypted") as caught:
        ask(settings("http://models.example", variable=VARIABLE))
    assert "https://" in caught.value.hint and KEY not in f"{caught.value!r} {caught.value.hint}"


def test_a_key_that_is_none_is_refused_without_being_shown(locked, monkeypatch):
    monkeypatch.setenv(VARIABLE, "sk-\x1b[31m鍵")
    with pytest.raises(ConfigError, match="characters that no key has") as caught:
        embed(settings(locked.url, variable=VARIABLE))
    assert "sk-" not in f"{caught.value!r}"


@pytest.mark.parametrize("path", [EMBEDDINGS, CHAT, "/v1/models"])
def test_a_redirection_is_not_followed(path, monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    with OpenAIServer([EMBED, WRITE]) as other, OpenAIServer([EMBED, WRITE]) as server:
        server.fail(path, status=307, times=None, location=f"{other.url}{path}")
        config = settings(server.url, variable=VARIABLE)
        ask = {EMBEDDINGS: embed, "/v1/models": write}.get(path, _answer)
        with pytest.raises(ModelError, match=r"redirects to http.*not followed"):
            ask(config)
        assert other.requests() == []


def _answer(config: ModelsConfig) -> None:
    generator = chat_provider(config).generator()
    try:
        generator.run("one")
    finally:
        generator.close()

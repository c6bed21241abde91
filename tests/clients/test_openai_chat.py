"""Answers from servers that speak OpenAI's API: what is asked for, how they arrive, and end."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage, StreamingChunk

from ollama_server import Model, Reply
from openai_server import CHAT, OpenAIServer, settings
from rag.clients.dialects import OpenAIClient
from rag.clients.factory import chat_provider
from rag.clients.protocols import RESPONSE, Response
from rag.clients.providers import OllamaChat, OpenAIChat
from rag.clients.servers import endpoints
from rag.config import ChatConfig, ModelsConfig
from rag.exceptions import (
    ConfigError,
    ConnectionError,
    ModelError,
    ModelMissingError,
    TooLongError,
    UnfinishedError,
)
from tables import rows

NAME = "llama3.2"
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
ASKED = [ChatMessage.from_user("When do holds expire?")]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(["nomic-embed-text", NAME]) as running:
        yield running


def chat_model(config: ModelsConfig) -> OpenAIClient:
    model = OpenAIClient(endpoints("openai", "chat", config)[0], config.ollama)
    model.backoff = 0.01
    return model


@pytest.fixture
def chat(server) -> Iterator[OpenAIClient]:
    model = chat_model(settings(server.url))
    yield model
    model.close()


def say(chat: OpenAIClient, text: str = "When?", **arguments: Any) -> Any:
    return chat.respond([{"role": "user", "content": text}], **arguments)


def bodies(server: OpenAIServer) -> list[dict[str, Any]]:
    return [request.json for request in server.requests(CHAT)]


# -- who is asked ----------------------------------------------------------------------


def test_a_server_that_is_named_is_asked_unless_another_provider_is(server):
    def chosen(chat: ChatConfig) -> type:
        return type(chat_provider(ModelsConfig(chat=chat)))

    assert chosen(ChatConfig()) is OllamaChat
    assert chosen(ChatConfig(url=server.url)) is OpenAIChat
    assert chosen(ChatConfig("ollama", url=server.url)) is OllamaChat


def test_without_a_name_the_first_model_that_is_no_embedder_answers(server):
    assert chat_provider(settings(server.url, "auto")).find_chat_model(5.0) == NAME


def test_a_model_that_is_not_listed_is_an_error_that_lists_them(server):
    with pytest.raises(ModelMissingError, match="no model nobody") as caught:
        chat_provider(settings(server.url, "nobody")).find_chat_model(5.0)
    assert "chat.model" in caught.value.hint and NAME in caught.value.hint


def test_nobody_writes_where_the_provider_is_none():
    config = ModelsConfig(chat=ChatConfig("none"))
    nobody = chat_provider(config)
    assert (nobody.is_configured, nobody.is_off, nobody.survey()) == (False, True, [])
    assert nobody.with_model(config, "llama3.2") == config
    for ask in (
        nobody.check_listening,
        lambda: nobody.find_chat_model(1.0),
        nobody.generator,
        lambda: nobody.answer_generator("", False, 0.2, 9),
    ):
        with pytest.raises(ConfigError, match=r"chat\.provider is none"):
            ask()


@rows(
    "tells, window",
    *(("props", 512), ("max_model_len", 512), ("loaded", 512), ("info", 512), ("", 8192)),
)
def test_the_window_is_what_the_server_gives_the_model(tells, window):
    model = Model("small", context=512, capabilities=("completion",))
    with OpenAIServer([model], tells=tells) as server:
        assert chat_provider(settings(server.url, "small")).context_window() == window


# -- what is asked for -----------------------------------------------------------------


def test_the_answer_streams_with_its_counts(server, chat):
    server.say("Holds expire after 9 minutes. [1]")
    response = say(chat, options={"temperature": 0, "num_predict": 50})
    assert response.text == "Holds expire after 9 minutes. [1]"
    assert (response.finish_reason, response.tokens) == ("stop", 13)
    assert response.prompt_tokens and (response.num_ctx, response.server) == (0, server.url)
    [body] = bodies(server)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert (body["temperature"], body["max_tokens"]) == (0, 50)
    assert body["messages"] == [{"role": "user", "content": "When?"}]


def test_a_schema_shapes_the_answer(server, chat):
    assert json.loads(say(chat, format=SCHEMA).text) == {"score": 0}
    [body] = bodies(server)
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA


def test_a_server_without_schemas_is_asked_without_and_only_once():
    with OpenAIServer([NAME], refuses=["response_format"]) as server:
        chat = chat_model(settings(server.url))
        server.say('{"score": 1}', '{"score": 2}')
        assert [json.loads(say(chat, format=SCHEMA).text)["score"] for _ in "12"] == [1, 2]
        chat.close()
        kinds = [(body.get("response_format") or {}).get("type") for body in bodies(server)]
        assert kinds == ["json_schema", None, None]


@rows(
    "field, instead",
    ("max_tokens", {"max_completion_tokens": 9}),
    ("stream_options", {}),
    ("temperature", {}),
    ("reasoning_effort", {}),
    ("chat_template_kwargs", {}),
)
def test_a_field_that_a_server_refuses_is_left_out_or_said_otherwise(field, instead):
    with OpenAIServer([NAME], refuses=[field]) as server:
        chat = chat_model(settings(server.url))
        options = {"temperature": 0.2, "num_predict": 9}
        assert say(chat, "one", options=options).text == say(chat, "one", options=options).text
        chat.close()
        first, *others = bodies(server)
        assert field in first and len(others) == 2
        for body in others:
            assert field not in body and body | instead == body


def test_reasoning_is_asked_for_or_declined_and_kept_apart(server, chat):
    server.say(Reply("Nine.", thinking="let me see"), "<think>hm</think>\n\nTen.")
    response = say(chat, think=True)
    assert (response.text, response.thinking) == ("Nine.", "let me see")
    response = say(chat)
    assert (response.text, response.thinking) == ("Ten.", "hm")
    asked, declined = bodies(server)
    assert "reasoning_effort" not in asked and "chat_template_kwargs" not in asked
    assert declined["reasoning_effort"] == "none"
    assert declined["chat_template_kwargs"] == {"enable_thinking": False}


# -- how it ends -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hangup", "cut", "unfinished"])
def test_a_stream_that_is_cut_keeps_what_came_and_says_so(server, chat, kind):
    server.say(Reply(chunks=["one ", "two ", "three", " four"]))
    server.fail(CHAT, kind, lines=4)
    response = Response()
    answering = chat.answer([{"role": "user", "content": "?"}], response)
    with pytest.raises(UnfinishedError, match="broke off") as caught:
        list(answering)
    assert caught.value.partial == response.text == "one two three"
    assert response.finish_reason == ""


def test_an_error_in_the_stream_is_told(server, chat):
    server.api.breaks = "the model crashed"
    with pytest.raises(UnfinishedError, match="the model crashed") as caught:
        say(chat, "one two")
    assert caught.value.partial == "one"


def test_a_prompt_that_is_too_long_is_told_as_such():
    model = Model("small", context=64, capabilities=("completion",))
    with OpenAIServer([model]) as server:
        chat = chat_model(settings(server.url, "small"))
        with pytest.raises(TooLongError, match="longer than small") as caught:
            say(chat, "word " * 200)
        chat.close()
        assert "LM Studio" in caught.value.hint and len(bodies(server)) == 1


def test_one_that_is_told_in_the_stream_is_too(server, chat):
    server.say("one")
    server.api.breaks = "Context size has been exceeded."  # LM Studio, with status 200
    with pytest.raises(TooLongError):
        say(chat)


def test_an_answer_without_a_word_is_told(server, chat):
    server.say("")  # as LM Studio answers a prompt that is too long
    with pytest.raises(ModelError, match="wrote nothing") as caught:
        say(chat)
    assert "Context Length" in caught.value.hint and len(bodies(server)) == 1


# -- as a component of Haystack --------------------------------------------------------


def test_pieces_and_reasoning_stream_in_haystack_s_form(server):
    generator = chat_provider(settings(server.url)).generator("", 4.0)
    chunks: list[StreamingChunk] = []
    server.say(Reply("Nine. [1]", thinking="let me see"))
    [reply] = generator.run(ASKED, chunks.append)["replies"]
    generator.close()
    assert (reply.text, reply.reasoning.reasoning_text) == ("Nine. [1]", "let me see")
    assert "".join(chunk.content for chunk in chunks) == "Nine. [1]"
    thoughts = [chunk.reasoning.reasoning_text for chunk in chunks if chunk.reasoning]
    assert "".join(thoughts) == "let me see"
    assert reply.meta["finish_reason"] == "stop" and reply.meta["usage"]["prompt_tokens"]


# -- as what answers questions ---------------------------------------------------------


def answerer(config: ModelsConfig, tokens: int = 100, think: bool = False) -> Any:
    return chat_provider(config).answer_generator("", think, 0.2, tokens)


def test_what_goes_wrong_is_told_in_the_meta(server):
    generator = answerer(settings(server.url, retries=0))
    server.say("one two three four")
    server.fail(CHAT, "cut", lines=3)
    [reply] = generator.run(ASKED)["replies"]
    assert isinstance(reply.meta[RESPONSE].failure, UnfinishedError) and reply.text == "one two"
    assert reply.meta[RESPONSE].text == "one two"
    server.close()
    [reply] = generator.run(ASKED)["replies"]
    generator.close()
    assert isinstance(reply.meta[RESPONSE].failure, ConnectionError) and not reply.text


def test_ctrl_c_ends_the_answer_only_where_the_listener_says_so(server):
    class Listener:
        keeps_partial = True

        def __call__(self, chunk: StreamingChunk) -> None:
            if "two" in chunk.content:
                raise KeyboardInterrupt

    generator = answerer(settings(server.url))
    server.say("one two three", "one two three")
    [reply] = generator.run(ASKED, Listener())["replies"]
    assert reply.meta[RESPONSE].interrupted and reply.text == "one two"
    listener = Listener()
    listener.keeps_partial = False
    with pytest.raises(KeyboardInterrupt):
        generator.run(ASKED, listener)
    generator.close()


def test_an_answer_without_end_is_ended(server):
    server.api.answer = lambda _: Reply(chunks=["word " * 50] * 100)
    generator = answerer(settings(server.url), tokens=20)
    server.api.models[NAME] = Model(NAME, context=4096, capabilities=("completion",))
    [reply] = generator.run(ASKED)["replies"]
    generator.close()
    assert len(reply.text) <= 20 * 250

"""The chat generators of all providers as Haystack sees them."""

from typing import Any

from haystack import Pipeline
from haystack.dataclasses import ChatMessage

from rag.clients.chat_generators import OllamaGenerator, OpenAIGenerator
from rag.config import ModelsConfig, OllamaConfig
from tables import rows

OURS = [(OllamaGenerator, OllamaConfig()), (OpenAIGenerator, ModelsConfig())]


@rows("kind, config", OURS)
def test_all_take_and_give_the_same(kind, config):
    made = kind(config)
    inputs = {socket.name: socket.is_mandatory for socket in _inputs(made).values()}
    optional = ("streaming_callback", "generation_kwargs", "response_format")
    assert inputs == {"messages": True, **dict.fromkeys(optional, False)}
    outputs = made.__haystack_output__._sockets_dict
    assert {name: socket.type for name, socket in outputs.items()} == {"replies": list[ChatMessage]}


@rows("kind, config", OURS)
def test_each_survives_a_pipeline_s_text(kind, config):
    pipeline = Pipeline()
    pipeline.add_component(
        "chat", kind(config, "some-model", True, {"type": "object"}, {"temperature": 0}, 2.5)
    )
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"]).get_component("chat")
    assert type(again) is kind and (again.config, again.model) == (config, "some-model")
    assert (again.think, again.response_format) == (True, {"type": "object"})
    assert (again.generation_kwargs, again.timeout) == ({"temperature": 0}, 2.5)


def _inputs(made: Any) -> dict[str, Any]:
    sockets: dict[str, Any] = made.__haystack_input__._sockets_dict
    return sockets

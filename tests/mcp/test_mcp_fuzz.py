"""Whatever a client sends: a valid answer, or none, and the server goes on."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_client import legacy, modern
from property_examples import examples
from rag.mcp.protocol import MODERN
from rag.mcp.requests import tool_definitions

_ENVELOPE = "io.modelcontextprotocol/"
_METHODS = (
    *("initialize", "server/discover", "ping", "tools/list", "tools/call", "resources/list"),
    *("resources/templates/list", "resources/read", "prompts/list", "prompts/get"),
    *("completion/complete", "logging/setLevel", "notifications/initialized", "", "tools/"),
)
_WORDS = st.one_of(
    st.text(st.characters(), max_size=20),  # halves of characters too
    st.sampled_from(
        [
            *("backups", "Backups", "rag://note/work/Backups.md", "証明書", "daily/*", "last week"),
            *("work", "[[Backups#Restore]]", "Log:5-2", "#", "tag:", '"', "-x", "%", "\0", "../.."),
        ]
    ),
)
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), _WORDS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=6,
)
_LIKELY = {
    "string": _WORDS,
    "number": st.floats(-1, 2),
    "integer": st.integers(-5, 60),
    "boolean": st.booleans(),
    "array": st.lists(_WORDS, max_size=5),
    "object": st.dictionaries(_WORDS, _WORDS, max_size=2),
}


@st.composite
def tool_calls(draw: st.DrawFn) -> dict[str, Any]:
    """Return parameters of `tools/call` that are nearly right."""
    tool = draw(st.sampled_from(tool_definitions()))
    schemas = tool["inputSchema"]["properties"]
    names = draw(st.lists(st.sampled_from([*schemas, "other"]), unique=True, max_size=4))
    arguments = {
        name: draw(_LIKELY[schemas[name]["type"]] if name in schemas else _VALUES)
        if draw(st.integers(0, 9))
        else draw(_VALUES)
        for name in {*names, *tool["inputSchema"].get("required", ())}
    }
    return {"name": tool["name"], "arguments": arguments}


_PARAMS = st.one_of(
    tool_calls(),
    st.dictionaries(
        st.sampled_from(["name", "arguments", "uri", "ref", "argument", "protocolVersion"]),
        _VALUES,
        max_size=4,
    ),
    st.fixed_dictionaries({"uri": st.builds(lambda text: f"rag://note/work/{text}", _WORDS)}),
)
_META = st.fixed_dictionaries(
    {},
    optional={
        f"{_ENVELOPE}protocolVersion": st.sampled_from([MODERN, "2025-11-25", 7]),
        f"{_ENVELOPE}clientCapabilities": st.just({}),
        "progressToken": _VALUES,
    },
)
_MESSAGES = st.one_of(
    st.builds(lambda params: modern("tools/call", **params), tool_calls()),
    st.builds(
        lambda method, params, meta: legacy(method, **{**params, "_meta": meta}),
        st.sampled_from(_METHODS),
        _PARAMS,
        _META,
    ),
    st.fixed_dictionaries(
        {"jsonrpc": st.sampled_from(["2.0", "1.0"])},
        optional={
            "id": _VALUES,
            "method": st.one_of(st.sampled_from(_METHODS), _VALUES),
            "params": _VALUES,
            "result": _VALUES,
        },
    ),
    _VALUES,
)


def check(answer: Any) -> None:
    """Make sure that an answer is one of JSON-RPC, and of what it answers."""
    assert answer["jsonrpc"] == "2.0"
    assert answer["id"] is None or isinstance(answer["id"], str | int)
    if "error" in answer:
        assert isinstance(answer["error"]["code"], int)
        assert answer["error"]["message"]
        assert answer["error"]["code"] != -32603, answer["error"]
    else:
        result = answer["result"]
        for content in result.get("content", ()):
            assert len(content["text"]) <= 20_000
            assert "Traceback" not in content["text"]


@settings(max_examples=examples(500), suppress_health_check=[HealthCheck.too_slow])
@given(message=_MESSAGES)
def test_every_message_has_a_valid_answer_or_none(dispatcher, message):
    if answer := dispatcher.handle(message):
        check(json.loads(json.dumps(answer)))

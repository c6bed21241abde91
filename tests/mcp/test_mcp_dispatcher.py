"""One message in, at most one out: both eras of the protocol, and what is refused."""

import json
from typing import Any

import pytest

from mcp_client import legacy, modern
from rag.app.library import Library
from rag.exceptions import ConfigError
from rag.mcp.protocol import HANDSHAKE, INSTRUCTIONS, MODERN, Call, Dispatcher
from rag.mcp.requests import tool_definitions
from tables import rows

LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")


def no_settings() -> Any:
    raise ConfigError("nothing of the notes is needed")


@pytest.fixture
def empty() -> Dispatcher:
    """One that may not touch the notes."""
    return Dispatcher(Library(no_settings))


class TestTheHandshake:
    @rows("version", HANDSHAKE)
    def test_a_known_revision_is_agreed_on(self, empty, version):
        answer = empty.handle(legacy("initialize", protocolVersion=version))
        assert answer["result"]["protocolVersion"] == version
        assert answer["result"]["instructions"] == INSTRUCTIONS

    @rows("version", "2099-01-01", MODERN, "")
    def test_of_an_unknown_one_the_newest_of_the_era_is(self, empty, version):
        answer = empty.handle(legacy("initialize", protocolVersion=version))
        assert answer["result"]["protocolVersion"] == HANDSHAKE[-1]

    @rows("method", LISTS)
    def test_results_have_nothing_of_the_other_era(self, empty, method):
        result = empty.handle(legacy(method))["result"]
        assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & {*result}


class TestTheEnvelope:
    def test_discover_names_the_revision_and_what_the_server_is_for(self, empty):
        result = empty.handle(modern("server/discover"))["result"]
        assert result["supportedVersions"] == [MODERN]
        assert result["instructions"] == INSTRUCTIONS
        assert {*result["capabilities"]} == {"tools", "resources", "prompts"}

    @rows("method", "server/discover", *LISTS)
    def test_results_say_how_long_they_hold(self, empty, method):
        result = empty.handle(modern(method))["result"]
        assert result["resultType"] == "complete"
        assert result["ttlMs"] >= 0
        assert result["cacheScope"] in ("public", "private")
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "rag"

    def test_another_revision_is_refused_with_those_that_are_spoken(self, empty):
        message = modern("tools/list")
        message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01"
        error = empty.handle(message)["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": [MODERN], "requested": "2031-01-01"}

    def test_both_eras_are_served_on_one_connection(self, empty):
        empty.handle(modern("server/discover"))
        empty.handle(legacy("initialize", protocolVersion="2025-06-18"))
        assert "ttlMs" in empty.handle(modern("tools/list"))["result"]
        assert "ttlMs" not in empty.handle(legacy("tools/list"))["result"]


class TestMessages:
    @rows("message", None, 7, "x", {}, {"jsonrpc": "1.0"}, [], [1])
    def test_what_is_none_is_an_invalid_request(self, empty, message):
        assert empty.handle(message)["error"]["code"] == -32600

    @rows("id_", None, True, 1.5, [], {})
    def test_an_id_is_text_or_a_whole_number(self, empty, id_):
        answer = empty.handle({"jsonrpc": "2.0", "id": id_, "method": "ping"})
        assert answer["id"] is None
        assert answer["error"]["code"] == -32600

    @rows("message", {"method": "notifications/initialized"}, {"id": 1, "result": {}})
    def test_notifications_and_answers_are_not_answered(self, empty, message):
        assert empty.handle({"jsonrpc": "2.0", **message}) is None

    def test_an_unknown_method_is_said_to_be_one(self, empty):
        assert empty.handle(legacy("tools/run"))["error"]["code"] == -32601

    def test_an_unknown_tool_is_answered_with_those_there_are(self, empty):
        error = empty.handle(modern("tools/call", name="find"))["error"]
        assert error["code"] == -32602
        assert "search, get, get_many" in error["message"]

    @pytest.mark.parametrize(
        "message",
        [
            modern("tools/call", name="search", arguments={"query": "backups"}),
            modern("resources/read", uri="rag://note/work/Backups.md"),
        ],
    )
    def test_what_was_cancelled_is_not_answered(self, dispatcher, message):
        call = Call(is_cancelled=True)
        assert dispatcher.handle(message, call) is None


class TestWhatIsSentToModels:
    def test_descriptions_are_not_cut_by_clients(self):
        assert all(len(tool["description"]) < 2000 for tool in tool_definitions())
        assert len(INSTRUCTIONS) < 2000

    def test_the_list_of_tools_is_short(self, empty):
        answer = empty.handle(modern("tools/list"))
        assert len(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) < 7000

    def test_every_tool_only_reads_and_takes_no_unknown_arguments(self):
        for tool in tool_definitions():
            assert tool["annotations"]["readOnlyHint"] is True
            assert tool["inputSchema"]["additionalProperties"] is False
            assert "outputSchema" not in tool


class TestPrompts:
    def test_a_prompt_holds_what_was_given(self, empty):
        message = modern("prompts/get", name="ask_notes", arguments={"question": "Why {x}?"})
        result = empty.handle(message)["result"]
        assert '"Why {x}?"' in result["messages"][0]["content"]["text"]

    @rows(
        "name, arguments",
        ("ask_notes", {}),
        ("ask_notes", {"question": " "}),
        ("ask_notes", {"question": "x", "more": "y"}),
        ("none", {}),
        (None, {}),
        ("find_related", []),
    )
    def test_what_does_not_fit_is_refused(self, empty, name, arguments):
        message = modern("prompts/get", name=name, arguments=arguments)
        assert empty.handle(message)["error"]["code"] == -32602

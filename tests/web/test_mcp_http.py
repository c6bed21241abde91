"""The Model Context Protocol over HTTP: the official client in both eras, and its headers."""

from typing import Any

import anyio
import pytest

from http_client import Client
from mcp_client import legacy, modern
from rag.mcp.protocol import MODERN

CALL = {"name": "search", "arguments": {"query": "バックアップ backups"}}


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "mode", [pytest.param("legacy", marks=SLOW), "auto", pytest.param(MODERN, marks=SLOW)]
)
def test_the_official_client_finds_a_note(client, mode):
    import httpx2
    from mcp.client.client import Client as Official
    from mcp.client.streamable_http import streamable_http_client

    async def work() -> str:
        url = f"http://127.0.0.1:{client.port}/mcp"
        headers = {"Authorization": f"Bearer {client.token}"}
        with anyio.fail_after(60):
            async with httpx2.AsyncClient(headers=headers) as http:
                transport = streamable_http_client(url, http_client=http)
                async with Official(transport, mode=mode) as one:
                    result = await one.call_tool("search", {"query": "証明書"})
                    return str(result.content)

    assert "日本/証明書.md" in anyio.run(work)


def ask(client: Client, message: dict[str, Any], **headers: str | None) -> Any:
    method, params = message["method"], message["params"]
    named = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": params.get("name")}
    return client.post("/mcp", message, **{**named, **headers})


def test_headers_must_say_what_the_message_says(client):
    message = modern("tools/call", **CALL)
    assert ask(client, message).status == 200
    encoded = {"Mcp-Name": "=?base64?c2VhcmNo?="}
    assert ask(client, message, **encoded).status == 200
    for name in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"):
        for value in ("other", None):
            answer = ask(client, message, **{name: value})
            assert (answer.status, answer.json["error"]["code"]) == (400, -32020)
    no_text = ask(client, {**message, "method": [1]}, **{"Mcp-Method": "tools/call"})
    assert no_text.json["error"]["code"] == -32020


def test_progress_comes_before_the_answer(client):
    question = {"question": "How long do we keep backups?", "model": "none"}
    message = legacy("tools/call", name="ask", arguments=question, _meta={"progressToken": "mine"})
    *told, (_, answer) = client.post("/mcp", message).events
    assert told[0][1]["params"]["progressToken"] == "mine"
    assert "ninety days" in str(answer["result"])


def test_notifications_and_what_is_no_message_are_answered_as_the_protocol_says(client):
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (client.post("/mcp", note).status, client.post("/mcp", note).body) == (202, b"")
    assert client.post("/mcp", b"{").json["error"]["code"] == -32700
    assert client.post("/mcp", legacy("ping"), MCP_Protocol_Version="1999-01-01").status == 400
    assert ask(client, modern("no/such")).status == 404
    assert client.get("/mcp").status == 405

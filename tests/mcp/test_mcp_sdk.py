"""The official client, in both eras of the protocol, on the program itself.

Its library is imported by the tests alone: it takes longer than all other modules of this folder.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from rag.mcp.prompts import TEMPLATE
from rag.mcp.protocol import HANDSHAKE, MODERN

Work = Callable[[Any], Awaitable[None]]
TOOLS = {
    "search": {"query": "backups"},
    "get": {"note": "Backups"},
    "get_many": {"glob": "runbooks/*"},
    "related": {"note": "Backups"},
    "ask": {"question": "How long do we keep backups?", "model": "none"},
    "status": {},
}


@pytest.fixture(params=[pytest.param("legacy", marks=pytest.mark.slow), "auto"])
def connected(request, bare_environment) -> Callable[[Work], None]:
    """Do something with a client that is connected."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def run(work: Work) -> None:
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "rag", "mcp"], env=bare_environment, cwd="/"
        )
        with anyio.fail_after(60):
            async with Client(stdio_client(parameters), mode=request.param) as client:
                newest = HANDSHAKE[-1] if request.param == "legacy" else MODERN
                assert client.protocol_version == newest
                await work(client)

    return lambda work: anyio.run(run, work)


def text(result: Any) -> str:
    [content] = result.content
    assert content.type == "text"
    return content.text


def test_tools_resources_and_prompts_are_listed_and_give_what_they_say(connected):
    from mcp.shared.exceptions import MCPError

    async def work(client: Any) -> None:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [*TOOLS]
        for name, arguments in TOOLS.items():
            result = await client.call_tool(name, arguments)
            assert not result.is_error
            assert "ackup" in text(result) or name in ("status", "get_many")
        result = await client.call_tool("search", {"words": "backups"})
        assert result.is_error
        assert "The arguments are: query, order" in text(result)
        with pytest.raises(MCPError) as refused:
            await client.call_tool("find", {})
        assert refused.value.error.code == -32602

        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == TEMPLATE
        assert (await client.list_resources()).resources == []
        [content] = (await client.read_resource("rag://note/work/Backups.md")).contents
        assert "ninety days" in content.text
        with pytest.raises(MCPError, match="not found"):
            await client.read_resource("rag://note/work/None.md")

        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["ask_notes", "weekly_review", "find_related"]
        prompt = await client.get_prompt("find_related", {"note": "Backups"})
        message = prompt.messages[0].content
        assert message.type == "text" and '"Backups"' in message.text

    connected(work)

"""Messages of both eras, and the server as a client starts it."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.mcp.protocol import MODERN, Dispatcher

SOURCE = Path(__file__).resolve().parents[2] / "src"


def environment_of(data: Path, home: Path) -> dict[str, str]:
    """Return what a client with windows gives a server, and where the index and the package are."""
    return {
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "RAG_DATA_DIR": str(data),
        "RAG_EMBEDDING__PROVIDER": "ollama",
        "RAG_OLLAMA__ENABLED": "false",
        "PYTHONPATH": str(SOURCE),
    }


def modern(method: str, id_: int = 1, **params: Any) -> dict[str, Any]:
    """Return a request of the revision without a handshake."""
    envelope = "io.modelcontextprotocol/"
    meta = {f"{envelope}protocolVersion": MODERN, f"{envelope}clientCapabilities": {}}
    meta |= params.pop("_meta", {})
    params = {**params, "_meta": meta}
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def legacy(method: str, id_: int = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def call_tool(dispatcher: Dispatcher, name: str, arguments: dict[str, Any]) -> str:
    """Return the text of a result: all that it has, and never too long."""
    is_error = arguments.pop("refused", False)
    arguments = {key.rstrip("_"): value for key, value in arguments.items()}
    answer = dispatcher.handle(modern("tools/call", name=name, arguments=arguments))
    assert isinstance(answer, dict)
    result = answer["result"]
    assert result["isError"] is is_error, result
    assert "structuredContent" not in result
    [content] = result["content"]
    assert len(content["text"]) <= 20_000
    return str(content["text"])


class Server:
    """The program as a client starts it."""

    def __init__(self, environment: Mapping[str, str], *arguments: str, code: str = "") -> None:
        start = ["-c", code] if code else ["-m", "rag", "mcp", *arguments]
        self.process = subprocess.Popen(
            [sys.executable, *start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd="/",
        )

    def send(self, *messages: Any) -> None:
        assert self.process.stdin
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def ask(self, message: Any) -> Any:
        self.send(message)
        return self.answer()

    def end(self) -> tuple[int, list[Any], str]:
        """End the input; return the exit code, the answers that were left, and what was printed."""
        out, err = self.process.communicate(timeout=60)
        return (
            self.process.returncode,
            [json.loads(line) for line in out.splitlines()],
            err.decode(),
        )

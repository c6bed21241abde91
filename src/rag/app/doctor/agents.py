"""Whether a client that starts our server with next to nothing reads the same index."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.app.doctor.check import Check, Examination
from rag.app.serving.program_start import BARE, program_start
from rag.exceptions import Message, Remedy

_NAME = "agents"
_PATIENCE = 30.0  # seconds
_REVISION = "2025-11-25"
_ROOT = "/"  # the folder that clients with windows start programs in


def check_agents(examination: Examination) -> Iterator[Check]:
    """Start the server as such a client does, and ask it for the state of the index.

    Nothing without an index that can be read.
    """
    if examination.index is None:
        return
    start = program_start(examination.config)
    environment = {name: os.environ[name] for name in BARE if name in os.environ}
    environment |= start.environment
    if start.config_file:
        environment["RAG_CONFIG"] = str(start.config_file)
    try:
        found = _ask([*start.program, "mcp"], environment)
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError) as error:
        message = f"the server for agents does not answer: {type(error).__name__}: {error}"
        yield Check(_NAME, "fail", message[:500], Message(remedy=Remedy.REBUILD_OR_REPORT))
        return
    wanted, facts = str(examination.config.index_dir), {"index": found}
    if Path(found) != Path(wanted):
        hint = "Give clients the configuration that is printed for them."
        message = f"the server for agents reads another index: {found}, not {wanted}"
        yield Check(_NAME, "fail", message, hint, facts)
        return
    yield Check(_NAME, "pass", "a client with a bare environment reads this index", facts=facts)


def _ask(command: list[str], environment: dict[str, str]) -> str:
    """Return the folder of the index that a server says it reads.

    :raises OSError: when it cannot be started.
    :raises ValueError: for what is no answer; so do LookupError and TypeError.
    """
    client = {"name": "doctor", "version": "1"}
    hello = {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": client}
    requests = [_request(1, "initialize", hello), _request(2, "tools/call", {"name": "status"})]
    ran = subprocess.run(
        command,
        input="\n".join(requests).encode(),
        capture_output=True,
        env=environment,
        cwd=_ROOT,
        timeout=_PATIENCE,
        check=False,
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    if len(answers) != len(requests):
        raise ValueError(ran.stderr.decode("utf-8", "replace").strip()[-200:] or "no answer")
    result: Any = next(answer["result"] for answer in answers if answer["id"] == 2)
    if result.get("isError"):
        raise ValueError(result["content"][0]["text"])
    return str(result["structuredContent"]["index"]["path"])


def _request(number: int, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

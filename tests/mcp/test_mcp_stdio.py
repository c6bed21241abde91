"""The program on its standard streams: what is on stdout, when it answers, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

import pytest

from daemon_fixture import wait_until
from mcp_client import Server, legacy, modern
from processes import state_of

MODELS = ["llama3.2"]
Start = Callable[..., Server]
_ASK = {"name": "ask", "arguments": {"question": "How long do we keep backups?"}}
_SEARCH = {"name": "search", "arguments": {"query": "backups"}}
# Imports what answers, but for what a client waits for before it is connected.
_MODULES = """
import sys
from rag.app.library import Library
from rag.mcp.protocol import Dispatcher
from rag.mcp import stdio
dispatcher = Dispatcher(Library(lambda: None))
for method in ("server/discover", "initialize", "prompts/list"):
    dispatcher.handle({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}})
print(*sys.modules)
"""


def test_a_client_is_answered_at_once_from_a_bare_environment_and_the_root_folder(start_server):
    one = start_server()
    assert "instructions" in one.ask(modern("server/discover"))["result"]
    one.send(*(modern("tools/call", id_, **_SEARCH) for id_ in range(30)))
    one.send(modern("server/discover", 30))
    answers = [one.answer() for _ in range(31)]
    assert sorted(answer["id"] for answer in answers) == [*range(31)]
    assert answers[-1]["id"] != 30, "however many came before"
    texts = [a["result"]["content"][0]["text"] for a in answers if a["id"] < 30]
    assert "work/Backups.md:9" in texts[0]
    assert len({re.sub(r"\b[0-9a-f]{8}\b", "", text) for text in texts}) == 1
    assert one.end() == (0, [], "")


def test_a_client_is_told_which_vaults_there_were_when_a_server_was_last_started(
    start_server, tmp_path
):
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    first = start_server(XDG_RUNTIME_DIR=str(runtime))
    first.ask(modern("tools/call", **_SEARCH))
    assert first.end()[0] == 0
    answer = start_server(XDG_RUNTIME_DIR=str(runtime)).ask(modern("server/discover"))
    assert answer["result"]["instructions"].endswith(
        " Vaults, when last seen: work (30 notes), 日本 (2 notes); status tells them as they are."
    )


def test_nothing_heavy_is_imported_before_a_client_is_connected(bare_environment):
    ran = subprocess.run(
        [sys.executable, "-c", _MODULES], env=bare_environment, capture_output=True, check=True
    )
    loaded = {name.partition(".")[0] for name in ran.stdout.decode().split()}
    heavy = {"haystack", "numpy", "pydantic", "typer", "rich", "qdrant_edge", "httpx", "sqlite3"}
    assert not heavy & loaded
    assert "rag.config" not in ran.stdout.decode().split()


def test_a_line_that_is_no_json_or_too_long_is_answered_once_and_the_next_one_too(start_server):
    one = start_server()
    for line in (
        b"{",
        b"\xff\xfe",
        b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}',
        b"[" * 100_000,
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b"}",
        b'"' + b"x" * (9 << 20) + b'"',
    ):
        answer = one.ask(line)
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert one.ask(legacy("ping"))["result"] == {}


NOISE = """
import os, sys
sys.argv = ["rag", "mcp"]
{before}
from rag.__main__ import main
main()
"""


def test_what_others_print_goes_to_stderr_and_a_child_reads_nothing_of_the_client_s(start_server):
    noise = (
        *("print('FLUSHED', flush=True)", "print('BUFFERED')"),
        *("sys.stdout.buffer.write(b'BYTES')", "os.write(1, b'DESCRIPTOR')"),
        *("os.system('cat; echo CHILD')", "sys.__stdout__.write('ORIGINAL')"),
    )
    before = (
        "import rag.mcp.protocol as d\n"
        "def noisy(self, *given, run=d.Dispatcher._call_tool):\n"
        f"    import os, sys; {'; '.join(noise)}\n"
        "    return run(self, *given)\n"
        "d.Dispatcher._call_tool = noisy"
    )
    one = start_server(code=NOISE.format(before=before))
    one.send(modern("server/discover", 1), modern("tools/call", 2, **_SEARCH))
    code, answers, printed = one.end()
    assert (code, [answer["id"] for answer in answers]) == (0, [1, 2])
    for word in ("FLUSHED", "BUFFERED", "BYTES", "DESCRIPTOR", "CHILD", "ORIGINAL"):
        assert word in printed


def test_a_panic_is_an_error_and_the_server_goes_on(start_server):
    code = NOISE.format(
        before="import rag.mcp.protocol as d\nclass Panic(BaseException): pass\n"
        "def broken(*given): raise Panic('broken')\nd.Dispatcher._call_tool = broken"
    )
    one = start_server(code=code)
    assert one.ask(modern("tools/call", **_SEARCH))["error"]["code"] == -32603
    assert "result" in one.ask(modern("server/discover"))
    assert "Panic" in one.end()[2]


class TestTheEnd:
    def test_it_ends_when_nobody_reads(self, start_server):
        one = start_server()
        assert one.process.stdout
        one.ask(legacy("ping"))
        one.process.stdout.close()
        one.send(legacy("ping"))
        assert one.process.wait(30) == 0

    @pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-", ">/dev/full"])
    def test_it_ends_quietly_without_a_stream(self, bare_environment, closed):
        shell = ["bash", "-c", f"exec {sys.executable} -m rag mcp {closed}"]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            shell, env=bare_environment, stdin=pipe, stderr=pipe, bufsize=0
        ) as started:
            assert started.stdin
            assert started.stderr
            with suppress(BrokenPipeError):
                started.stdin.write(json.dumps(legacy("ping")).encode() + b"\n")
            assert started.wait(30) == 0
            assert started.stderr.read() == b""

    def test_it_ends_when_its_parent_is_gone_though_the_input_is_open(
        self, bare_environment, tmp_path
    ):
        source, target = os.pipe()
        os.write(target, json.dumps(legacy("ping")).encode() + b"\n")
        number = tmp_path / "number"
        parent = (
            "import subprocess, sys\n"
            "command, pipe = [sys.executable, '-m', 'rag', 'mcp'], subprocess.PIPE\n"
            "p = subprocess.Popen(command, stdin=int(sys.argv[1]), stdout=pipe)\n"
            "p.stdout.readline()\n"
            f"open({str(number)!r}, 'w').write(str(p.pid))\n"
        )
        arguments = [sys.executable, "-c", parent, str(source)]
        subprocess.run(arguments, env=bare_environment, pass_fds=[source], check=True)
        os.close(source)
        process = int(number.read_text())
        try:
            wait_until(lambda: state_of(process) in ("", "Z"), 30)
        except AssertionError:
            os.kill(process, signal.SIGKILL)
            raise
        os.close(target)


class TestWithAModel:
    """An answer that takes long: how far it is, and what ends it."""

    @pytest.fixture
    def one(self, start_server, server) -> Server:
        """A server whose chat model never comes to an end."""
        server.fail("/api/chat", "endless", seconds=0.05)
        one = start_server(RAG_OLLAMA__ENABLED="true", RAG_OLLAMA__URL=server.url)
        one.send(modern("tools/call", 7, _meta={"progressToken": "mine"}, **_ASK))
        return one

    def wait_for_text(self, one: Server) -> None:
        """Wait until the model has written something."""
        steps = []
        while not steps or "written" not in steps[-1]["message"]:
            told = one.answer()
            assert told["method"] == "notifications/progress"
            assert told["params"]["progressToken"] == "mine"
            steps.append(told["params"])
        numbers = [step["progress"] for step in steps]
        assert numbers == sorted({*numbers})

    def test_to_cancel_another_one_stops_nothing(self, start_server, server):
        server.fail("/api/chat", "slow_stream", seconds=0.1)
        server.say("We keep backups for ninety days and not for any longer than that. [1]")
        one = start_server(RAG_OLLAMA__ENABLED="true", RAG_OLLAMA__URL=server.url)
        one.send(modern("tools/call", 7, _meta={"progressToken": "mine"}, **_ASK))
        self.wait_for_text(one)
        params = {"requestId": 8}
        one.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        _, answers, _ = one.end()
        assert [answer["id"] for answer in answers if "id" in answer] == [7]

    def test_a_cancelled_one_stops_the_model_and_is_not_answered(self, one, server):
        self.wait_for_text(one)
        params = {"requestId": 7, "reason": "enough"}
        one.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        wait_until(lambda: server.requests("/api/chat")[-1].finished)
        code, answers, printed = one.end()
        assert code == 0
        assert not [answer for answer in answers if "id" in answer]
        assert "Traceback" not in printed

"""The server for agents: connecting, first and later results, memory; and what it withstands.

    python benchmarks/mcp.py [--notes 10000] [--rounds 5] [--queries 200] [--meaning]
    python benchmarks/mcp.py --servers 20 --rebuilds 20     while the index is made again and again
    python benchmarks/mcp.py --calls 20000                  whether memory stays as it is
    python benchmarks/mcp.py --peer         qmd beside it, where that is on the PATH

Without --meaning the index has no embeddings. qmd searches by words alone too, in an index of its
own of the same vault: that needs no model. Exit code 1 when an answer was wrong or failed, or
memory grew by more than 5 %.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from baselines import PeerMissing
from competitors import QMD, RAG, Qmd
from measuring import memory_of_tree
from vaults import make_vault, title_query

RAG_COMMAND = [sys.executable, "-m", "rag"]
_REVISION = "2025-11-25"
_FIRST = 0.1  # of the calls, after which memory is compared
_GROWTH = 1.05
_PAUSE = 0.2  # seconds between two questions to one of many servers
_FORMAT = "{:7.3f} {:7.3f} {:7.1f} {:7.1f} {:8.0f}{:8.0f}"
_RATIOS = "{:7.2f} {:7.2f} {:7.2f} {:7.2f} {:8.2f}{:8.2f}"

# What starts a server, with which variables, and how it is asked; by name.
Program = tuple[Sequence[str], Mapping[str, str], Callable[[str], dict[str, Any]]]
Programs = dict[str, Program]


def _rag_call(query: str) -> dict[str, Any]:
    return {"name": "search", "arguments": {"query": query, "top_k": 10}}


def _qmd_call(query: str) -> dict[str, Any]:
    """Return a call of qmd that asks for words and no model."""
    words = {"type": "lex", "query": query}
    return {"name": "query", "arguments": {"searches": [words], "limit": 10, "rerank": False}}


@dataclass
class Client:
    """A client of one server.

    :param command: what starts it.
    :param search_call: makes the parameters of a call that searches, of a query.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    search_call: Callable[[str], dict[str, Any]] = _rag_call
    started: float = field(default_factory=time.perf_counter)
    _number: int = 0

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
        )

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a request.

        :raises ValueError: for an error.
        """
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self.process.stdout
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self._number:
                if "result" not in answer:
                    raise ValueError(answer["error"]["message"])
                return answer["result"]

    def connect(self) -> float:
        """Shake hands; return the seconds since the start."""
        client = {"name": "benchmark", "version": "1"}
        self.ask("initialize", protocolVersion=_REVISION, capabilities={}, clientInfo=client)
        self._send({"method": "notifications/initialized"})
        return time.perf_counter() - self.started

    def search(self, query: str) -> Any:
        """Return what a search gives.

        :raises ValueError: for an error.
        """
        result = self.ask("tools/call", **self.search_call(query))
        if result.get("isError"):
            raise ValueError(result["content"][0]["text"])
        return result

    def memory(self, kind: str = "Pss") -> float:
        """Return the megabytes of the server and what it started; see `memory_of_tree`."""
        return memory_of_tree(self.process.pid, kind) / 1e6

    def close(self) -> None:
        """End it as clients do."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(30)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--meaning", action="store_true")
    parser.add_argument("--servers", type=int, default=0)
    parser.add_argument("--rebuilds", type=int, default=20)
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-") as name:
        folder = Path(name)
        environment = _environment(folder, options.meaning)
        make_vault(folder / "vault", options.notes, options.notes * 4300 / 1e6)
        _index(folder, environment)
        queries = [title_query(number) for number in range(min(options.notes, 500))]
        if options.servers:
            return _crowd(folder, environment, queries, options.servers, options.rebuilds)
        if options.calls:
            return _soak(environment, queries, options.calls)
        programs: Programs = {RAG: ([*RAG_COMMAND, "mcp"], environment, _rag_call)}
        if options.peer:
            try:
                programs[QMD] = _peer(folder)
            except PeerMissing as reason:
                print(f"left out: {QMD}: {reason}")
        _compare(programs, queries, options)
    return 0


def _peer(folder: Path) -> Program:
    """Index the vault with qmd; return how its server is started and asked.

    :raises PeerMissing: when it is not here.
    """
    home = folder / "qmd"
    home.mkdir()
    qmd = Qmd()
    indexing = qmd.index(folder / "vault", home)
    subprocess.run(
        indexing.line, env=indexing.environment, cwd=home, check=True, stdout=subprocess.DEVNULL
    )
    server = qmd.server(home)
    return server.line, server.environment, _qmd_call


def _environment(folder: Path, meaning: bool) -> dict[str, str]:
    made = {name: value for name, value in os.environ.items() if not name.startswith("RAG_")}
    made |= {"HOME": str(folder), "RAG_DATA_DIR": str(folder / "data"), "RAG_WARM": "0"}
    return made | {"RAG_EMBEDDING__PROVIDER": "builtin" if meaning else "none"}


def _index(folder: Path, environment: dict[str, str]) -> None:
    command = [*RAG_COMMAND, "index", "-q", str(folder / "vault")]
    subprocess.run(command, env=environment, cwd=folder, check=True)


def _compare(programs: Programs, queries: list[str], options: Any) -> None:
    """Print what each program takes, the median of some rounds in which they take turns."""
    found: dict[str, list[list[float]]] = {name: [] for name in programs}
    later: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(options.rounds):
        for name, program in programs.items():
            took, measured = _round(Client(*program), queries, options.queries)
            later[name] += took
            found[name].append(measured)
    print(
        f"{options.notes:,} notes; seconds, milliseconds and megabytes, of {options.rounds} rounds"
    )
    print(f"{'':20} connect   first   later     p95   memory  of it no files")
    rows = {}
    for name in programs:
        connect, first, memory, own = map(statistics.median, zip(*found[name], strict=True))
        took = sorted(later[name])
        rows[name] = connect, first, took[len(took) // 2], took[len(took) * 95 // 100], memory, own
        print(f"{name:20} " + _FORMAT.format(*rows[name]))
    for name in [*programs][1:]:
        ratios = (ours / theirs for ours, theirs in zip(rows[RAG], rows[name], strict=True))
        print(f"{f'{RAG} ÷ {name}':20} " + _RATIOS.format(*ratios))


def _round(client: Client, queries: list[str], searches: int) -> tuple[list[float], list[float]]:
    """Return the milliseconds of the later searches of a new server; and the seconds until it was
    connected and had answered first, its memory, and that of it which is no file's."""
    connected = client.connect()
    client.search(queries[0])
    first = time.perf_counter() - client.started
    took = []
    for query in islice(cycle(queries[1:]), searches):
        began = time.perf_counter()
        client.search(query)
        took.append(1000 * (time.perf_counter() - began))
    memory = client.memory(), client.memory("Anonymous")
    client.close()
    return took, [connected, first, *memory]


def _crowd(
    folder: Path, environment: dict[str, str], queries: list[str], servers: int, rebuilds: int
) -> int:
    """Ask many servers while the index changes; return 1 when one was wrong or failed.

    The notes that are asked for stay as they are, so that each must be the first result throughout.
    """
    clients = [Client([*RAG_COMMAND, "mcp"], environment) for _ in range(servers)]
    for client in clients:
        client.connect()
    asked = queries[:20]
    wanted = {query: _first(clients[0].search(query)) for query in asked}
    wrong: list[str] = []
    counts, over = [0] * servers, threading.Event()

    def ask(number: int) -> None:
        for query in cycle(asked):
            if over.wait(_PAUSE):
                return
            try:
                found = _first(clients[number].search(query))
            except (ValueError, OSError) as error:
                wrong.append(f"server {number}: {type(error).__name__}: {error}"[:300])
                return
            counts[number] += 1
            if found != wanted[query]:
                wrong.append(f"server {number}: {query!r} gave {found}, not {wanted[query]}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(servers)]
    for thread in threads:
        thread.start()
    for number in range(rebuilds):
        (folder / "vault" / f"new {number}.md").write_text(f"# Zyzzyva {number}\n\nZyzzyva.\n")
        _index(folder, environment)
    over.set()
    for thread in threads:
        thread.join()
    fresh = [_total(client.search("zyzzyva")) for client in clients if not wrong]
    for client in clients:
        client.close()
    wrong += [f"after all {total} new notes were found" for total in fresh if total != 10]
    print(f"{servers} servers, {rebuilds} snapshots: {sum(counts):,} answers, {len(wrong)} wrong")
    print(*wrong[:20], sep="\n")
    return 1 if wrong else 0


def _soak(environment: dict[str, str], queries: list[str], calls: int) -> int:
    """Ask one server very often; return 1 when its memory grew."""
    client = Client([*RAG_COMMAND, "mcp"], environment)
    client.connect()
    first, then = int(calls * _FIRST), 0.0
    for number, query in enumerate(islice(cycle(queries), calls), 1):
        client.search(query)
        if number == first:
            then = client.memory("Anonymous")
        if number % max(1, calls // 10) == 0:
            print(f"{number:>8,} calls: {client.memory('Anonymous'):.1f} MB")
    now = client.memory("Anonymous")
    client.close()
    print(
        f"{then:.1f} MB after {first:,} calls, {now:.1f} MB after {calls:,}: {now / then - 1:+.1%}"
    )
    return 1 if now > then * _GROWTH else 0


def _first(result: Any) -> str:
    """Return where the first result is."""
    hit = re.search(r"^1\. .*\n   (\S.*\.md):", result["content"][0]["text"], re.MULTILINE)
    return hit[1] if hit else ""


def _total(result: Any) -> int:
    return len(re.findall(r"^\d+\. ", result["content"][0]["text"], re.MULTILINE))


if __name__ == "__main__":
    sys.exit(main())

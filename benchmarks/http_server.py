"""The HTTP server under load: searches of several clients at once.

    python benchmarks/http_server.py [--notes 10000] [--seconds 60] [--rate 50] [--clients 8]

The server runs by itself, as `rag serve --http` does, then once more without processes that read
for it. A latency counts from the moment at which a search was due, so that a server which falls
behind shows it. Exit code 1 when a request failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles
from urllib.parse import quote

from measuring import memory_of_tree, tree
from vaults import make_vault, title_query

_MB = 1 << 20
_WARM_UP = 5  # seconds' worth of searches that are not counted


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=50.0, help="searches a second of all")
    parser.add_argument("--clients", type=int, default=8)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make_vault(home / "vault", asked.notes, asked.notes * 0.002)
        environment = {**os.environ, "HOME": folder, "RAG_DATA_DIR": str(home / "data")}
        environment |= {"RAG_WARM": "0", "RAG_EMBEDDING__PROVIDER": "ollama"}
        environment["RAG_OLLAMA__ENABLED"] = "false"
        index = [sys.executable, "-m", "rag", "index", str(home / "vault"), "--quiet"]
        subprocess.run(index, env=environment, check=True)
        print(
            f"{asked.rate:g} searches a second from {asked.clients} clients, {asked.notes:,} notes"
        )
        failed = 0
        for readers in (None, 0):
            with _server(environment, home, readers) as (process, port, token):
                failed += _measure_load(process, port, token, asked)
        return bool(failed)


@contextmanager
def _server(
    environment: dict[str, str], home: Path, readers: int | None = None
) -> Iterator[tuple[int, int, str]]:
    """Yield the process, the port and the token of a server with so many readers."""
    code = f"from rag.web import readers; readers.MOST = {readers}; " if readers is not None else ""
    code += "from rag.__main__ import main; main()"
    command = [sys.executable, "-c", code, "serve", "--http", "--port", "0"]
    process = subprocess.Popen(command, env=environment, cwd=home, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        port = int(process.stdout.readline().decode().rpartition(":")[2])
        yield process.pid, port, (home / "data" / "http-token").read_text("ascii").strip()
    finally:
        process.terminate()
        process.wait()


def _measure_load(process: int, port: int, token: str, asked: argparse.Namespace) -> int:
    taken: list[float] = []
    failed: list[str] = []
    first, count = int(asked.rate * _WARM_UP), int(asked.rate * asked.seconds)
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(first):  # as long as it loads, and its caches are empty
        _search(connection, token, title_query(number % asked.notes), failed)
    before, begin = memory_of_tree(process) / _MB, time.monotonic()

    def run(client: int) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        for number in range(client, count, asked.clients):
            due = begin + number / asked.rate
            time.sleep(max(0.0, due - time.monotonic()))
            _search(connection, token, title_query((first + number) % asked.notes), failed)
            taken.append((time.monotonic() - due) * 1000)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(asked.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cuts, rate = quantiles(taken, n=100), count / (time.monotonic() - begin)
    after, processes = memory_of_tree(process) / _MB, len([*tree(process)])
    print(f"{processes} processes: {rate:.1f} done a second, {len(failed)} failed")
    print(f"  p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms, longest {max(taken):.1f} ms")
    print(f"  memory {before:.0f} -> {after:.0f} MB", flush=True)
    return len(failed)


def _search(connection: HTTPConnection, token: str, query: str, failed: list[str]) -> None:
    address = f"/v1/search?query={quote(query)}&top_k=10"
    connection.request("GET", address, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    found = json.loads(answer.read())
    if answer.status != 200 or not found["results"]:
        failed.append(query)


if __name__ == "__main__":
    sys.exit(main())

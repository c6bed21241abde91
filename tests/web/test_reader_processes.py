"""The processes that read notes for the server: they are replaced, and end with it."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from daemon_fixture import wait_until
from http_client import Client, serving
from rag.web.gate import Limits
from rag.web.readers import MOST

SEARCH = "/v1/search?query=backups"


def readers_of(client: Client) -> list[int]:
    """The processes of a server that are up."""
    processes = client.server.readers.processes
    client.server.readers.load()  # those that an earlier test has ended
    wait_until(lambda: len(processes) == 2)
    return [one.process.pid for one in processes.values()]


def test_searches_of_many_clients_are_answered_side_by_side(client):
    with ThreadPoolExecutor(8) as clients:
        answers = [*clients.map(lambda _: client.get(SEARCH), range(40))]
    assert {answer.status for answer in answers} == {200}
    assert {answer.json["results"][0]["path"] for answer in answers} == {"Backups.md"}


def test_a_reader_that_dies_is_replaced_and_the_search_is_answered(client):
    before = readers_of(client)
    for process in before:
        os.kill(process, signal.SIGKILL)
    with ThreadPoolExecutor(2) as clients:
        answers = [*clients.map(lambda _: client.get(SEARCH), range(4))]
    assert {answer.status for answer in answers} == {200}
    assert not {*before} & {*readers_of(client)}


def test_where_none_can_be_started_the_error_says_so_and_the_server_goes_on(client, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("rag.web.readers.PythonProcess", fail)
        for process in readers_of(client):
            os.kill(process, signal.SIGKILL)
        answers = [client.get(SEARCH) for _ in range(2)]
    assert {answer.json["error"]["message"] for answer in answers} == {
        "the notes could not be read"
    }
    assert client.get(SEARCH).status == 200


def test_clients_that_are_gone_free_what_they_held(http_config):
    with serving(http_config, Limits(at_once=4, readers=1)) as client:
        head = f"GET {SEARCH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {client.token}"
        for _ in range(20):
            with client.connect() as raw:
                raw.sendall(f"{head}\r\n\r\n".encode())
        wait_until(lambda: client.get(SEARCH).status == 200)


def test_no_reader_outlives_a_server_that_ends(http_config):
    with serving(http_config, Limits(readers=2)) as one:
        readers = readers_of(one)
    assert not any(map(is_alive, readers))


def test_no_reader_outlives_a_server_that_is_killed(http_config):
    environment = {**os.environ, "RAG_DATA_DIR": str(http_config.data_dir)}
    command = [sys.executable, "-m", "rag", "serve", "--http", "--no-watch", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout
        process.stdout.readline()
        wait_until(lambda: len(children_of(process.pid)) == MOST)
        readers = children_of(process.pid)
        process.kill()
    wait_until(lambda: not any(map(is_alive, readers)))


def fail(*_: object) -> None:
    raise OSError


def children_of(process: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(process)], capture_output=True)
    return [*map(int, found.stdout.split())]


def is_alive(process: int) -> bool:
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True)
    return found.stdout.strip() not in (b"", b"Z", b"Zs")

"""What strangers try at the server: each item is tried over a socket."""

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from daemon_fixture import wait_until
from http_client import Client, serving, token_file
from rag.cli.app import run
from rag.config import OllamaConfig
from rag.exceptions import UsageError
from rag.web.gate import Limits
from rag.web.serve import Address, Server
from tables import rows

ROUTES = [
    *("/", "/health", "/open", "/openapi.json", "/v1/search", "/v1/status", "/v1/notes/x"),
    *("/v1/notes/x/related", "/page/app.js", "/page/results", "/page/note", "/page/image"),
    *("/nowhere", "/v1/ask", "/v1/chat", "/v1/index", "/v1/notes:batch", "/mcp"),
]
POSTED = {"/v1/ask", "/v1/chat", "/v1/index", "/v1/notes:batch", "/mcp"}
SECRETS = ("the key of the safe", "picture of another", "root:")


def ask(client: Client, path: str, **headers: str | None) -> int:
    if path in POSTED:
        return client.post(path, {}, **headers).status
    return client.get(path, **headers).status


@rows("host", "evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "10.0.0.1", "", None)
def test_a_foreign_host_is_refused_on_every_route(client, host):
    named = host and host.format(port=client.port)
    # Without one it is not HTTP/1.1, and the connection may be closed before a body has come.
    refused, routes = ({421}, ROUTES) if host is not None else ({400}, {*ROUTES} - POSTED)
    assert {ask(client, path, Host=named) for path in routes} == refused


@rows(
    "headers",
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:9"},
    {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
    {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"},
)
def test_other_sites_are_refused_on_every_route(client, headers):
    assert {ask(client, path, **headers) for path in ROUTES} == {403}
    preflight = client.ask("OPTIONS", "/v1/search", headers={"Origin": "http://evil.example"})
    assert not [name for name in preflight.headers if name.startswith("access-control")]


@rows("authorization", None, "Bearer wrong", "Bearer ", "Basic {token}", "Bearer é", "{token}")
def test_without_the_token_nothing_but_the_health_is_told(client, authorization):
    given = authorization and authorization.format(token=client.token)
    statuses = {path: ask(client, path, Authorization=given) for path in ROUTES}
    assert statuses.pop("/health") == 200
    assert {*statuses.values()} == {401}


def test_the_token_is_the_users_alone_and_stays_the_same(config):
    with serving(config) as first:
        assert token_file(config).stat().st_mode & 0o777 == 0o600
        assert len(first.token) >= 32
        token_file(config).chmod(0o644)
        with serving(config) as second:
            assert second.token != first.token  # others may have read it
            assert token_file(config).stat().st_mode & 0o777 == 0o600
    with serving(config) as third:
        assert third.token == second.token


def test_a_link_opens_the_page_once_with_a_cookie_that_scripts_cannot_read(client):
    path = client.server.link.partition(str(client.port))[2]
    opened = client.get(path, Authorization=None)
    cookie = opened.headers["set-cookie"]
    assert (opened.status, opened.headers["location"]) == (303, "/")
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
    assert client.token not in cookie
    again = client.get(path, Authorization=None)
    assert (again.status, "set-cookie" in again.headers) == (401, False)
    value = cookie.partition(";")[0]
    assert client.get("/v1/status", Authorization=None, Cookie=value).status == 200
    forged = f"{value[:-1]}{'0' if value[-1] != '0' else '1'}"
    assert client.get("/v1/status", Authorization=None, Cookie=forged).status == 401
    assert client.get("/open?once=1.2.3", Authorization=None).status == 401


def test_a_link_that_nobody_opens_is_good_for_minutes(client, monkeypatch):
    an_hour_ago = time.time() - 3600
    with monkeypatch.context() as then:
        then.setattr("rag.web.gate.time.time", lambda: an_hour_ago)
        path = client.server.link.partition(str(client.port))[2]
    opened = client.get(path, Authorization=None)
    assert (opened.status, "set-cookie" in opened.headers) == (401, False)


def test_no_token_is_printed_whatever_goes_wrong(config, capfd, monkeypatch):
    monkeypatch.setattr("rag.web.requests.read_status", lambda *_: 1 / 0)
    with serving(config) as client:
        link = client.server.link
        client.get(link.partition(str(client.port))[2])
        client.get(f"/v1/search?token={client.token}")
        client.get("/v1/status", Authorization=f"Bearer {client.token}x")
        assert client.get("/v1/status").status in (500, 503)
        with client.connect() as raw:
            raw.sendall(f"GET \0 {client.token}\r\n\r\n".encode())
            raw.recv(1000)
    printed = "".join(capfd.readouterr())
    assert client.token not in printed
    assert link.rpartition("=")[2] not in printed


@rows(
    "name",
    *("../secret.txt", "work/../secret.txt", "..%2f..%2f..%2fetc%2fpasswd"),
    *("%2e%2e/%2e%2e/etc/passwd", "..%252f..%252fetc%252fpasswd", "/etc/passwd"),
    *("%2Fetc%2Fpasswd", "work/secret.txt", "work/link.png", "link.png", "outside.png"),
    *("../outside.png", "work/Backups.md%00.png", "%00", "%ff%fe", "file:///etc/passwd"),
    "rag://note/work/../../outside.png",
)
def test_no_parameter_leads_out_of_the_notes(client, name):
    addresses = [
        f"/v1/notes/{name}",
        f"/v1/notes/{name}/related",
        f"/page/note?note={name}",
        f"/page/note?note=Backups&in={name}",
        f"/page/related?note={name}",
        f"/page/image?note=work/Backups.md&name={name}",
        f"/page/image?note={name}&name=plan.png",
        f"/page/image?note={name}&name=../../outside.png",
        f"/page/{name}",
        f"/v1/search?query=a&paths={name}",
        f"/v1/search?query=a&vaults={name}",
        f"/v1/search?query={name}",
        f"/v1/search?query=a&tags={name}",
        f"/v1/search?where=status:{name}",
        f"/page/results?query=a&paths={name}",
    ]
    answers = {address: client.get(address) for address in addresses}
    answers["batch"] = client.post("/v1/notes:batch", {"notes": [name]})
    call = {"name": "get", "arguments": {"note": name}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answers["/mcp"] = client.post("/mcp", message)
    for address, answer in answers.items():
        assert not any(secret in answer.text for secret in SECRETS), address
        answering = ("/v1/search", "/page/results", "/page/note?note=Backups", "/mcp")
        allowed = (200, 400) if address.startswith(answering) else (400, 401, 404)
        assert answer.status in allowed, address


def test_a_body_of_more_than_four_mebibytes_is_refused(client):
    headers = {"Content-Length": str(5 << 20)}
    assert client.ask("POST", "/v1/ask", b"", headers).status == 413
    with client.connect() as raw:  # without a length it is counted
        raw.sendall(
            f"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {client.token}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        sent = 0
        try:
            for _ in range(80):
                raw.sendall(chunk)
                sent += 0x10000
        except OSError:
            pass
        assert b" 413 " in raw.recv(1000)


@rows("kind", None, "text/plain", "application/x-www-form-urlencoded")
def test_what_a_form_of_another_site_can_send_is_refused(client, kind):
    assert client.post("/v1/index", {}, Content_Type=kind).status == 415


def head_of_a_question(client: Client, length: int = 100) -> bytes:
    return (
        f"POST /v1/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {client.token}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def test_a_body_that_comes_too_slowly_is_given_up(http_config):
    with serving(http_config, Limits(body=0.2)) as client, client.connect() as raw:
        raw.sendall(head_of_a_question(client) + b"{")
        assert b" 408 " in raw.recv(1000)
        while raw.recv(1000):
            pass


def test_five_hundred_idle_connections_keep_nobody_waiting(client):
    idle: list[socket.socket] = []
    try:
        idle.extend(client.connect() for _ in range(500))
        assert client.get("/v1/search?query=backups").status == 200
    finally:
        for one in idle:
            one.close()


def test_too_many_requests_at_once_are_told_to_come_again(http_config):
    with serving(http_config, Limits(at_once=1)) as client, client.connect() as raw:
        raw.sendall(head_of_a_question(client))
        wait_until(lambda: client.get("/health").status == 503)
        answer = client.get("/health")
        assert (answer.json["error"]["kind"], answer.headers["retry-after"]) == ("busy", "1")
        raw.close()
        wait_until(lambda: client.get("/health").status == 200)


def test_a_client_that_is_gone_stops_the_model(http_config, server):
    server.fail("/api/chat", "endless", seconds=0.05)
    config = replace(http_config, ollama=OllamaConfig(url=server.url))
    with serving(config) as client:
        with client.connect() as raw:
            question = b'{"question": "How long do we keep backups?"}'
            raw.sendall(head_of_a_question(client, len(question)) + question)
            wait_until(lambda: server.requests("/api/chat"))
        wait_until(lambda: server.requests("/api/chat")[-1].finished)


def test_an_answer_that_takes_too_long_is_given_up(http_config, monkeypatch):
    go_on = threading.Event()
    monkeypatch.setattr("rag.web.requests.read_status", lambda *_: go_on.wait(30))
    with serving(http_config, Limits(answer=0.1)) as client:
        answer = client.get("/v1/status")
        go_on.set()
    assert (answer.status, answer.json["error"]["kind"]) == (504, "timeout")


@pytest.mark.parametrize(("host", "is_open"), [("0.0.0.0", True), ("127.0.0.1", False)])
def test_a_server_that_is_open_to_the_network_says_so(host, is_open, monkeypatch, capsys):
    def begin_and_end(server: Server, on_start: Callable[[], None]) -> None:
        on_start()
        server.close()

    monkeypatch.setattr(Server, "run", begin_and_end)
    assert run(["serve", "--http", "--no-watch", "--port", "0", "--host", host]) == 0
    assert ("open to the network" in capsys.readouterr().err) is is_open


def test_a_unix_socket_is_the_users_alone(http_config, runtime_folder):
    path = runtime_folder / "http.sock"
    server = Server(http_config, Address(socket=path))
    try:
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(UsageError, match="another server listens there"):
            Server(http_config, Address(socket=path))
    finally:
        server.close()
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(UsageError, match="is no socket"):
        Server(http_config, Address(socket=path))
    assert path.read_text() == "mine"

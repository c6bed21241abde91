"""A stranger's folder: what its `rag.toml` cannot do, what is said of it, and `rag trust`."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from disk_files import write
from ollama_server import OllamaServer
from qdrant_server import QdrantServer
from rag.config import user_file

Rag = Callable[..., Any]


@pytest.fixture
def servers(monkeypatch) -> Iterator[tuple[OllamaServer, QdrantServer]]:
    """A stranger's servers, which nothing of the user's names."""
    monkeypatch.delenv("RAG_OLLAMA__ENABLED")
    monkeypatch.setenv("RAG_OLLAMA__QUERY_TIMEOUT", "1")
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret")
    with OllamaServer(["bge-m3", "llama3.2"]) as ollama, QdrantServer() as qdrant:
        yield ollama, qdrant


@pytest.fixture
def strange(servers, tmp_path, monkeypatch) -> Path:
    """A stranger's folder, which is the working folder: its file names the stranger's servers."""
    folder, (ollama, qdrant) = (tmp_path / "strange").resolve(), servers
    named = f"[ollama]\nurl = '{ollama.url}'\n[store]\nurl = '{qdrant.url}'\n"
    write(folder / "rag.toml", f"[search]\ntop_k = 1\n{named}")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def switched_off(monkeypatch) -> None:
    """No model at the usual address either, so that nothing depends on what runs here."""
    write(user_file(), "[ollama]\nurl = 'http://127.0.0.1:9'\nretries = 0\n")


class TestWithoutTrust:
    @pytest.mark.sampled
    @pytest.mark.parametrize(
        "line",
        [
            *("search backups", "search backups --mode lexical"),
            *("ask how long do we keep backups", "index -q", "index --to-server", "plan backups"),
            *("transform backups --transform hyde", "status", "doctor", "vault list"),
            "get Backups",
        ],
    )
    def test_nothing_reaches_the_servers_that_it_names(
        self, rag, indexed, switched_off, strange, servers, line
    ):
        ran = rag(*line.split())
        ollama, qdrant = servers
        assert (ollama.requests(), qdrant.requests) == ([], [])
        file = str(strange / "rag.toml")
        assert file in (ran.out if line == "doctor" else ran.err) and "trust" in ran.err + ran.out

    def test_it_is_said_in_one_line_with_the_next_command(
        self, rag, indexed, switched_off, strange
    ):
        ran = rag("search", "restore", "-q", "--json")
        assert ran.err == (
            f"{strange}/rag.toml is not trusted: left out ollama.url, store.url."
            " `rag trust` shows what it asks for, and trusts it.\n"
        )
        assert ran.json["total"] == 1

    def test_no_folder_of_the_stranger_s_choice_is_written(
        self, rag, indexed, strange, monkeypatch
    ):
        monkeypatch.delenv("RAG_DATA_DIR")
        write(strange / "photos/index/gen-1/photo.jpg", b"photo")
        (strange / "rag.toml").write_text("data_dir = 'photos'\n[ollama]\nenabled = false\n")
        before = sorted(strange.rglob("*"))
        for line in ("index -q", "search x", "index --rebuild", "vault list"):
            rag(*line.split())
        assert sorted(strange.rglob("*")) == before


class TestTrust:
    def test_it_shows_what_the_file_asks_for_and_the_file_counts(self, rag, strange, servers):
        ran = rag("trust")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.splitlines() == [
            f"{strange}/rag.toml is trusted, as it is now, with",
            f'  ollama.url = "{servers[0].url}"',
            f'  store.url = "{servers[1].url}"',
        ]
        found = rag("config", "--json").json["settings"]
        assert found["ollama.url"]["value"] == servers[0].url
        assert "left_out" not in found["ollama.url"]

    @pytest.mark.parametrize("place", [".", "rag.toml", "below"])
    def test_folders_and_files_can_be_named(self, rag, strange, place):
        (strange / "below").mkdir()
        assert rag("trust", place, "--json").json["file"] == str(strange / "rag.toml")
        assert rag("trust", place, "--remove").code == 0
        assert "is not trusted" in rag("config").err

    def test_what_init_replaces_is_not(self, rag, strange, servers):
        """Settings of the stranger's do not get into the file that the program writes."""
        (strange / "rag.toml").write_text(f"[ollama]\nurl = '{servers[0].url}'\n")
        assert rag("init", "--force").code == 0
        assert servers[0].requests() == []
        assert servers[0].url not in (strange / "rag.toml").read_text()


class TestKeys:
    def keys(self, qdrant: QdrantServer) -> set[str]:
        return {headers.get("api-key", "") for _, _, headers in qdrant.requests}

    def test_the_server_of_a_trusted_file_gets_none(
        self, rag, notes, switched_off, strange, servers
    ):
        rag("trust")
        ran = rag("index", notes)
        assert ran.code == 0
        assert self.keys(servers[1]) == {""}
        assert "127.0.0.1, so that it gets no key of yours: left out store.api_key_env" in ran.err
        assert "store.key_hosts" in ran.err

    def test_a_host_that_the_user_names_gets_it(
        self, rag, notes, switched_off, strange, servers, monkeypatch
    ):
        rag("trust")
        monkeypatch.setenv("RAG_STORE__KEY_HOSTS", "127.0.0.1")
        assert rag("index", notes).code == 0
        assert self.keys(servers[1]) == {"s3cret"}

    def test_a_redirection_does_not_take_it_along(self, rag, notes, servers, monkeypatch):
        with QdrantServer() as own:
            own.fail("redirect", 307, servers[1].url)
            monkeypatch.setenv("RAG_STORE__URL", own.url)
            monkeypatch.setenv("RAG_OLLAMA__ENABLED", "false")
            assert rag("index", notes).code == 4
            rag("doctor")
            assert self.keys(own) == {"s3cret"}
        assert servers[1].requests == []

    def test_it_is_not_sent_in_the_clear(self, rag, notes, servers, monkeypatch):
        monkeypatch.setenv("RAG_STORE__URL", "http://qdrant.example:6333")
        ran = rag("index", notes)
        assert ran.code == 2 and "unencrypted" in ran.err and "https://" in ran.err


@pytest.mark.parametrize(("kind", "make"), [("a pipe", os.mkfifo), ("a folder", os.mkdir)])
def test_what_is_no_file_of_settings_is_refused_by_name(rag, tmp_path, monkeypatch, kind, make):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "rag.toml")
    for command in (("search", "backups"), ("config", "--json"), ("trust",), ("trust", "rag.toml")):
        ran = rag(*command)
        assert ran.code == 2 and "cannot read" in ran.err + ran.out, command
        assert f"it is {kind}" in ran.err + ran.out and "rag.toml" in ran.err + ran.out

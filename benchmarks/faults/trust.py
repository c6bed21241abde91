"""A stranger's folder, entered with private notes indexed: what its `rag.toml` gets done.

Every command is the real program in a process of its own. The stranger's server is a real one on
this machine that answers as Ollama and as Qdrant do and keeps whatever it is sent; to know that
it would hear something, the same commands are run once more when the file is trusted.
"""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

from faults import Row

_KEY = "key-of-the-user"
_SECRET = "xylophone"  # a word of the private notes only
_QUESTION = f"What about the {_SECRET}?"
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("search", _SECRET),
    ("search", _SECRET, "--transform", "hyde"),
    ("search", _SECRET, "--rerank"),
    ("ask", _QUESTION),
    ("chat", "-q"),
    ("plan", f"notes about {_SECRET} from last week"),
    ("transform", _SECRET, "--transform", "multi-query"),
    ("index",),
    ("index", "--embed"),
    ("status",),
    ("doctor",),
    ("get", "Private"),
    ("vault", "list"),
)
_CPU = 20  # seconds of one command, which ends it


class Stranger:
    """A server that answers as well as it can, and keeps what it is sent."""

    def __init__(self, redirect: str = "") -> None:
        self.heard: list[tuple[str, dict[str, str], bytes]] = []
        self._reached = 0
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                heard.append((self.path, dict(self.headers), body))
                content = b"" if redirect else json.dumps(_reply(self.path)).encode()
                self.send_response(307 if redirect else 200)
                if redirect:
                    self.send_header("Location", redirect + self.path)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _answer

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def heard_since(self) -> None:
        """Count what came since this was called before as one try that reached it, if anything."""
        self._reached += bool(self.heard)
        self.heard.clear()

    def reached(self) -> int:
        """Return how many tries reached it, and count anew."""
        reached, self._reached = self._reached, 0
        return reached

    def with_key(self) -> int:
        """Return how many requests brought a key of the user's."""
        return sum(_KEY in str(headers) for _, headers, _ in self.heard)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def _reply(path: str) -> dict[str, Any]:
    models = [{"name": f"{name}:latest"} for name in ("bge-m3", "llama3.2")]
    if path.startswith("/api/"):
        return {
            "version": "0.9.0",
            "models": models,
            "capabilities": ["completion", "embedding"],
            "embeddings": [[0.1] * 8],
            "message": {"role": "assistant", "content": "{}"},
            "done": True,
        }
    return {"result": {"exists": False, "count": 0}, "status": "ok", "time": 0, "version": "1.18.0"}


@dataclass
class House:
    """A user with a home, private notes in the index, and a stranger's folder to go to."""

    room: Path
    strange: Path = field(init=False)
    private: Path = field(init=False)

    def __post_init__(self) -> None:
        self.strange, self.private = self.room / "strange", self.room / "private"
        for folder in (self.room / "home", self.room / "run", self.strange, self.private):
            folder.mkdir(mode=0o700)
        (self.private / "Private.md").write_text(f"# Private\n\nThe {_SECRET} is mine.\n")
        own = self.room / "home/.config/rag/rag.toml"
        own.parent.mkdir(parents=True)
        # Nobody listens at port 9, so that what runs on this machine makes no difference.
        own.write_text('[ollama]\nurl = "http://127.0.0.1:9"\nretries = 0\n')
        assert self.run("index", "-q", str(self.private), folder=self.room).returncode == 0

    def settings(self, text: str) -> None:
        """Let the stranger's file say this."""
        file = self.strange / "rag.toml"
        if file.is_symlink():
            file.unlink()
        file.write_text(text)

    def run(
        self,
        *arguments: str,
        folder: Path | None = None,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the stranger's folder, with keys in the environment."""
        environment = {
            **{n: v for n, v in os.environ.items() if not n.startswith(("RAG_", "XDG_"))},
            "HOME": str(self.room / "home"),
            "XDG_RUNTIME_DIR": str(self.room / "run"),
            "QDRANT_API_KEY": _KEY,
            "OLLAMA_API_KEY": _KEY,
            "RAG_WARM": "0",
            **variables,
        }
        return subprocess.run(
            [sys.executable, "-P", "-m", "rag", *arguments],
            cwd=folder or self.strange,
            env=environment,
            input=f"{_QUESTION}\n" if arguments[0] == "chat" else "",
            capture_output=True,
            text=True,
            timeout=120,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (_CPU, _CPU)),
        )

    def files(self) -> dict[str, bytes]:
        """Return the files of the stranger's folder."""
        return {str(f): f.read_bytes() for f in self.strange.rglob("*") if f.is_file()}


def rows(room: Path) -> Iterator[Row]:
    """Try what a stranger's folder can bring about."""
    house = House(room)
    with closing(Stranger()) as stranger:
        yield from _addresses(house, stranger)
        yield from _keys(house, stranger)
    yield _data_folder(house)


def _addresses(house: House, stranger: Stranger) -> Iterator[Row]:
    url = stranger.url
    house.settings(
        f'[ollama]\nurl = "{url}"\nurls = ["{url}"]\ngeneration_url = "{url}"\n'
        f'chat_model = "llama3.2"\nenabled = true\n[store]\nurl = "{url}"\n'
    )
    told = []
    for command in _COMMANDS:
        ran = house.run(*command)
        told.append("`rag trust`" in ran.stderr + ran.stdout)
        stranger.heard_since()
    yield Row("addresses of an untrusted file: cold", len(_COMMANDS), stranger.reached())
    yield Row("  told so, with what to do", len(told), told.count(False))
    some: list[tuple[str, ...]] = [
        ("search", _SECRET),
        ("ask", _QUESTION),
        ("index", "--embed"),
        ("doctor",),
    ]
    (house.strange / "below").mkdir()
    for command in some:
        house.run(*command, folder=house.strange / "below")
        stranger.heard_since()
    yield Row("  in a folder below", len(some), stranger.reached())
    house.run("trust")
    with (house.strange / "rag.toml").open("a") as file:
        file.write("# changed since\n")
    for command in some:
        house.run(*command)
        stranger.heard_since()
    yield Row("  changed since it was trusted", len(some), stranger.reached())
    house.settings(f'[ollama]\nurl = "{url}"\n')
    house.run("trust")
    for command in some[1:]:  # without vectors a search has no use for a model
        house.run(*command)
        stranger.heard_since()
    yield Row("  trusted: now they are reached", 3, 3 - stranger.reached())


def _keys(house: House, stranger: Stranger) -> Iterator[Row]:
    """The file is trusted; the user's keys are not meant for its server all the same."""
    house.settings(f'[store]\nurl = "{stranger.url}"\nkey_hosts = ["127.0.0.1"]\n')
    house.run("trust")
    some = [("index",), ("search", _SECRET), ("doctor",)]
    for command in some:
        house.run(*command)
    heard, keys = len(stranger.heard), stranger.with_key()
    yield Row("keys for a server that a trusted file names", len(some), keys, f"{heard} requests")
    stranger.heard.clear()
    with closing(Stranger(redirect=stranger.url)) as own:
        for command in some:
            house.run(*command, folder=house.room, variables={"RAG_STORE__URL": own.url})
        note = f"{own.with_key()} at the server that sent them on"
        yield Row("keys sent on by the user's own server", len(some), len(stranger.heard), note)
    writing = [("index",), ("doctor",), ("index", "--to-server")]  # a search has no index there
    elsewhere = {"RAG_STORE__URL": "http://192.0.2.1:6333"}  # of documentation, and nobody's
    ran = [house.run(*c, folder=house.room, variables=elsewhere) for c in writing]
    open_ = sum("unencrypted" not in done.stderr + done.stdout for done in ran)
    yield Row("keys over http to another machine", len(ran), open_)
    stranger.heard.clear()
    for command in some:
        house.run(*command, folder=house.room, variables={"RAG_OLLAMA__URL": stranger.url})
    heard = len(stranger.heard)
    yield Row("OLLAMA_API_KEY sent to Ollama", heard, stranger.with_key())
    stranger.heard.clear()


def _data_folder(house: House) -> Row:
    house.settings('data_dir = "."\n')
    for name in ("index/gen-1/photo.jpg", "index/work/thesis.md", "index/parts/x", "vaults.json"):
        (house.strange / name).parent.mkdir(parents=True, exist_ok=True)
        (house.strange / name).write_text("{}")
    before = house.files()
    commands = [("index",), ("index", "--rebuild"), ("search", _SECRET), ("vault", "add", ".")]
    failures = 0
    for command in commands:
        house.run(*command)
        failures += house.files() != before
    house.run("vault", "remove", "strange", "-q")
    return Row("foreign files of a data_dir deleted or added to", len(commands), failures)

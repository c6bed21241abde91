"""A Qdrant server on a real socket: the REST interface over the client's own in-memory engine.

No server binary is at hand where these tests run. The engine is Qdrant's own, in Python, slow
and exact; what the client sends and reads is what it sends to a server of any size. As a real
server it compresses what it answers for whoever says that it reads that.

    with QdrantServer() as server:
        StoreConfig(url=server.url)
        server.engine.count("obsidian_knowledge")   # the in-memory client
        server.fail("status", status=503)           # every request from now on
        server.requests                             # (method, path, headers) as they came
        server.is_ready = False                     # `/readyz` answers 503, all else as ever
"""

import gzip
import json
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from qdrant_client import models
from qdrant_client.http.models import (
    CountRequest,
    CreateCollection,
    CreateFieldIndex,
    PointIdsList,
    PointRequest,
    PointsList,
    QueryRequestBatch,
    ScrollRequest,
    SetPayload,
    UpdateCollection,
    UpdateVectors,
)
from qdrant_client.local.qdrant_local import QdrantLocal

from qdrant_shards import Shards

VERSION = "1.18.3"
# What needs no key, and is no answer of the kind that all else gives.
_OPEN = ("/", "/readyz")
KINDS = ("status", "garbage", "deep", "deep_error", "html", "null", "hang", "drip", "hangup", "cut")
_DONE = models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


class QdrantServer:
    """One server with a port of its own; a context manager.

    :param key: the API key that it asks for, or "".
    :param nodes: how many there are in its cluster; it is the first.
    """

    def __init__(self, key: str = "", nodes: int = 1) -> None:
        self.key = key
        self.nodes = nodes
        self.is_ready = True
        self.compressed: list[str] = []  # the paths of the requests whose answers were
        self.engine = QdrantLocal(":memory:")
        self.shards = Shards(self.engine)
        self.indexes: dict[str, dict[str, Any]] = {}  # the in-memory engine has none
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.created: dict[str, dict[str, Any]] = {}  # how each collection was asked for
        self.mutex = threading.Lock()
        self.closing = threading.Event()
        self.fault: tuple[str, int, str] | None = None
        self.spared = 0
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.qdrant = self
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it: from now on connections are refused."""
        if not self.closing.is_set():
            self.closing.set()
            self._http.shutdown()
            self._http.server_close()

    def fail(self, kind: str, status: int = 500, text: str = "", after: int = 0) -> None:
        """Let every request fail, from the one after the next `after` on; `""` ends it.

        :param kind: one of `KINDS`, or "redirect".
        :param text: what an answer of that status says; for "redirect" the server it names.
        """
        self.fault = (kind, status, text) if kind else None
        self.spared = after

    def next_fault(self) -> tuple[str, int, str] | None:
        """Return the fault of this request."""
        if self.spared:
            self.spared -= 1
            return None
        return self.fault

    def paths(self) -> list[str]:
        """Return method and path of every request so far."""
        return [f"{method} {path}" for method, path, _ in self.requests]

    # -- the interface -----------------------------------------------------------------

    def answer(self, method: str, path: str, body: bytes) -> Any:
        """Do what a request asks and return its result.

        :raises LookupError: when there is no such collection or place.
        :raises ValueError: for a request that is wrong.
        """
        _, name, *rest = [unquote(part) for part in path.strip("/").split("/")]
        if rest == ["exists"]:
            exists = self.engine.collection_exists(name)
            return models.CollectionExistence(exists=exists)
        if (method, rest) == ("PUT", []):
            return self._create(name, body)
        if not self.engine.collection_exists(name):
            raise LookupError(f"Not found: Collection `{name}` doesn't exist!")
        if rest[:1] == ["vectors"]:
            return self._vector_name(method, name, rest[1], body)
        calls: dict[tuple[str, str], Callable[[str, bytes], Any]] = {
            ("GET", ""): self._describe,
            ("PATCH", ""): self._update,
            ("PUT", "index"): self._index,
            ("PUT", "points"): self._upsert,
            ("POST", "points"): self._retrieve,
            ("PUT", "points/payload"): self._payload,
            ("POST", "points/delete"): self._delete,
            ("POST", "points/count"): self._count,
            ("POST", "points/scroll"): self._scroll,
            ("POST", "points/query/batch"): self._query,
            ("PUT", "points/vectors"): self._vectors,
        }
        if (method, "/".join(rest)) not in calls:
            raise LookupError("")
        return calls[method, "/".join(rest)](name, body)

    def _create(self, name: str, body: bytes) -> bool:
        asked = CreateCollection.model_validate_json(body)
        if self.engine.collection_exists(name):
            raise ValueError(f"Collection `{name}` already exists!")
        self.created[name] = json.loads(body)
        self.indexes[name] = {}
        return self.shards.create(name, asked, asked.shard_number or self.nodes)

    def _describe(self, name: str, _: bytes) -> Any:
        info = self.engine.get_collection(name)
        asked = self.created[name]
        layout = {
            "shard_number": len(self.shards.names(name)),
            "replication_factor": asked.get("replication_factor") or 1,
            "write_consistency_factor": asked.get("write_consistency_factor") or 1,
        }
        config = info.config.model_copy(
            update={"params": info.config.params.model_copy(update=layout)}
        )
        changes = {
            "config": config,
            "payload_schema": self.indexes[name],
            "points_count": self.shards.count(name),
        }
        return info.model_copy(update=changes)

    def _update(self, name: str, body: bytes) -> bool:
        asked = UpdateCollection.model_validate_json(body)
        updated = self.created[name].setdefault("updated", {})
        for part, changes in json.loads(body).items():
            updated.setdefault(part, {}).update(changes or {})
        return self.shards.update(name, asked)

    def _index(self, name: str, body: bytes) -> Any:
        asked = CreateFieldIndex.model_validate_json(body)
        kind = models.PayloadIndexInfo(data_type=asked.field_schema, points=0)
        self.indexes[name][asked.field_name] = kind
        return _DONE

    def _vector_name(self, method: str, name: str, vector: str, body: bytes) -> Any:
        if method == "DELETE":
            return self.shards.delete_vector_name(name, vector)
        space = models.DenseVectorNameConfig.model_validate_json(body)
        self.created[name].setdefault("dense", {})[vector] = json.loads(body)["dense"]
        return self.shards.create_vector_name(name, vector, space)

    def _upsert(self, name: str, body: bytes) -> Any:
        asked = PointsList.model_validate_json(body)
        self.shards.upsert(name, asked.points, asked.update_mode)
        return _DONE

    def _payload(self, name: str, body: bytes) -> Any:
        asked = SetPayload.model_validate_json(body)
        self.shards.overwrite_payload(name, asked.payload, asked.filter)
        return _DONE

    def _retrieve(self, name: str, body: bytes) -> Any:
        asked = PointRequest.model_validate_json(body)
        return self.shards.retrieve(name, asked.ids, asked.with_payload, asked.with_vector or False)

    def _delete(self, name: str, body: bytes) -> Any:
        asked = json.loads(body)
        if "filter" in asked:
            self.shards.delete_where(name, models.Filter.model_validate(asked["filter"]))
        else:
            self.shards.delete(name, PointIdsList.model_validate(asked).points)
        return _DONE

    def _count(self, name: str, body: bytes) -> Any:
        asked = CountRequest.model_validate_json(body)
        return models.CountResult(count=self.shards.count(name, asked.filter))

    def _scroll(self, name: str, body: bytes) -> Any:
        return self.shards.scroll(name, ScrollRequest.model_validate_json(body))

    def _query(self, name: str, body: bytes) -> Any:
        return self.shards.query(name, QueryRequestBatch.model_validate_json(body).searches)

    def _vectors(self, name: str, body: bytes) -> Any:
        points = UpdateVectors.model_validate_json(body).points
        missing = {str(p.id) for p in points}
        missing -= {str(p.id) for p in self.shards.retrieve(name, list(missing), False, False)}
        if missing:
            raise LookupError(f"Not found: No point with id {missing.pop()} found")
        self.shards.update_vectors(name, points)
        return _DONE


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    qdrant: QdrantServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def log_message(self, *_: Any) -> None:
        pass

    def _handle(self) -> None:
        qdrant = self.server.qdrant
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        qdrant.requests.append((self.command, path, dict(self.headers)))
        fault = qdrant.next_fault()
        with suppress(OSError):
            if fault:
                self._fail(*fault)
            elif path in _OPEN:
                self._introduce(path)
            elif qdrant.key and self.headers.get("api-key") != qdrant.key:
                self._send(401, b"Must provide an API key or an Authorization bearer token")
            else:
                self._send(*self._answer(path, body))

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _handle

    def _introduce(self, path: str) -> None:
        if path == "/":
            about = {"title": "qdrant - vector search engine", "version": VERSION}
            self._send(200, json.dumps(about).encode())
        elif self.server.qdrant.is_ready:
            self._send(200, b"all shards are ready", "text/plain")
        else:
            self._send(503, b"some shards are not ready", "text/plain")

    def _answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        try:
            with self.server.qdrant.mutex, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = self.server.qdrant.answer(self.command, path, body)
        except LookupError as error:
            return 404, _error(str(error.args[0] if error.args else ""))
        except (ValueError, AssertionError) as error:
            return 400, _error(f"Wrong input: {error}")
        return 200, json.dumps({"result": _plain(result), "status": "ok", "time": 0.001}).encode()

    def _send(self, status: int, content: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            self.server.qdrant.compressed.append(self.path)
            self.send_header("Content-Encoding", "gzip")
            content = gzip.compress(content)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _fail(self, kind: str, status: int, text: str) -> None:
        match kind:
            case "status":
                self._send(status, text.encode() or _error("Service internal error"))
            case "redirect":  # to the server that `text` names
                self.send_response(status)
                self.send_header("Location", text + self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()
            case "garbage":
                self._send(200, b"\xff\xfe{]")
            case "deep":
                self._send(200, b"[" * 100_000)
            case "deep_error":
                self._send(500, b"[" * 100_000)
            case "html":
                self._send(200, b"<html><body>Welcome to nginx!</body></html>", "text/html")
            case "null":
                self._send(200, b'{"result": null, "status": "ok", "time": 0}')
            case "hang":
                self.server.qdrant.closing.wait(30)
            case "drip":
                self._drip()
            case "cut":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b'{"result"')
        self.close_connection = True

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        while not self.server.qdrant.closing.is_set():
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.02)


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return [_plain(item) for item in result]
    return result.model_dump(mode="json") if hasattr(result, "model_dump") else result


def _error(text: str) -> bytes:
    return json.dumps({"status": {"error": text}, "time": 0.0}).encode()

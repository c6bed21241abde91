"""An Ollama server for tests, on a real socket of the loopback interface.

    with OllamaServer(models=["nomic-embed-text", "llama3.2"]) as server:
        server.fail("/api/embed", status=500, times=1)
        server.say("Holds expire after 9 minutes. [1]")
        ...  # a client at server.url
        assert server.requests("/api/embed")[0].inputs == ["search_query: holds"]

The API is in ollama_api.py and ollama_shapes.py, the models and their vectors in
ollama_models.py, the replies in ollama_replies.py, what can go wrong in ollama_faults.py, and
the sockets in ollama_http.py.
"""

import socket
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from ollama_api import Api
from ollama_faults import Fault, FaultBook
from ollama_http import TICK, Handler, HttpServer, Request
from ollama_models import KNOWN, Model
from ollama_replies import Reply, Says, Script

__all__ = ["KNOWN", "Model", "OllamaServer", "Reply", "Request", "refused"]


class OllamaServer:
    """A server that answers as Ollama does, says what it is told to, and notes all it is sent.

    :param models: names out of `KNOWN`, or models of the test's own.
    :param answer: what a chat model says when nothing is queued: request body to text,
        mapping or `Reply`; without it the default reply.
    :param kwargs: for `Api`: `overflow`, `refuses`, `counts_cached`.
    """

    def __init__(
        self,
        models: Iterable[str | Model] = ("nomic-embed-text", "llama3.2"),
        *,
        answer: Script | None = None,
        **kwargs: Any,
    ) -> None:
        made = (m if isinstance(m, Model) else KNOWN[m] for m in models)
        self.api: Any = self.make_api(made, **kwargs)
        self.api.answer = answer
        self.models = self.api.models  # by name; a test may add, replace and remove some
        self.faults = FaultBook()
        self.closing = threading.Event()
        self.errors: list[BaseException] = []
        self.connections = 0
        self.lock = threading.Lock()
        self._requests: list[Request] = []
        self._in_flight: Counter[str] = Counter()
        self._most: Counter[str] = Counter()
        self._http = HttpServer(("127.0.0.1", 0), Handler)
        self._http.ollama = self
        self.port: int = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(TICK,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()
        if self.errors and kind is None:
            raise self.errors[0]

    def make_api(self, models: Iterable[Model], **kwargs: Any) -> Any:
        """Return what answers; another server of this kind has another API."""
        return Api(models, **kwargs)

    def answer_to(self, request: Request, consume: bool) -> Any:
        """Return the answer to a request."""
        return self.api.respond(request.method, request.path, request.body, consume=consume)

    def close(self) -> None:
        """Break every connection and stop; from then on connections are refused."""
        if not self.closing.is_set():
            self.closing.set()
            self._http.shutdown()
            self._http.end_connections()
            self._http.server_close()
            self._thread.join(2)

    def say(self, *replies: Says | Script) -> None:
        """Queue what the chat models say next: texts, mappings (as JSON), `Reply`s, callables."""
        with self.api.lock:
            self.api.queue.extend(replies)

    def fail(self, path: str, kind: str = "status", **options: Any) -> Fault:
        """Set a fault for the next request to `path`; `times`, `after`, `when` choose others.

        :param kind: one of `ollama_faults.KINDS`; the options are those of `Fault`.
        """
        return self.faults.add(Fault(path, kind, **options))

    def poison(self, text: str, status: int = 500) -> Fault:
        """Fail every embed request that holds `text`, whatever else it holds."""

        def holds(request: Request) -> bool:
            return any(text in given for given in request.inputs)

        return self.fail("/api/embed", status=status, times=None, when=holds)

    def heal(self) -> None:
        """Take all faults back."""
        self.faults.clear()

    def requests(self, path: str | None = None) -> list[Request]:
        """Return the requests so far, to one path or to all, in the order of their arrival."""
        with self.lock:
            return [r for r in self._requests if path in (None, r.path)]

    def inputs(self) -> list[str]:
        """Return every text a vector was asked for, prefixes and all."""
        return [text for request in self.requests("/api/embed") for text in request.inputs]

    def computed(self) -> Counter[str]:
        """Count how often the vector of each text was computed, for answers with errors too."""
        with self.api.lock:
            return Counter(self.api.computed)

    def most_in_flight(self, path: str = "*") -> int:
        """Return how many requests, to one path or to all, were ever unanswered at once."""
        with self.lock:
            return self._most[path]

    def arrived(self, request: Request) -> None:
        """Note a request."""
        with self.lock:
            request.number = len(self._requests)
            self._requests.append(request)
            for key in ("*", request.path):
                self._in_flight[key] += 1
                self._most[key] = max(self._most[key], self._in_flight[key])
            request.in_flight = self._in_flight["*"]

    def finished(self, request: Request, status: int) -> None:
        """Note its answer; before the last byte of it leaves, so that a client that goes on to
        the next request is not counted twice."""
        with self.lock:
            if not request.finished:
                request.finished, request.status = True, status
                for key in ("*", request.path):
                    self._in_flight[key] -= 1


@contextmanager
def refused() -> Iterator[str]:
    """Give the URL of a port that refuses connections for as long as the context lasts."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}"

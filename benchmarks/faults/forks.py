"""Commands of the program in processes that are forked from this one, which has imported it."""

import atexit
import json
import os
import resource
import signal
import sys
import threading
import traceback
from array import array
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from zlib import crc32

_SECONDS = 120  # that a command may take on a busy machine
_MEMORY = 16 << 30  # bytes that it may map: a damaged length may ask for any number
_PASSING = ("indexed_at", "racy", "mtime_ns")  # of a note's row, what no two runs have alike


@dataclass
class Answer:
    """What a command printed, and its exit code: negative for a signal."""

    code: int
    output: str
    errors: str

    @property
    def traceback(self) -> str:
        """What it said when it ended as no command may; "" otherwise."""
        text = self.output + self.errors
        if self.code >= 0 and "Traceback" not in text and "panicked at" not in text:
            return ""
        return f"exit {self.code}: {(self.errors or self.output).strip()[-200:]}"


def preload() -> None:
    """Import what commands need, once."""
    from rag.daemon.server import preload as preload_all

    preload_all()


def run(data: Path, *arguments: str, kill_after: float = _SECONDS) -> Answer:
    """Run a command on a data folder, and kill it if it takes longer than so many seconds."""
    return _forked(data, lambda: _command([*arguments]), kill_after)


def contents(data: Path) -> str:
    """Return all that an index holds, in one order; what is wrong where it cannot be read."""
    answer = _forked(data, _dump)
    return answer.errors[-200:] if answer.code else answer.output


def _command(arguments: list[str]) -> int:
    from rag.cli.app import run as run_command
    from rag.support import process_exit

    sys.argv = ["rag", *arguments]
    process_exit.begin()
    return process_exit.finish(run_command(arguments))


def _dump() -> int:
    """Print each chunk, with a digest of its words, and each note of the manifest."""
    from rag.config import load_config
    from rag.stores import get_document_store

    with get_document_store(load_config()) as store:
        for document in sorted(store.filter_documents(), key=lambda each: each.id):
            sparse = document.sparse_embedding
            words = (array("I", sparse.indices), array("f", sparse.values)) if sparse else ()
            digests = [crc32(numbers.tobytes()) for numbers in words]
            facts = sorted(document.meta.items())
            print(document.id, document.content, facts, len(document.embedding or []), digests)
        manifest = store.manifest()
        assert manifest
        for row in manifest.notes():
            fields = {k: v for k, v in asdict(row).items() if k not in _PASSING}
            print(json.dumps(fields, default=str, sort_keys=True))
    return 0


def _forked(data: Path, work: Callable[[], int], kill_after: float = _SECONDS) -> Answer:
    streams = [os.memfd_create(name) for name in ("output", "errors")]
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 70
        try:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            for number, stream in enumerate(streams, 1):
                os.dup2(stream, number)
            atexit._clear()  # the folders of this process are not the command's to remove
            os.environ["RAG_DATA_DIR"] = str(data)
            os.chdir(data.parent)  # away from any project's own settings and vaults
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    killer = threading.Timer(kill_after, os.kill, (child, signal.SIGKILL))
    killer.start()
    # It stays a child until it is reaped below, so its number can be nobody else's.
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    killer.cancel()
    killer.join()
    _, status = os.waitpid(child, 0)
    texts = []
    for stream in streams:
        texts.append(os.pread(stream, os.fstat(stream).st_size, 0).decode("utf-8", "replace"))
        os.close(stream)
    return Answer(os.waitstatus_to_exitcode(status), *texts)

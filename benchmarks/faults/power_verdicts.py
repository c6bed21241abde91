"""What `rag` makes of a data folder that a power cut left: it searches, indexes, and compares.

Each command runs in a process of its own, forked from this one, which has imported the program
already: two hundred folders are looked at in a minute.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from rag.config import load_config
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store

_AT_ONCE = max(2, os.cpu_count() or 1)
SETTINGS = {"RAG_OLLAMA__ENABLED": "false", "RAG_WARM": "false", "RAG_PLANNER__AUDIT": "false"}


@dataclass(frozen=True)
class Left:
    """A data folder after a power cut.

    :param vault: the folder of its notes.
    :param word: of a note that was published before, and can therefore be found; "" when nothing
        was published yet.
    :param fresh: what an index of the notes as they are now holds.
    :param open: gives the folder when it is wanted, and `close` lets it go.
    """

    name: str
    vault: Path
    word: str
    fresh: str
    open: Callable[[], Path]
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Verdict:
    """What went wrong, if anything: at the first search, at `rag index`, and after it."""

    name: str
    search: str = ""
    index: str = ""
    after: str = ""


def judge(folders: Iterable[Left]) -> Iterator[Verdict]:
    """Look at each folder, some at a time."""
    _warm_up()
    waiting: dict[int, tuple[Left, Path]] = {}
    room = Path(tempfile.mkdtemp(prefix="rag-verdicts-"))
    try:
        for number, left in enumerate(folders):
            if len(waiting) == _AT_ONCE:
                yield _gather(waiting)
            file = room / str(number)
            waiting[_fork(partial(_judge, left, file))] = left, file
        while waiting:
            yield _gather(waiting)
    finally:
        for pid in waiting:
            os.waitpid(pid, 0)
        shutil.rmtree(room)


def run(data: Path, *arguments: str) -> tuple[int, str]:
    """Run a command on a data folder; return its exit code, and what it printed."""
    with tempfile.TemporaryFile() as output:

        def command() -> int:
            from rag.cli.app import run as run_command

            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.environ.update(SETTINGS, RAG_DATA_DIR=str(data))
            os.chdir(data.parent)  # away from any project's own settings and vaults
            return run_command(list(arguments))

        _, status = os.waitpid(_fork(command), 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode("utf-8", "replace").strip()


def contents(data: Path) -> str:
    """Return all that an index holds, in one order."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "contents"

        def read() -> int:
            os.environ.update(SETTINGS, RAG_DATA_DIR=str(data))
            with get_document_store(load_config()) as store:
                found = sorted((d.id, d.content or "") for d in store.filter_documents())
            file.write_text(json.dumps(found), "utf-8")
            return 0

        os.waitpid(_fork(read), 0)
        return file.read_text("utf-8") if file.exists() else "unreadable"


def _judge(left: Left, file: Path) -> int:
    try:
        data = left.open()
        verdict = {
            "search": _searched(data, left.word),
            "index": _indexed(data, *([] if left.word else [str(left.vault)])),
            "after": "" if contents(data) == left.fresh else "the index does not hold the notes",
        }
        file.write_text(json.dumps(verdict), "utf-8")
    finally:
        left.close()
    return 0


def _searched(data: Path, word: str) -> str:
    code, output = run(data, "search", word or "anchor", "--paths", "--no-plan")
    if "Traceback" in output or code not in ((0,) if word else (0, 1, 3)):
        return f"exit code {code}: {output[-200:]}"
    return ""


def _indexed(data: Path, *folders: str) -> str:
    code, output = run(data, "index", "-q", *folders)
    return f"exit code {code}: {output[-300:]}" if code or "Traceback" in output else ""


def _gather(waiting: dict[int, tuple[Left, Path]]) -> Verdict:
    """Wait for one of those that look."""
    while True:
        for pid, (left, file) in waiting.items():
            if os.waitpid(pid, os.WNOHANG)[0]:
                del waiting[pid]
                if not file.exists():
                    return Verdict(left.name, search="nothing could be tried")
                return Verdict(left.name, **json.loads(file.read_text("utf-8")))
        time.sleep(0.005)


def _fork(work: Callable[[], int]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _end_with(work)
    return pid


def _end_with(work: Callable[[], int]) -> NoReturn:
    code = 70
    try:
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _warm_up() -> None:
    """Import what the commands need, once."""
    import rag.cli.app
    import rag.cli.commands.index
    import rag.cli.commands.search
    import rag.indexing.pipeline
    import rag.indexing.run

    assert rag.cli.app and rag.indexing.pipeline
    assert create_search_pipeline and search

"""Damage files of an index at random.

An index with embeddings, merged segments and one that still grows is copied; one file of its data
folder is damaged in the copy: a bit flipped, a stretch set to zeros, the end cut off, the file
deleted, or stretches of it swapped. Then commands run, each in a process of its own that forked
from this one. What the index holds in the end is compared with a whole index. Half of the damages
change the file's time, as whoever writes to it does, and `rag index` must mend them by itself. The
other half leave no trace, as a fault of the disk: `rag doctor` must find it, and `rag index` then
mend it. What searches tell of a damaged index is only counted: they leave it to the engine and to
SQLite.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from textwrap import dedent
from typing import Any
from zlib import crc32

from faults import Row
from vaults import make_vault

_TRIALS = 600
_NOTES = 56
_SECONDS = 120  # that a command may take on a busy machine
_CORE = (
    *("page_0.dat", "tracker.dat", "inverted_index.dat", "indices_tracker.json"),
    *("id_tracker.mappings", "mutable_id_tracker.mappings", "id_tracker.versions"),
    *("dimensions.sorted", "matrix.dat", "chunk_0.mmap", "manifest.sqlite3"),
)
_FIRST, _THEN = "written later", "written later and changed since"
_EPOCH = 1_700_000_000.0
_MEMORY = 16 << 30  # bytes that it may map: a damaged length may ask for any number
_SUPPORT = Path(__file__).resolve().parents[2] / "tests" / "support"
_QUERIES = ("サーバー anchor",)
# The list of vaults has no second copy: who mends it, and how, is for the part `power`.
_LEFT_OUT = ("vaults.json", "index.lock")
_SERVER = """
    import sys; sys.path.insert(0, sys.argv[1])
    from ollama_server import Model, OllamaServer

    with OllamaServer([Model("bge-m3", 64, 8192)]) as server:
        print(server.url, flush=True)
        server.closing.wait()
"""


def rows(room: Path) -> Iterator[Row]:
    """Damage; two processes do it at once."""
    half = _TRIALS // 2
    tasks = (
        partial(_try_all, room / "one", range(half)),
        partial(_try_all, room / "other", range(half, _TRIALS)),
    )
    with ThreadPoolExecutor(len(tasks)) as threads:
        one, other = threads.map(_apart, tasks)
    yield from _rows_of(one + other)


def _apart(task: Callable[[], Any]) -> Any:
    """Do something in an interpreter of its own, which may then change folders and fork."""
    code = (
        "import pickle, sys; sys.stdout.buffer.write(pickle.dumps(pickle.load(sys.stdin.buffer)()))"
    )
    command = [sys.executable, "-c", code]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        command, input=pickle.dumps(task), stdout=subprocess.PIPE, env=environment, check=True
    )
    return pickle.loads(done.stdout)


def _try_all(room: Path, numbers: range) -> list[Trial]:
    with _site(room) as site:
        return [_try(site, number) for number in numbers]


# -- the index, and commands on it -----------------------------------------------------


@dataclass
class Answer:
    """What a command printed, and its exit code."""

    code: int
    output: str
    errors: str

    @property
    def is_traceback(self) -> bool:
        return "Traceback" in self.output + self.errors


@dataclass
class Site:
    """A whole index, the copy to be damaged, and what is true of them.

    `truth` is what searches print and what the index holds, `later` the same once a note changed.
    """

    room: Path
    vault: Path
    pristine: Path
    data: Path
    truth: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)


@contextmanager
def _site(room: Path) -> Iterator[Site]:
    room.mkdir(exist_ok=True)
    site = Site(room, room / "notes", room / "pristine", room / "data")
    command = [sys.executable, "-c", dedent(_SERVER), str(_SUPPORT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            os.environ["RAG_OLLAMA__URL"] = server.stdout.readline().strip()
            os.environ["RAG_DATA_DIR"] = str(site.data)
            os.environ["RAG_SERVE__START"] = "false"
            os.chdir(room)
            _build(site)
            yield site
        finally:
            server.kill()


def _build(site: Site) -> None:
    _preload()
    make_vault(site.vault, _NOTES, _NOTES * 0.0043)
    _said("index", str(site.vault))
    _write(site.vault, _FIRST)
    _said("index")
    _said("search", "warm")
    _said("index")
    shutil.move(site.data, site.pristine)
    _copy(site)
    site.truth = _everything()
    _write(site.vault, _THEN)
    _said("index")
    site.later = _everything()
    _write(site.vault, _FIRST)


def _write(vault: Path, how: str) -> None:
    """Write the note that is added to the index later, and changed in some trials."""
    note = vault / "later.md"
    note.write_text(f"# The last\n\nAnchor word, サーバー, {how}.\n", "utf-8")
    written = _EPOCH + 1000 * len(how)  # long ago: it does not look as if somebody were at it
    os.utime(note, (written, written))


def _preload() -> None:
    from rag.daemon.server import preload

    preload()


def _said(*arguments: str) -> Answer:
    """Run a command that must succeed."""
    answer = _run(*arguments)
    assert answer.code == 0, (arguments, answer)
    return answer


def _run(*arguments: str) -> Answer:
    return _forked(lambda: _command([*arguments]))


def _command(arguments: list[str]) -> int:
    from rag.cli.app import run
    from rag.support import process_exit as leaving

    sys.argv = ["rag", *arguments]
    leaving.begin()
    return leaving.finish(run(arguments))


def _forked(work: Callable[[], int]) -> Answer:
    """Do something in a process of its own."""
    streams = [os.memfd_create(name) for name in ("output", "errors")]
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.alarm(_SECONDS)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            for number, stream in enumerate(streams, 1):
                os.dup2(stream, number)
            code = work()
        except BaseException:
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    texts = []
    for stream in streams:
        texts.append(os.pread(stream, os.fstat(stream).st_size, 0).decode("utf-8", "replace"))
        os.close(stream)
    return Answer(os.waitstatus_to_exitcode(status), *texts)


def _found() -> tuple[list[str], list[Answer]]:
    """Search; return what was found, and all that was said."""
    answers = [_run("search", "--json", "--", query) for query in _QUERIES]
    return [_results(answer) for answer in answers], answers


def _results(answer: Answer) -> str:
    """Return what a search found, or "" where it said that it could not."""
    if answer.code not in (0, 1):
        return ""
    with suppress(ValueError, KeyError):
        results = json.loads(answer.output)["results"]
        return json.dumps([{**r, "score": round(r["score"], 4), "scores": 0} for r in results])
    return answer.output or "nothing"


def _everything() -> list[str]:
    """Return what searches find, and all that the index holds: each chunk, and the manifest."""
    answer = _forked(_dump)
    assert answer.code == 0, answer.errors
    return [*_found()[0], answer.output]


def _dump() -> int:
    from rag.config import load_config
    from rag.stores import get_document_store

    with get_document_store(load_config()) as store:
        for document in store.filter_documents():
            sparse = document.sparse_embedding
            vector = len(document.embedding or [])  # those from the cache are rounded
            words = (array("I", sparse.indices), array("f", sparse.values)) if sparse else ()
            weights = [crc32(numbers.tobytes()) for numbers in words]
            print(document.id, document.content, sorted(document.meta.items()), vector, weights)
        manifest = store.manifest()
        assert manifest
        for row in manifest.notes():
            print({k: v for k, v in asdict(row).items() if k not in _PASSING})
        tables = [t for (t,) in manifest._db.execute("SELECT name FROM sqlite_master")]
        for table in sorted({*tables} & {"names", "words", "vaults"}):
            print(manifest._db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall())
    return 0


_PASSING = ("indexed_at", "racy", "mtime_ns")


# -- one trial -------------------------------------------------------------------------


@dataclass
class Trial:
    """What became of one damage."""

    what: str
    kind: str
    leaves_trace: bool
    wrong: str = ""
    traceback: str = ""
    unmended: str = ""
    unseen: bool = False

    @property
    def is_harmless(self) -> bool:
        """Whether the file only saves time, and nothing is taken from it unchecked."""
        return Path(self.what).name in (".rag-data", "vectors.sqlite3")


def _copy(site: Site) -> None:
    """Copy the whole index, names that share a file included, and let it look untouched."""
    shutil.rmtree(site.data, ignore_errors=True)
    subprocess.run(["cp", "-a", "--sparse=always", site.pristine, site.data], check=True)


def _try(site: Site, number: int) -> Trial:
    rng = random.Random(number)
    _copy(site)
    files = sorted(f for f in site.data.rglob("*") if f.is_file() and f.name not in _LEFT_OUT)
    if number % 4 >= 2:  # half of them where most of the index is
        files = [file for file in files if file.name in _CORE]
    leaves_trace = bool(number % 2)
    file, kind = _damage(rng, files, leaves_trace)
    trial = Trial(str(file.relative_to(site.data)), kind, leaves_trace)
    is_changed = number % 6 >= 4  # the damage may be published again
    if leaves_trace:
        found, answers = _found()
        _compare(trial, site.truth, found, answers)
    else:
        answer = _run("doctor")
        trial.traceback = trial.traceback or _traceback_of(answer)
        trial.unseen = answer.code == 0
    truth = site.truth
    if is_changed:
        _write(site.vault, _THEN)
        truth = site.later
    answer = _run("index")
    trial.traceback = trial.traceback or _traceback_of(answer)
    if answer.code:
        trial.unmended = f"exit {answer.code}: {answer.errors.strip()[:150]}"
    elif (held := _forked(_dump)).output != truth[-1]:
        trial.unmended = f"another index than it was {held.errors[-100:]}"
    if is_changed:
        _write(site.vault, _FIRST)
    return trial


def _damage(rng: random.Random, files: list[Path], leaves_trace: bool) -> tuple[Path, str]:
    """Damage one of some files, which else looks as old as before; return which, and how."""
    while True:
        file, kind = rng.choice(files), rng.choice([*_KINDS])
        facts, before = file.stat(), file.read_bytes()
        if before:
            _KINDS[kind](rng, file)
        if not file.exists():
            return file, kind
        if not leaves_trace:
            os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        if file.read_bytes() != before:  # zeros may have been swapped with zeros
            return file, kind


def _compare(trial: Trial, truth: list[str], found: list[str], answers: list[Answer]) -> None:
    """Note where a search was wrong without a word."""
    for right, one, answer in zip(truth, found, answers, strict=False):
        trial.traceback = trial.traceback or _traceback_of(answer)
        if one and one != right:
            trial.wrong = one[:100]


def _traceback_of(answer: Answer) -> str:
    if not answer.is_traceback and answer.code >= 0:
        return ""
    return f"exit {answer.code}: {(answer.errors or answer.output).strip()[-200:]}"


def _flip(rng: random.Random, file: Path) -> None:
    place = _place(rng, file)
    with file.open("r+b") as opened:
        opened.seek(place)
        old = opened.read(1) or b"\0"
        opened.seek(place)
        opened.write(bytes([old[0] ^ 1 << rng.randrange(8)]))


def _zero(rng: random.Random, file: Path) -> None:
    place = _place(rng, file)
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(bytes(min(rng.choice([16, 512, 4096]), file.stat().st_size - place)))


def _cut(rng: random.Random, file: Path) -> None:
    os.truncate(file, _place(rng, file))


def _swap(rng: random.Random, file: Path) -> None:
    """Swap two stretches of a file."""
    with file.open("r+b") as opened:
        size = max(1, min(4096, file.stat().st_size // 4))
        places = sorted([_place(rng, file, size), rng.randrange(file.stat().st_size - size + 1)])
        texts = []
        for place in places:
            opened.seek(place)
            texts.append(opened.read(size))
        for place, text in zip(places, reversed(texts), strict=True):
            opened.seek(place)
            opened.write(text)


def _delete(rng: random.Random, file: Path) -> None:
    file.unlink()


_KINDS: dict[str, Callable[[random.Random, Path], None]] = {
    "flip": _flip,
    "zero": _zero,
    "cut": _cut,
    "delete": _delete,
    "swap": _swap,
}


def _place(rng: random.Random, file: Path, room: int = 1) -> int:
    """Return a place in a file, in nine of ten cases one where something is written."""
    size = file.stat().st_size
    if not size:
        return 0
    pages = _pages(str(file), file.stat().st_ino)
    if pages and rng.random() < 0.9:
        return min(rng.choice(pages) + rng.randrange(4096), max(0, size - room))
    return rng.randrange(max(1, size - room + 1))


@cache
def _pages(file: str, inode: int) -> list[int]:
    text = Path(file).read_bytes()
    return [at for at in range(0, len(text), 4096) if text[at : at + 4096].strip(b"\0")]


def _rows_of(trials: list[Trial]) -> Iterator[Row]:
    seen = [trial for trial in trials if trial.leaves_trace]
    wrong = [trial for trial in seen if trial.wrong]
    note = f"{len(wrong)} found other parts, which is not promised. {_first(wrong)}"
    yield Row("damage: searches of a damaged index", len(seen), 0, note)
    unmended = [trial for trial in trials if trial.unmended]
    note = _first(unmended, "unmended")
    yield Row("damage: not mended by a plain `rag index`", len(trials), len(unmended), note)
    broken = [trial for trial in trials if trial.traceback]
    yield Row(
        "damage: tracebacks and panics", len(trials), len(broken), _first(broken, "traceback")
    )
    asked = [t for t in trials if not (t.leaves_trace or t.is_harmless)]
    unseen = [trial for trial in asked if trial.unseen]
    what = "damage without a trace: `rag doctor` content"
    yield Row(what, len(asked), len(unseen), _first(unseen, "unseen"))


def _first(trials: list[Trial], why: str = "wrong") -> str:
    if not trials:
        return ""
    one = trials[0]
    return " ".join(f"{one.kind} {one.what}: {getattr(one, why)}".split())[:300]

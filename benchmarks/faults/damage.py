"""Damage files of an index at random.

An index with embeddings, merged segments and one that still grows is copied; one file of its data
folder is damaged in the copy: a bit flipped, a stretch set to zeros, the end cut off, or the
file deleted. What the index holds in the end is compared with a whole one.
Half of the damages change the file's time, as whoever writes to it does, and `rag index` must mend
them by itself. The others leave no trace, as a fault of the disk: `rag doctor` must find them, and
`rag index` then mend them. What searches find in a damaged index is only counted.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

from faults import Row
from faults.forks import Answer, contents, preload, run
from vaults import make_vault

_TRIALS = 300
_NOTES = 56
_CORE = (
    *("page_0.dat", "tracker.dat", "inverted_index.dat", "indices_tracker.json"),
    *("id_tracker.mappings", "mutable_id_tracker.mappings", "id_tracker.versions"),
    *("dimensions.sorted", "matrix.dat", "chunk_0.mmap", "manifest.sqlite3"),
)
_FIRST, _THEN = "written later", "written later and changed since"
_EPOCH = 1_700_000_000.0
_SUPPORT = Path(__file__).resolve().parents[2] / "tests" / "support"
_SEARCH = ("search", "--paths", "--", "サーバー anchor")
# The list of vaults has no second copy: who mends it, and how, is for the part `power`.
_LEFT_OUT = ("vaults.json", "index.lock")
_SERVER = """
    import sys; sys.path.insert(0, sys.argv[1])
    from ollama_server import Model, OllamaServer

    with OllamaServer([Model("bge-m3", 64, 8192)]) as server:
        print(server.url, flush=True)
        server.closing.wait()
"""


@dataclass
class Site:
    """A whole index, the copy to be damaged, and what the index holds: now, and once a note
    changed."""

    vault: Path
    pristine: Path
    data: Path
    now: str = ""
    later: str = ""


@dataclass
class Trial:
    """What became of one damage; texts are "" where all went well."""

    what: str
    leaves_trace: bool
    found: str = ""
    traceback: str = ""
    unmended: str = ""
    unseen: bool = False

    def note(self, answer: Answer) -> Answer:
        self.traceback = self.traceback or answer.traceback
        return answer


def rows(room: Path) -> Iterator[Row]:
    """Damage, and mend."""
    with _site(room) as site:
        truth = run(site.data, *_SEARCH).output
        trials = [_try(site, number, truth) for number in range(_TRIALS)]
    seen = [trial for trial in trials if trial.leaves_trace]
    wrong = [trial for trial in seen if trial.found]
    note = f"{len(wrong)} found other notes, which is not promised"
    yield Row("damage: searches of a damaged index", len(seen), 0, note)
    for what, part in (
        ("damage: not mended by a plain `rag index`", "unmended"),
        ("damage: tracebacks and panics", "traceback"),
    ):
        failed = [trial for trial in trials if getattr(trial, part)]
        first = [" ".join(f"{trial.what}: {getattr(trial, part)}".split()) for trial in failed[:1]]
        yield Row(what, len(trials), len(failed), "".join(first)[:300])
    # What only saves time, and of which nothing is taken unchecked, may be damaged unseen.
    harmless = (".rag-data", "vectors.sqlite3")
    asked = [t for t in trials if not t.leaves_trace and not t.what.endswith(harmless)]
    unseen = [trial.what for trial in asked if trial.unseen]
    what = "damage without a trace: `rag doctor` content"
    yield Row(what, len(asked), len(unseen), "".join(unseen[:1]))


@contextmanager
def _site(room: Path) -> Iterator[Site]:
    site = Site(room / "notes", room / "pristine", room / "data")
    command = [sys.executable, "-c", dedent(_SERVER), str(_SUPPORT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            os.environ["RAG_OLLAMA__URL"] = server.stdout.readline().strip()
            _build(site)
            yield site
        finally:
            server.kill()


def _build(site: Site) -> None:
    preload()
    make_vault(site.vault, _NOTES, _NOTES * 0.0043)
    _succeed(site, "index", str(site.vault))
    _write(site.vault, _FIRST)
    _succeed(site, "index")
    _succeed(site, "search", "anchor")
    _succeed(site, "index")
    shutil.move(site.data, site.pristine)
    _copy(site)
    site.now = contents(site.data)
    _write(site.vault, _THEN)
    _succeed(site, "index")
    site.later = contents(site.data)
    _write(site.vault, _FIRST)


def _succeed(site: Site, *arguments: str) -> None:
    answer = run(site.data, *arguments)
    assert answer.code == 0, (arguments, answer)


def _write(vault: Path, how: str) -> None:
    """Write the note that is added to the index later, and changed in some trials."""
    note = vault / "later.md"
    note.write_text(f"# The last\n\nAnchor word, サーバー, {how}.\n", "utf-8")
    written = _EPOCH + 1000 * len(how)  # long ago: it does not look as if somebody were at it
    os.utime(note, (written, written))


def _copy(site: Site) -> None:
    """Copy the whole index, names that share a file included, and let it look untouched."""
    shutil.rmtree(site.data, ignore_errors=True)
    subprocess.run(["cp", "-a", "--sparse=always", site.pristine, site.data], check=True)


def _try(site: Site, number: int, truth: str) -> Trial:
    rng = random.Random(number)
    _copy(site)
    files = sorted(f for f in site.data.rglob("*") if f.is_file() and f.name not in _LEFT_OUT)
    if number % 4 >= 2:  # half of them where most of the index is
        files = [file for file in files if file.name in _CORE]
    leaves_trace = bool(number % 2)
    file, kind = _damage(rng, files, leaves_trace)
    trial = Trial(f"{kind} {file.relative_to(site.data)}", leaves_trace)
    if leaves_trace:
        answer = trial.note(run(site.data, *_SEARCH))
        trial.found = answer.output if answer.code == 0 and answer.output != truth else ""
    else:
        trial.unseen = trial.note(run(site.data, "doctor")).code == 0
    is_changed = number % 6 >= 4  # the damage may be published again
    if is_changed:
        _write(site.vault, _THEN)
    answer = trial.note(run(site.data, "index"))
    if answer.code:
        trial.unmended = f"exit {answer.code}: {answer.errors.strip()[:150]}"
    elif contents(site.data) != (site.later if is_changed else site.now):
        trial.unmended = "another index than it was"
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
        if file.read_bytes() != before:  # there may have been zeros before
            return file, kind


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


def _delete(rng: random.Random, file: Path) -> None:
    file.unlink()


_KINDS: dict[str, Callable[[random.Random, Path], None]] = {
    "flip": _flip,
    "zero": _zero,
    "cut": _cut,
    "delete": _delete,
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

"""How each program is driven: the commands with which its users index, update and search."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from baselines import PeerMissing

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src"
RAG, RAG_WARM, QMD, RIPGREP = "rag", "rag, warm", "qmd", "ripgrep"
# What a console script is; the one beside Python may belong to another checkout.
_CONSOLE_SCRIPT = "import sys\n\nfrom rag.__main__ import main\n\nsys.exit(main())\n"


@dataclass(frozen=True)
class Command:
    """What is run, with which variables and where."""

    line: Sequence[str]
    environment: Mapping[str, str]
    folder: Path


class Competitor:
    """One program, which keeps its index in the folder `home`."""

    home = ""  # of another one that it shares
    reads: tuple[str, ...] = ("en", "ja")  # the languages whose queries it is asked
    indexes, updates = True, False
    nothing_found = 0  # the exit code of a search without results
    version: str

    def index(self, vault: Path, home: Path) -> Command:
        raise NotImplementedError

    def update(self, vault: Path, home: Path) -> Command:
        raise NotImplementedError

    def search(self, vault: Path, home: Path, query: str) -> Command:
        raise NotImplementedError

    def notes(self, home: Path, printed: str) -> int:
        """Return how many notes its index holds, `printed` being what indexing printed."""
        return int(printed.split()[-1])

    def start(self, home: Path) -> None:
        """Make ready for searches."""

    def stop(self, home: Path, searches: int) -> None:
        """End what `start` began; :raises PeerMissing: when some searches went another way."""


class Script(Competitor):
    """A program of benchmarks/programs."""

    def __init__(
        self, program: str, variant: str, reads: tuple[str, ...], package: str = ""
    ) -> None:
        self.reads, self._variant = reads, variant
        self._line = [sys.executable, str(HERE / "programs" / f"peer_{program}.py")]
        try:
            self.version = version(package) if package else sqlite3.sqlite_version
        except PackageNotFoundError as error:
            raise PeerMissing(f"the package {error.name} is not installed") from error

    def index(self, vault: Path, home: Path) -> Command:
        return self._command(home, "load", self._variant, str(vault), str(home))

    def search(self, vault: Path, home: Path, query: str) -> Command:
        return self._command(home, "search", self._variant, str(home), query)

    def _command(self, home: Path, *arguments: str) -> Command:
        return Command([*self._line, *arguments], _environment(home, PYTHONPATH=str(HERE)), home)


class Rag(Competitor):
    """This checkout. Its warm twin searches the same index, by the warm process."""

    home = RAG
    nothing_found = 1

    def __init__(self, warm: bool = False) -> None:
        self._warm, self.indexes, self.updates = warm, not warm, not warm
        text = (SOURCES / "rag" / "__init__.py").read_text("utf-8")
        self.version = re.findall(r'__version__ = "(.+)"', text)[0]

    def index(self, vault: Path, home: Path) -> Command:
        return self._command(home, "index", str(vault), "--name", "notes")

    def update(self, vault: Path, home: Path) -> Command:
        return self._command(home, "index")

    def search(self, vault: Path, home: Path, query: str) -> Command:
        return self._command(home, "search", query)

    def notes(self, home: Path, printed: str) -> int:
        return int(json.loads(self._output(home, "status", "--json"))["index"]["notes"])

    def start(self, home: Path) -> None:
        if self._warm:
            self._output(home, "warm", "--start")

    def stop(self, home: Path, searches: int) -> None:
        if self._warm:
            told = json.loads(self._output(home, "warm", "--status", "--json"))["warm"]
            self._output(home, "warm", "--stop")
            if told["commands"] < searches:
                raise PeerMissing(f"ran cold {searches - told['commands']} times of {searches}")

    def _output(self, home: Path, *arguments: str) -> str:
        return _output("rag", self._command(home, *arguments))

    def _command(self, home: Path, *arguments: str) -> Command:
        script, runtime = home / "launch.py", home / "run"
        if not script.exists():
            script.write_text(_CONSOLE_SCRIPT, "utf-8")
            runtime.mkdir(mode=0o700)
        environment = _environment(
            home,
            PYTHONPATH=str(SOURCES),
            RAG_DATA_DIR=str(home / "data"),
            RAG_OLLAMA__ENABLED="false",
            RAG_EMBEDDING__PROVIDER="none",
            XDG_RUNTIME_DIR=str(runtime),
            **({} if self._warm else {"RAG_WARM": "0"}),
        )
        return Command([sys.executable, str(script), *arguments], environment, home)


class Ripgrep(Competitor):
    """A search only: any of the words, whatever their case, counted by file."""

    indexes = False
    nothing_found = 1

    def __init__(self) -> None:
        self._program = _on_path("rg")
        self.version = _output(
            "rg", Command([self._program, "--version"], os.environ, HERE)
        ).split()[1]

    def search(self, vault: Path, home: Path, query: str) -> Command:
        words = "|".join(map(re.escape, query.split()))
        line = [self._program, "--ignore-case", "--count", words, "."]
        return Command(line, _environment(home), vault)


class Qmd(Competitor):
    """qmd's keyword search, which needs no model."""

    updates = True

    def __init__(self) -> None:
        self._program = _on_path("qmd")
        command = Command([self._program, "--version"], os.environ, HERE)
        self.version = _output("qmd", command).split()[1]  # of "qmd 2.8.3 (commit)"

    def index(self, vault: Path, home: Path) -> Command:
        return self._command(home, "collection", "add", str(vault), "--name", "notes")

    def update(self, vault: Path, home: Path) -> Command:
        return self._command(home, "update")

    def search(self, vault: Path, home: Path, query: str) -> Command:
        return self._command(home, "search", query)

    def notes(self, home: Path, printed: str) -> int:
        found = re.search(r"Total:\s+(\d+)", _output("qmd", self._command(home, "status")))
        return int(found[1]) if found else 0

    def _command(self, home: Path, *arguments: str) -> Command:
        environment = _environment(
            home, XDG_CACHE_HOME=str(home / "cache"), XDG_CONFIG_HOME=str(home / "config")
        )
        return Command([self._program, *arguments], environment, home)


_ENGLISH, _JAPANESE, _BOTH = ("en",), ("ja",), ("en", "ja")
_MAKERS: dict[str, Callable[[], Competitor]] = {
    RAG: Rag,
    RAG_WARM: partial(Rag, warm=True),
    QMD: Qmd,
    RIPGREP: Ripgrep,
    "SQLite FTS5, porter": partial(Script, "fts5", "porter", _ENGLISH),
    "SQLite FTS5, trigram": partial(Script, "fts5", "trigram", _BOTH),
    "tantivy, stemmed": partial(Script, "tantivy", "stem", _ENGLISH, "tantivy"),
    "tantivy, bigrams": partial(Script, "tantivy", "bigram", _JAPANESE, "tantivy"),
}


def competitors() -> tuple[dict[str, Competitor], dict[str, str]]:
    """Return who can run here, by name, and of the others why they cannot."""
    found, missing = {}, {}
    for name, make in _MAKERS.items():
        try:
            found[name] = make()
        except PeerMissing as reason:
            missing[name] = str(reason)
    return found, missing


def _environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the user's own but where programs are."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **more}


def _on_path(program: str) -> str:
    found = shutil.which(program)
    if not found:
        raise PeerMissing(f"`{program}` is not on the PATH")
    return found


def _output(program: str, command: Command) -> str:
    """Return what a command prints.

    :raises PeerMissing: when it fails. What it says goes to standard error and not into the
        message, for it may hold paths.
    """
    done = subprocess.run(
        command.line,
        env=command.environment,
        cwd=command.folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode:
        print(f"{program}: {done.stderr.strip() or done.stdout.strip()}", file=sys.stderr)
        arguments = " ".join(word for word in command.line if not word.startswith("/"))
        raise PeerMissing(f"`{program} {arguments}` fails (exit code {done.returncode})")
    return done.stdout

"""What a command imports, since each of these is waited for whenever it runs cold.

What a warm command imports is in `tests/daemon/test_hygiene.py`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rag.cli.app import run as run_app
from rag.cli.framework.lazy_group import COMMANDS, load_command
from tables import rows

SOURCE = Path(__file__).resolve().parents[2] / "src"

# Our packages, those of others, and our modules in `support`.
CONFIG = "config file_kinds files json_reports"
FILES = f"{CONFIG} platformdirs"
MANIFEST = f"{FILES} closing disk_space month_names unicode_forms index vault Stemmer"
ENGINE = f"{MANIFEST} lazy_imports clients stores haystack qdrant_edge"
SEARCH = f"{ENGINE} search query indexing pipeline_parts vector_digest"
ANSWER = "answers qa context"
# A command -> what it loads besides `ALWAYS`. A new name here costs every user its import at each
# run: is it needed for what was asked?
APP = "app json_reports"
ALWAYS = "typer annotated_doc shellingham cli exceptions process_exit text"
TABLE = {
    "--help": "",
    "init --dry-run": f"{FILES} app Stemmer clients closing disk_space index lazy_imports"
    " month_names processes unicode_forms vault vector_digest",
    "index -q {library}": f"{MANIFEST} lazy_imports {APP} clients stores haystack qdrant_edge"
    " frontmatter indexing pipeline_parts vector_digest",
    "search backups": f"{SEARCH} {APP}",
    "search --help": CONFIG,
    "related Backups": f"{MANIFEST} lazy_imports {APP} stores haystack qdrant_edge search query"
    " clients indexing pipeline_parts vector_digest",
    "ask backups": f"{SEARCH} {ANSWER} {APP} runtime_folder",
    "plan backups": f"{ENGINE} {APP} indexing pipeline_parts query rapidfuzz search vector_digest",
    "transform backups": f"{ENGINE} {APP} pipeline_parts query rapidfuzz search vector_digest",
    "audit": f"{MANIFEST} {APP} clients haystack lazy_imports query rapidfuzz"
    " pipeline_parts search stores vector_digest",
    "chat -q": f"{SEARCH} {ANSWER} {APP}",
    "chat --list": f"{FILES} {APP} closing qa context query lazy_imports"
    " annotated_types pydantic pydantic_core typing_extensions typing_inspection",
    "get Backups": f"{MANIFEST} {APP} lazy_imports stores",
    "status": f"{MANIFEST} indexing {APP} lazy_imports pipeline_parts stores vector_digest",
    "tags": f"{MANIFEST} {APP} lazy_imports pipeline_parts stores qdrant_edge",
    "doctor": f"{ENGINE} {APP} indexing pipeline_parts search vector_digest",
    "eval questions.jsonl": f"{SEARCH} evaluation {APP} pydantic",
    "config": f"{CONFIG} platformdirs app json_reports",
    "trust --list": f"{CONFIG} platformdirs app json_reports",
    "serve --help": f"{CONFIG} app",
    "watch --help": f"{CONFIG} app",
    "warm --status": f"{CONFIG} app daemon runtime_folder",
    "mcp --print-config cursor": f"{CONFIG} platformdirs app",
    "vault list": f"{MANIFEST} {APP} lazy_imports stores",
    "vault --help": CONFIG,
    "service status": f"{CONFIG} app",
}
# These bring many, and other releases of them others: only what we depend on counts beside them.
_BIG = {"haystack", "httpx"}
_THEIRS = {"httpx", "numpy", "pydantic", "rich"}
_OURS = {
    *("Stemmer", "frontmatter", "haystack", "haystack_integrations", "pathspec"),
    *("platformdirs", "qdrant_client", "qdrant_edge", "rapidfuzz", "readline", "typer"),
}

OUR_PARTS = {path.stem for folder in ("rag", "rag/support") for path in (SOURCE / folder).iterdir()}

SCRIPT = """
import sys
before = set(sys.modules)
from rag.cli.app import run
assert run(sys.argv[1:]) in (0, 1)
print(*set(sys.modules) - before, file=sys.stderr)
"""

PROGRAM = """
import os, sys
before = set(sys.modules)
def end(code, end=os._exit):
    print(*set(sys.modules) - before, file=sys.stderr, flush=True)
    sys.stdout.flush()
    end(code)
os._exit = end
from rag.__main__ import main
main()
end(0)
"""

PRELOADED = """
import os, sys
def opened(what):
    return len(os.listdir(f"/proc/self/{what}")) if os.path.isdir("/proc/self") else 1
files = opened("fd")
from rag.daemon.server import preload
preload()
assert opened("fd") <= files + 1 and opened("task") == 1  # the reader maps the model's file
assert "readline" not in sys.modules  # it looks at TERM and INPUTRC when it is imported
before = set(sys.modules)
from rag.cli.app import run
for line in sys.argv[1:]:
    run(line.split())
from rich.cells import cell_len
cell_len("語")  # in a title that is shown
print("imported:", *sorted(set(sys.modules) - before), file=sys.stderr)
"""


def run(script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script that tells on stderr which modules were loaded."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "RAG_WARM": "0", **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )


def parts_of(modules: list[str]) -> set[str]:
    """Return our rooms and the packages of others among some modules."""
    names = (name.split(".") for name in modules)
    tops = {
        # Of the small parts each counts for itself.
        parts[2] if parts[:2] == ["rag", "support"] else parts[parts[0] == "rag"]
        for parts in names
        if parts not in (["rag"], ["rag", "support"])
    }
    others = tops - sys.stdlib_module_names - {"cython_runtime"}  # of compiled packages
    return {name for name in others if not name.startswith("_")}


DAILY = {"search backups", "status"}


@pytest.mark.parametrize(
    "command", [pytest.param(row, marks=() if row in DAILY else pytest.mark.slow) for row in TABLE]
)
def test_a_command_loads_what_it_uses(command, library, tmp_path):
    Path("questions.jsonl").write_text('{"query": "backups", "relevant": ["Backups.md"]}\n')
    writes = {"RAG_DATA_DIR": str(tmp_path / "own")} if command.startswith("index") else {}
    if command == "audit":  # of something
        assert run_app(["plan", "backups"]) == 0
    done = run(SCRIPT, *command.format(library=library).split(), **writes)
    loaded = parts_of(done.stderr.splitlines()[-1].split())
    expected = {*ALWAYS.split(), *TABLE[command].split()}
    if expected & _BIG:
        loaded &= expected | _OURS | OUR_PARTS
    assert loaded == expected, (sorted(loaded - expected), sorted(expected - loaded))


@rows("arguments, said", (["--version"], "rag "), (["--help"], "Usage: "))
def test_the_program_says_what_it_is_without_its_libraries(arguments, said):
    done = run(PROGRAM, *arguments)
    assert done.stdout.lstrip().startswith(said)
    loaded = parts_of(done.stderr.split())
    assert not loaded & {*_BIG, *_THEIRS, "config", "pipelines", "stores"}
    if arguments == ["--version"]:
        assert loaded == set()


@rows("name", COMMANDS)
def test_what_is_told_of_a_command_is_what_it_says(name):
    said = (load_command(name).help or "").split("\n\n")[0]
    assert COMMANDS[name][1] == " ".join(said.split())


def test_every_command_is_in_the_table():
    assert {row.split()[0] for row in TABLE} == {*COMMANDS, "--help"}


def test_after_preloading_a_command_imports_nothing_and_no_thread_or_file_is_left(library):
    lines = (
        *(
            "search backups",
            "search restore --tag ops --format table",
            "search x -k 0",
            "search --help",
        ),
        "search rolling --json --explain --path *.md --from 2020",
        *("ask how long do we keep them", "plan backups", "transform backups"),
        *("get Backups", "status", "config", "vault list", "audit", "bogus"),
    )
    done = run(PRELOADED, *lines)
    assert done.stderr.rstrip().endswith("\nimported:")


def test_a_search_by_words_loads_neither_numpy_nor_pydantic(library):
    loaded = parts_of(run(PROGRAM, "search", "backups", "-q").stderr.split())
    assert "search" in loaded and not loaded & {"numpy", "pydantic"}

"""The JSON of every command, byte for byte as it was kept in `golden/`.

`WRITE_GOLDEN=1 pytest tests/cli/test_golden.py` keeps what is printed now: look at the difference
before it is committed.
"""

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from disk_files import write
from index_fixtures import NOTES
from ollama_answers import TRUE
from ollama_server import Model, OllamaServer, refused
from rag.cli.app import run as run_app
from rag.cli.framework.lazy_group import COMMANDS
from rag.support.disk_space import copy_tree

Rag = Callable[..., Any]
GOLDEN = Path(__file__).parent / "golden"
_NOTED = 1_750_000_000  # when the notes were last changed

# What differs from run to run or from machine to machine.
_VOLATILE = [
    (re.compile(pattern), new)
    for pattern, new in (
        (r"(127\.0\.0\.1|localhost):\d+", r"\1:PORT"),
        (r"\d{4}-\d\d-\d\dT[\d:.]+(?:[+-]\d\d:\d\d|Z)?", "TIME"),
        (r"(?<!\d)\d{4}-\d\d-\d\d-\d{6}(-\d+)?\b", "SESSION"),
        (r"\bm(?=[a-z]*\d)[a-z0-9]{10,11}\b", "RECORD"),
        (r'("(?:audit|id)": ")m[a-z]{11}"', r'\1RECORD"'),  # which by chance has no digit
        (r'"timings": \{[^}]*\}', '"timings": {}'),
        (r'("[a-z_]*latency_ms[a-z_0-9]*": )(\{[^}]*\}|[\d.]+)', r"\1N"),
        (r'("(elapsed_ms|ms|milliseconds|size|bytes|\w*tokens|\w+_bytes)": )[\d.]+', r"\1N"),
        (r'("usage": \{[^}]*"retrieval": )\d+', r"\1N"),
        (r'("(sha256|digest|catalogue|since|today|python|version)": )"[^"]*"', r'\1"X"'),
        (r"[\d,.]+ [kMGT]?B\b", "SIZE"),
        (r"\d+ ms\b", "N ms"),
        (r"\d+(\.\d+)* (and|on) Python [\d.]+", "VERSION"),
        (r'/[^"\\ ]*/bin/rag\b', "PROGRAM"),
        (r"(\d\.\d{3})\d+", r"\1…"),  # scores are single precision
    )
]


def steady(printed: str, *bases: Path) -> str:
    """Return what was printed, without what differs from run to run."""
    for base in bases:
        printed = printed.replace(str(base), "BASE").replace(str(base.resolve()), "BASE")
    for pattern, new in _VOLATILE:
        printed = pattern.sub(new, printed)
    return printed


# A name -> what is there, and the commands; the JSON of the last is kept, and its exit code.
# Each word that begins with `<` is typed on stdin, `_` standing for a space.
CASES: dict[str, tuple[str, list[str], int]] = {
    "mcp-client": ("plain", ["mcp --print-config odd"], 2),
    "search": ("plain", ["search backups"], 0),
    "search-chunks": ("plain", ["search backups --chunks --explain -k 2"], 0),
    "search-filters": ("plain", ["search restore --tag ops --from 2025 --vault work"], 0),
    "search-plan": ("plain", ["search notes_tagged_ops_about_rolling --plan"], 0),
    "search-nothing": ("plain", ["search xylophone"], 1),
    "search-correction": ("plain", ["search rolback"], 0),
    "search-syntax": ("plain", ['search "rolling_back" -- -tag:none'], 0),
    "search-japanese": ("plain", ["search 証明書の更新"], 0),
    "search-transform": ("plain", ["search backups --transform multi-query"], 0),
    "search-dense": ("plain", ["search backups --mode dense"], 3),
    "search-hybrid": ("plain", ["search backups --mode hybrid"], 3),
    "search-mode": ("plain", ["search backups --mode odd"], 2),
    "search-vault": ("plain", ["search backups --vault wrk"], 2),
    "search-tag": ("plain", ["search backups --tag opps"], 1),
    "search-empty": ("plain", ["search _"], 2),
    "search-dates": ("plain", ["search backups --from 2025 --to 2024"], 2),
    "search-flag": ("plain", ["search backups --colour"], 2),
    "search-format": ("plain", ["search backups --format json"], 0),
    "search-no-index": ("empty", ["search backups"], 3),
    "search-vectors": ("model", ["search backups"], 0),
    "search-vectors-gone": ("gone", ["search backups"], 0),
    "search-vectors-dense": ("gone", ["search backups --mode dense"], 4),
    "ask": ("plain", ["ask how_long_do_we_keep_backups"], 0),
    "ask-nothing": ("plain", ["ask xylophone"], 1),
    "ask-plan": ("plain", ["ask what_do_notes_tagged_ops_say_about_rolling --plan"], 0),
    "ask-list": ("plain", ["ask which_notes_are_tagged_ops"], 0),
    "ask-count": ("plain", ["ask how_many_notes_mention_backups?"], 0),
    "ask-last": ("plain", ["ask when_did_I_last_restore_a_backup?"], 1),
    "ask-empty": ("plain", ["ask _"], 2),
    "ask-model": ("model", ["ask How_long_do_we_keep_backups? --explain"], 0),
    "ask-gone": ("gone", ["ask How_long_do_we_keep_backups?"], 0),
    "ask-gone-model": ("gone", ["ask backups --model llama3.2"], 4),
    "ask-missing-model": ("model", ["ask backups --model nobody"], 4),
    "ask-both": ("plain", ["ask backups --model x --no-model"], 2),
    "plan": ("plain", ["plan notes_tagged_ops_from_2025_about_rolling"], 0),
    "plan-nothing-there": ("plain", ["plan notes_tagged_zebra_in_my_home_vault"], 0),
    "plan-empty": ("plain", ["plan _"], 2),
    "transform": ("plain", ["transform rolback_tag:ops --transform multi-query"], 0),
    "transform-hyde": ("plain", ["transform backups --transform hyde"], 0),
    "transform-empty": ("plain", ["transform _"], 2),
    "audit": ("plain", ["plan backups_tagged_ops", "audit"], 0),
    "audit-none": ("plain", ["audit"], 1),
    "audit-unknown": ("plain", ["audit nosuch"], 1),
    "audit-usage": ("plain", ["audit x --last 2"], 2),
    "audit-show": ("plain", ["plan backups_tagged_ops", "audit {record}"], 0),
    "audit-replay": ("plain", ["plan backups_tagged_ops", "audit --replay {record}"], 0),
    "chat": ("plain", ["chat <how_long_do_we_keep_backups <and_the_restore_script?"], 0),
    "chat-model": ("model", ["chat --explain <How_long_do_we_keep_backups?"], 0),
    "chat-slash": (
        "model",
        [
            "chat </remember_I_am_a_nurse </facts <How_long_do_we_keep_backups? </sources </clear"
            " </forget_1 </facts </help </nosuch"
        ],
        2,
    ),
    "chat-list": ("plain", ["chat <backups", "chat --list"], 0),
    "chat-list-none": ("plain", ["chat --list"], 1),
    "chat-session": ("plain", ["chat --session nosuch <x"], 1),
    "chat-continue": ("plain", ["chat --continue <x"], 1),
    "chat-error": ("plain", ["chat </forget_1"], 1),
    "get": ("plain", ["get Backups:1-8"], 0),
    "related-none": ("plain", ["related Backups"], 1),
    "get-several": ("plain", ["get Backups:1-2 runbooks/*"], 0),
    "get-unknown": ("plain", ["get Backapps"], 1),
    "get-gone": ("changed", ["get Backups"], 1),
    "get-nothing": ("plain", ["get _"], 2),
    "get-lines": ("plain", ["get Backups:9-2"], 2),
    "status": ("plain", ["status"], 0),
    "status-changed": ("changed", ["status"], 0),
    "status-no-index": ("empty", ["status"], 3),
    "tags": ("plain", ["tags"], 0),
    "doctor": ("plain", ["doctor"], 0),
    "doctor-changed": ("changed", ["doctor"], 0),
    "doctor-empty": ("empty", ["doctor"], 1),
    "doctor-model": ("model", ["doctor"], 0),
    "doctor-gone": ("gone", ["doctor"], 0),
    "eval": ("plain", ["eval {questions}"], 0),
    "eval-modes": ("plain", ["eval {questions} --modes lexical,auto"], 0),
    "eval-compare": (
        "plain",
        ["eval {questions} --save kept.json", "eval {questions} --compare kept.json"],
        0,
    ),
    "eval-missing": ("plain", ["eval nosuch.jsonl"], 2),
    "eval-no-baseline": ("plain", ["eval {questions} --compare {questions}"], 2),
    "config": ("plain", ["config ollama"], 0),
    "config-unknown": ("plain", ["config --config nosuch.toml"], 2),
    "trust": ("plain", ["trust"], 0),
    "trust-list": ("plain", ["trust", "trust --list"], 0),
    "trust-remove": ("plain", ["trust --remove"], 1),
    "trust-none": ("empty", ["trust"], 2),
    "warm": ("plain", ["warm --status"], 1),
    "warm-stop": ("plain", ["warm --stop"], 0),
    "warm-usage": ("plain", ["warm"], 2),
    "service": ("timer", ["service install --every 2h", "service status"], 0),
    "service-install": ("timer", ["service install"], 0),
    "service-none": ("plain", ["service status"], 1),
    "service-remove": ("timer", ["service install", "service remove"], 0),
    "service-interval": ("timer", ["service install --every 90s"], 2),
    "service-nowhere": ("plain", ["service install"], 4),
    "vault": ("plain", ["vault list"], 0),
    "vault-changed": ("changed", ["vault list"], 0),
    "init": ("empty", ["init {notes}"], 0),
    "init-again": ("plain", ["init {notes}"], 2),
    "init-dry": ("model", ["init {notes} --dry-run"], 0),
    "init-nowhere": ("empty", ["init nosuch --dry-run"], 2),
    "index": ("empty", ["index {notes}"], 0),
    "index-again": ("changed", ["index"], 0),
    "index-rebuild": ("plain", ["index --rebuild"], 0),
    "index-dry": ("changed", ["index --dry-run"], 0),
    "index-nothing": ("empty", ["index"], 2),
    "index-missing": ("empty", ["index nosuch"], 2),
    "index-name": ("plain", ["index --name x"], 2),
    "index-embed": ("plain", ["index --embed"], 2),
    "index-model": ("model", ["index --embed"], 0),
    "index-gone": ("gone", ["index {notes} --rebuild"], 0),
    "index-server": ("plain", ["index --to-server"], 2),
    "index-moved": ("moved", ["index"], 5),
    "index-prune": ("moved", ["index --prune"], 0),
    "index-inner": ("plain", ["index {notes}/runbooks"], 0),
}


@pytest.fixture
def words(tmp_path) -> dict[str, str]:
    """What commands name: the notes, a set of questions."""
    questions = tmp_path / "home" / "questions.jsonl"
    questions.write_text(
        '{"query": "backups", "relevant": ["Backups.md"], "category": "one"}\n'
        '{"id": "b", "query": "rolling back", "relevant": ["Nowhere.md"]}\n'
    )
    return {"questions": str(questions)}


@pytest.fixture
def ollama(monkeypatch) -> Iterator[OllamaServer]:
    """A server with models, which the settings name."""
    with OllamaServer([Model("bge-m3", 32), "llama3.2"]) as running:
        for name, value in (("ENABLED", "true"), ("URL", running.url), ("RETRIES", "0")):
            monkeypatch.setenv(f"RAG_OLLAMA__{name}", value)
        monkeypatch.setenv("RAG_OLLAMA__READ_TIMEOUT", "2")
        monkeypatch.setenv("RAG_OLLAMA__QUERY_TIMEOUT", "2")
        running.say(TRUE, TRUE, TRUE)
        yield running


@pytest.fixture(scope="module")
def indexed_once(tmp_path_factory) -> Callable[[bool], Path]:
    """Index the notes for several cases: `indexed_once(True)`, with vectors.

    It returns a folder with `vaults/work`, which nobody may change, and `data`, to be copied.
    """

    @cache
    def index(is_embedded: bool) -> Path:
        base = tmp_path_factory.mktemp("golden")
        for path, text in NOTES.items():
            os.utime(write(base / "vaults" / "work" / path, text), (_NOTED, _NOTED))
        with OllamaServer([Model("bge-m3", 32)]) as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv("RAG_DATA_DIR", str(base / "data"))
            patch.setenv("RAG_OLLAMA__ENABLED", str(is_embedded).lower())
            patch.setenv("RAG_OLLAMA__URL", server.url)
            assert run_app(["index", "-q", str(base / "vaults" / "work")]) == 0
        return base

    return index


def prepare(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, patch: pytest.MonkeyPatch
) -> Path:
    """Make what a case begins with; return the folder that holds its vaults."""
    what, (line, *_), _ = CASES[name]
    if what in ("model", "gone"):
        request.getfixturevalue("ollama")
    # Those of the machine would be found, and changed.
    machine = request.getfixturevalue("machine")
    if what == "timer":
        machine.add("systemctl")
    base = request.getfixturevalue("indexed_once")(what in ("model", "gone"))
    if what in ("empty", "changed", "moved") or line.startswith(("index", "init")):
        copytree(base / "vaults", tmp_path / "vaults")
        if what != "empty":
            notes = tmp_path / "vaults" / "work"
            assert request.getfixturevalue("rag")("index", "-q", notes).code == 0
        base = tmp_path
    else:
        copy_tree(base / "data", tmp_path / "data")
    notes = base / "vaults" / "work"
    if what != "empty":
        settings = "[search]\ntop_k = 7\n\n[ollama]\nchat_model = 'llama3.2'\n"
        Path("rag.toml").write_text(settings)
    if what == "gone":
        patch.setenv("RAG_OLLAMA__URL", request.getfixturevalue("nowhere"))
    if what == "changed":
        (notes / "Backups.md").unlink()
        (notes / "New.md").write_text("---\ntags: [unclosed\n---\n# New\n")
        os.utime(notes / "New.md", (_NOTED, _NOTED))
    if what == "moved":
        notes.rename(notes.with_name("elsewhere"))
    return base


@pytest.fixture
def nowhere() -> Iterator[str]:
    """The address of a server that is not there."""
    with refused() as url:
        yield url


def record_of(rag: Rag) -> str:
    """Return the id of the newest plan on record."""
    name: str = rag("audit", "--json").json["records"][0]["id"]
    return name


@pytest.mark.parametrize("name", CASES)
def test_the_json_is_as_it_was(name, words, rag, tmp_path, request, monkeypatch):
    _, lines, code = CASES[name]
    base = prepare(name, tmp_path, request, monkeypatch)
    words["notes"] = str(base / "vaults" / "work")
    for line in lines:
        if "{record}" in line:
            words["record"] = record_of(rag)
        given = [word.replace("_", " ") if "{" not in word else word for word in line.split()]
        given = [word.format(**words) for word in given]
        typed = [word[1:] for word in given if word.startswith("<")]
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{one}\n" for one in typed)))
        ran = rag(*(word for word in given if not word.startswith("<")), "--json")
    kept, now = GOLDEN / f"{name}.json", steady(ran.out, base, tmp_path)
    if os.environ.get("WRITE_GOLDEN"):
        kept.write_text(now, "utf-8")
    assert now == kept.read_text("utf-8")
    assert ran.code == code


def test_every_command_is_kept():
    kept = {line.split()[0] for _, lines, _ in CASES.values() for line in lines}
    assert {*COMMANDS} - kept == {"serve", "watch"}  # which go on until Ctrl-C


def test_no_file_is_kept_for_nothing():
    assert {file.stem for file in GOLDEN.glob("*.json")} == {*CASES}

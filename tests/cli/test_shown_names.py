"""Names, titles, settings and errors that would steer a terminal are shown, not obeyed."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from disk_files import write_all
from rag.text.messages import visible_lines
from tables import rows

STEERS = "\x1b[5;45m\x07\x7f\x9b7m\u202e\u2066\u2028\u200f"
EVIL = f"x{STEERS}\nFORGED"
NOTE = (
    '---\ntitle: "t{json}"\naliases: ["a{json}"]\ntags: ["ok", "b\\u009b"]\n'
    "created: not a\x85date\n---\n# h{plain}\n\nharbour master of the\x1b[5;45m {plain} port\n"
)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> Path:
    """A vault with such a name, in which notes have such names."""
    from rag.config import RAGConfig
    from rag.indexing.run import IndexRun

    base = tmp_path_factory.mktemp("hostile")
    # As YAML has it: controls must be escaped in it.
    note = NOTE.format(json=json.dumps(EVIL)[1:-1], plain=STEERS)
    notes = {f"{name} {EVIL}.md": note for name in ("note", "twin")}
    notes[f"broken {EVIL}.md"] = f"---\na: [b: {STEERS}\n---\nharbour\n"
    root = write_all(base / f"vault {EVIL}", notes)
    (base / "questions.jsonl").write_text(
        json.dumps({"id": EVIL, "query": "harbour", "relevant": [EVIL], "category": EVIL})
    )
    with IndexRun(RAGConfig(data_dir=base / "data")) as run:
        run.index_vault(root.name, root)
        run.publish()
    return base


@pytest.fixture
def here(hostile, monkeypatch) -> Path:
    monkeypatch.setenv("RAG_DATA_DIR", str(hostile / "data"))
    monkeypatch.chdir(hostile)
    return hostile


@pytest.fixture
def say(rag, here, monkeypatch, tmp_path) -> Callable[..., Any]:
    """Run a command where a setting is hostile too, and one that looks for new notes finds some."""
    monkeypatch.setenv("RAG_OLLAMA__CHAT_MODEL", f"model {EVIL}")
    monkeypatch.setenv("COLUMNS", "1000")  # nothing is folded: a row of a table is a line

    def run(*arguments: str) -> Any:
        if "--dry-run" in arguments:
            monkeypatch.setenv("RAG_DATA_DIR", str(tmp_path / "fresh"))
        return rag(*arguments)

    return run


NOTE_NAME = f"note {EVIL}.md"
COMMANDS: dict[str, list[str]] = {
    "search": ["search", "harbour"],
    "table": ["search", "harbour", "--format", "table"],
    "explain": ["search", "harbour", "--explain", "--chunks"],
    "plan first": ["search", f"harbour tagged {STEERS}", "--plan", "--explain"],
    "nothing": ["search", f"xylophone{EVIL}"],
    "unknown vault": ["search", "x", "--vault", EVIL],
    "unknown tag": ["search", "x", "--tag", EVIL],
    "quotations": ["ask", "who is the harbour master?", "--no-model"],
    "window": ["ask", "who is the harbour master?", "--no-model", "--explain"],
    "no note": ["get", f"nowhere{EVIL}"],
    "status": ["status"],
    "problems": ["status", "--problems"],
    "vaults": ["vault", "list"],
    "config": ["config"],
    "doctor": ["doctor"],
    "plan": ["plan", f"notes tagged ok about {EVIL}"],
    "audit": ["audit"],
    "transform": ["transform", f"harbour {EVIL}"],
    "eval": ["eval", "questions.jsonl"],
    "chats": ["chat", "--list"],
    "preview": ["index", "--dry-run", f"vault {EVIL}"],
    "no folder": ["index", f"nowhere {EVIL}"],
    "no file": ["status", "--config", f"nowhere{EVIL}.toml"],
    "option": ["search", f"--no{EVIL}"],
    "command": [f"no{EVIL}"],
    "init": ["init", "--dry-run", f"vault {EVIL}"],
    "remove": ["vault", "remove", f"nowhere{EVIL}"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_what_is_printed_holds_nothing_unseen_and_no_line_of_a_name(say, arguments):
    ran = say(*arguments)
    for text in (ran.out, ran.err):
        assert visible_lines(text) == text
        assert not [line for line in text.splitlines() if line.lstrip().startswith("FORGED")]
    assert "Traceback" not in ran.err


@rows("name", "search", "status", "config", "doctor", "plan", "audit")
def test_json_escapes_them(say, name):
    said = say(*COMMANDS[name], "--json").out
    assert visible_lines(said) == said and json.loads(said)


@rows("command", ["search", "harbour"], ["get", NOTE_NAME])
def test_into_a_pipe_a_path_is_raw_and_paths0_ends_it_by_nul(here, rag, command):
    listed, ended = (rag(*command, *how) for how in (["--paths"], ["--format", "paths0"]))
    *files, last = ended.out.split("\0")
    assert last == "" and files
    assert all(Path(file).is_file() for file in files)
    assert listed.out == "".join(f"{file}\n" for file in files)


@rows(
    "arguments",
    ["search", "harbour", "--paths"],
    ["search", "harbour"],
    ["get", NOTE_NAME, "--paths"],
    ["get", NOTE_NAME],
)
def test_at_a_terminal_nothing_steers_but_styles_and_links(here, on_terminal, arguments):
    code, shown = on_terminal(*arguments, columns=300)
    assert code == 0
    assert "\x1b[5;45m" not in shown
    links = r"\x1b\]8;[\w=]*;(?:file://[A-Za-z0-9_.~/%-]+(?:#\d+)?)?\x1b\\"
    text = re.sub(rf"{links}|\x1b\[[\d;]*m", "", shown).replace("\r\n", "\n")
    assert visible_lines(text) == text
    if arguments != ["get", NOTE_NAME]:  # a note has lines
        assert not [line for line in text.splitlines() if line.startswith("FORGED")]

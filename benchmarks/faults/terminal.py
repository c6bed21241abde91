"""Hostile names on a terminal: a vault full of them, and commands that show them."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from faults import Row
from measuring import environment

# Sequences that the program itself never writes, so that what is found came from a name.
SEQUENCES = (
    *("\x1b[5;45m", "\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;x:y\x1b\\", "\x1bP1$r\x1b\\"),
    *("\x01", "\x07", "\x08\x08", "\x7f", "\r", "\nFORGED", "\x0b", "\x0c", "\t", "\x85", "\x9b7m"),
    *("\x9d0;title\x9c", "\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202d", "\u202e"),
    *("\u2066", "\u2067", "\u2068", "\u2069", "\u2028", "\u2029", "\udcff"),
)
ALL = "".join(SEQUENCES[:-1])
# What the program writes to steer a terminal: colours, links to files, and the bar of progress.
_OWN = re.compile(
    r"\x1b\]8;[\w=.-]*;(?:file://[A-Za-z0-9_.~/%-]*)?\x1b\\"
    r"|\x1b\[(?:0|[1-9]\d?(?:;\d+)*)?m|\x1b\[\?25[lh]|\x1b\[\d*[AK]|\x1b\[1?G|\x1b\[2K|\r+\n?"
)
_FOREIGN = re.compile(r"\x1b\[5;45m|\x1b\]8;;x:|\x1b\[2J")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\nFORGED"
)


def write_vault(folder: Path) -> Path:
    """Write notes whose names, titles, tags and problems hold one sequence each; return the vault
    they lie in, whose name holds many."""
    vault = folder / f"vault {ALL}"
    vault.mkdir(parents=True)
    for number, sequence in enumerate(SEQUENCES):
        text = json.dumps(f"note {number} {sequence} end")  # as YAML has it too
        body = f"# harbour {number}\n\nThe harbour master of pier {number}.\n"
        front = f"---\ntitle: {text}\naliases: [{text}]\ntags: [{text}, ok]\ncreated: {text}\n---\n"
        # NFC, as the index has it, so that a name is one name.
        name = unicodedata.normalize("NFC", f"note {number} {sequence} end.md")
        (vault / name).write_text(front + body, "utf-8", "surrogateescape")
    (vault / f"broken {ALL}.md").write_text(f"---\na: [b: {ALL}\n---\nharbour\n", "utf-8")
    return vault


def commands(vault: Path) -> list[list[str]]:
    """Return commands that show all of it; some of them fail, and say so."""
    first = f"note 0 {SEQUENCES[0]} end"
    return [
        ["index", "--dry-run", str(vault)],
        ["index", str(vault)],
        ["status"],
        ["status", "--problems"],
        ["vault", "list"],
        ["config"],
        ["doctor"],
        ["search", "harbour", "-k", "50"],
        ["search", "harbour", "-k", "50", "--format", "table"],
        ["search", "harbour", "-k", "50", "--explain"],
        ["search", "harbour", "-k", "50", "--paths"],
        ["search", f"harbour {ALL}", "--vault", f"vault {ALL}x"],
        ["search", f"notes tagged {ALL} about piers", "--plan"],
        ["get", f"{first}.md", "--paths"],
        ["get", f"{first}.md"],
        ["get", f"nowhere {ALL}"],
        ["ask", f"who is the harbour master {ALL}?", "--no-model", "--explain"],
        ["plan", f"notes tagged ok about {ALL}"],
        ["audit"],
        ["transform", f"harbour {ALL}"],
        ["chat", "--list"],
        ["init", "--dry-run", str(vault)],
        ["status", "--config", f"nowhere {ALL}.toml"],
        ["vault", "remove", f"nowhere {ALL}"],
        [f"nowhere {ALL}"],
    ]


def on_terminal(command: list[str], env: Mapping[str, str], folder: Path) -> str:
    """Run a command on a terminal of its own, and return what was shown."""
    main, side = pty.openpty()
    fcntl.ioctl(main, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 2000, 0, 0))
    shown = bytearray()
    with subprocess.Popen(
        [sys.executable, "-m", "rag", *command],
        env={**env, "TERM": "xterm-256color"},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=side,
    ) as process:
        os.close(side)
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if select.select([main], [], [], 1)[0]:
                try:
                    data = os.read(main, 1 << 16)
                except OSError:  # Linux says so when the last writer has gone
                    break
                if not data:
                    break
                shown += data
        else:
            process.kill()
    os.close(main)
    return shown.decode("utf-8", "replace")


def leaks(shown: str) -> list[str]:
    """Return what of the names reached a terminal as it is."""
    found = _FOREIGN.findall(shown)
    return found + _UNSEEN.findall(_OWN.sub(lambda own: "\n" * ("\n" in own[0]), shown))


def _rag(
    folder: Path, env: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "rag", *arguments],
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )


def rows(room: Path) -> Iterator[Row]:
    env = environment(room, RAG_OLLAMA__CHAT_MODEL="model \x1b[2J\u202e\nFORGED")
    vault, failed, note, count = write_vault(room / "vaults"), 0, "", 0
    tried = commands(vault)
    for command in tried:
        shown = on_terminal(command, env, room)
        found = leaks(shown)
        if found or "Traceback" in shown:
            failed, count = failed + 1, count + len(found)
            note = note or f"first: rag {command[0]} let through {found[0]!r}" if found else note
    yield Row("commands that show hostile names at a terminal", len(tried), failed, note)
    failed, note = 0, ""
    shows = [c for c in tried if c[0] in ("search", "status", "config", "doctor", "plan", "audit")]
    shows = [c for c in shows if not {"table", "--paths", "--problems"} & {*c}]
    for command in shows:
        said = _rag(room, env, *command, "--json").stdout.decode("utf-8", "replace")
        if found := leaks(said.rstrip("\n")):
            failed, note = failed + 1, note or f"first: {command[0]} {found[0]!r}"
    yield Row("commands whose --json escapes them", len(shows), failed, note)

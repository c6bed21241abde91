"""Run the command-line suite twice, cold and in the warm process, and compare every byte.

    python tests/support/both_ways.py [FILE ...]

It is what `make warm` does. `RAG_TEST_WARM` makes the helpers of `tests/cli` run the real program
instead of calling it in their own process: with 0 each command runs cold, with 1 in a warm process
that the session starts. Both write down what they ran and what came of it.
"""

import difflib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from daemon_fixture import REPO, ask, let_in, normal, sockets_in

WAY = os.environ.get("RAG_TEST_WARM", "")  # "" when the suite runs as usual
_RECORD = os.environ.get("RAG_TEST_RECORD", os.devnull)
_OUTSIDE = dict(os.environ)
_WAYS = {"0": "cold", "1": "warm"}
# What a way needs, and what a test is given beside it.
_OF_THE_WAY = ("RAG_WARM", "XDG_RUNTIME_DIR", "PYTEST_CURRENT_TEST")
# What differs from one run to the next, warm or cold: clocks, addresses, names made of them, and
# the size of a prompt, in which notes stand between marks made by chance.
_BY_CHANCE = [
    (re.compile(pattern, re.MULTILINE), new)
    for pattern, new in (
        (r'(warm +|"warm": \{"value": )(true|false)', r"\1WARM"),
        (r'(RAG_WARM(=|": "))[01]', r"\1WARM"),  # in what is to be run later
        (r"^(next +)\d{4}-\d\d-\d\d \d\d:\d\d$", r"\1TIME"),
        (r"(127\.0\.0\.1|localhost):\d+", r"\1:PORT"),
        (r"\bindex-[0-9a-f]{12}\b", "index-SERVER"),
        (r"(?<!\d)\d{4}-\d\d-\d\d-\d{6}(-\d+)?\b", "SESSION"),
        (r"\bm(?=[a-z]*\d)[a-z0-9]{10,11}\b", "ENTRY"),
        (r"^(ENTRY  \d\d-\d\d )\d\d:\d\d +\d+", r"\1TIME  N"),
        (r'"timings": \{[^}]*\}', '"timings": {}'),
        (r'("(ms|latency_ms\w*|tokens|used_tokens)": )[\d.]+', r"\1N"),
        (r'("latency_ms\w*": )\{[^}]*\}', r"\1{}"),
        (r'("usage": \{[^}]*"retrieval": )\d+', r"\1N"),
        (r"^(time in ms: |tokens: |ms p\d+ ).*$", r"\1N"),
        (r"^(shown to \S+ )[\d,]+", r"\1N"),
        (r"^ +\d+ +\d+(  note: )", r" N N\1"),
        (r"^(\S+ +\d+( +[01]\.\d{3})+) +\d+\.\d$", r"\1 N"),  # of `eval`
    )
]


def run_program(
    arguments: list[str], text: bytes | None = b"", **options: Any
) -> tuple[int, str, str]:
    """Run `rag` as a process of its own, and write it down.

    :param text: its stdin; `None` closes it.
    :returns: exit code, stdout and stderr.
    """
    command = [sys.executable, "-m", "rag", *arguments]
    if text is None:
        command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    if "stdin" not in options:
        options["input"] = text or b""
    options = {"env": {**os.environ, "PYTHONPATH": str(REPO / "src")}, "timeout": 60, **options}
    if WAY == "1":
        let_in(Path(options["env"]["XDG_RUNTIME_DIR"]), options["env"])
    before = _begun(options["env"])
    done = subprocess.run(command, capture_output=True, **options)
    result = done.returncode, done.stdout.decode(), done.stderr.decode()
    record(arguments, text, options["env"], result, _begun(options["env"]) - before)
    return result


def _begun(environment: Mapping[str, str]) -> int:
    """Return how many commands the warm process has run; a status that is asked for is none."""
    for path in sockets_in(Path(environment.get("XDG_RUNTIME_DIR", "/nonexistent"))):
        with suppress(OSError):
            return ask(path)[2]
    return 0


def record(
    arguments: list[str],
    text: bytes | None,
    environment: Mapping[str, str],
    result: tuple[int, str, str],
    warm: int,
) -> None:
    """Write down what a command of the current test was given, and what came of it.

    :param warm: how many commands a warm process ran for it: one, or none.
    """
    given = {k: v for k, v in environment.items() if _OUTSIDE.get(k) != v}
    entry = {
        "test": os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0],
        "arguments": arguments,
        "stdin": None if text is None else text.decode(errors="replace"),
        "folder": str(Path.cwd()),
        "environment": {k: v for k, v in sorted(given.items()) if k not in _OF_THE_WAY},
        "result": result,
        "warm": bool(warm),
    }
    with Path(_RECORD).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def typed() -> bytes | None:
    """Return what a test has put on this process's stdin; `None` when it has closed it."""
    if sys.stdin is None:
        return None
    if isinstance(sys.stdin, io.StringIO):
        return sys.stdin.read().encode()
    if isinstance(getattr(sys.stdin, "buffer", None), io.BytesIO):
        return sys.stdin.buffer.read()
    return b""


Entry = dict[str, Any]


def differences(cold: list[Entry], warm: list[Entry]) -> Iterator[str]:
    """Yield where two records of the same tests differ; each is a few lines to read."""
    there = [_by_place(entries) for entries in (cold, warm)]
    for place in dict.fromkeys([*there[0], *there[1]]):
        one, other = (entries.get(place, "it did not run\n") for entries in there)
        if one != other:
            lines = (text.splitlines(keepends=True) for text in (one, other))
            yield "".join([f"{place}\n", *difflib.unified_diff(*lines, "cold", "warm")])


def _by_place(entries: list[Entry]) -> dict[str, str]:
    """Return each command as text, by its test and its number in it."""
    found, counts = {}, Counter[str]()
    for entry in entries:
        counts[entry["test"]] += 1
        found[f"{entry['test']} (command {counts[entry['test']]})"] = _as_text(entry)
    return found


def _as_text(entry: Entry) -> str:
    code, out, err = entry["result"]
    given = {name: entry[name] for name in ("arguments", "stdin", "folder", "environment")}
    head = json.dumps(given, indent=1, ensure_ascii=False)
    text = normal(f"{head}\nexit code {code}\nstdout\n{out}\nstderr\n{err}\n")
    for pattern, new in _BY_CHANCE:
        text = pattern.sub(new, text)
    return text


def _run_suite(way: str, folder: Path, tests: list[str]) -> subprocess.Popen[bytes]:
    options = ["-p", "no:cacheprovider", f"--basetemp={folder / _WAYS[way]}", *tests]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *options],
        cwd=REPO,
        env={**_OUTSIDE, "RAG_TEST_WARM": way, "RAG_TEST_RECORD": str(folder / f"{way}.jsonl")},
        stdout=(folder / f"{way}.log").open("wb"),
        stderr=subprocess.STDOUT,
    )


def _read(way: str, folder: Path) -> list[Entry]:
    # One place is as long as the other, so that lines are broken alike.
    text = (folder / f"{way}.jsonl").read_text("utf-8")
    text = text.replace(str(folder / _WAYS[way]), str(folder / "here"))
    return [json.loads(line) for line in text.splitlines()]


def main(tests: list[str]) -> int:
    """Run both, and say what differs; 0 when both pass and nothing does."""
    with tempfile.TemporaryDirectory(prefix="rag-") as name:
        folder = Path(name)
        running = {way: _run_suite(way, folder, tests or ["tests/cli"]) for way in _WAYS}
        codes = [process.wait() for process in running.values()]
        for way in _WAYS:
            print(f"== {_WAYS[way]}\n{(folder / f'{way}.log').read_text('utf-8')}")
        cold, warm = (_read(way, folder) for way in _WAYS)
    found = list(differences(cold, warm))
    print("\n".join(found))
    tests_compared = len({entry["test"] for entry in cold})
    served = sum(entry["warm"] for entry in warm)
    print(
        f"{len(warm)} commands of {tests_compared} tests compared: {len(found)} differ."
        f" {served} ran in a warm process, the others refuse it or end it."
    )
    return 1 if found or any(codes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

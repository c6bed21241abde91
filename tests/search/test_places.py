"""Notes by path and title; and patterns of paths, which mean what they do in `.gitignore`."""

import re
import resource
import subprocess
import sys
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pathspec import PathSpec

from property_examples import examples
from rag.exceptions import QueryError
from rag.index.manifest import ChunkKey, Manifest, NoteRow
from rag.search.conditions import Places

FILES = ["a.md", "ab/a.md", "ab/bb.md", "a/b/ab/b.a", "b/a/ba/aab", "ba", "a/a/a/a", "b/aaab.md"]


def row(path: str) -> NoteRow:
    chunk = ChunkKey("0f9c0d7a-55d1-5c0b-9c0e-6c1f5b7b2d11", bytes(16))
    return NoteRow("v", path, path, 1, 1, False, b"", chunks=[chunk], id=path, title=path)


@pytest.fixture(scope="module")
def places():
    with Manifest.empty() as manifest:
        manifest.commit_write([row(path) for path in FILES])
        yield Places(manifest)


def meant(globs: list[str]) -> list[str]:
    """Return the files that pathspec finds."""
    lines = [glob if "/" in glob else f"/**/{glob}" for glob in globs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = PathSpec.from_lines("gitignore", lines, backend="simple")
    return [f for f in sorted(FILES) if spec.match_file(f) or spec.match_file(f"v/{f}")]


PIECES = ["a", "b", "*", "*", "?", "/", "/", "**/", "/**/", "[ab]", "[!a]", "!", "\\", "[", ".md"]


@settings(max_examples=examples(1_000))
@example(["*a*b*"])
@example(["a[![ab]a"])
@example(["**/a/**/b*"])
@example(["a*[!a]*a"])
@example(["a/**/a", "!a/**/a/a"])
@given(st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join), max_size=2))
def test_a_pattern_means_what_it_does_in_gitignore(places, globs):
    try:
        expected = meant(globs)
    except (ValueError, re.error):
        with pytest.raises(QueryError):
            places.at_paths(globs)
    else:
        assert places.at_paths(globs) == expected


ENDLESS = """
from rag.exceptions import QueryError
from rag.index.manifest import Manifest
from rag.index.manifest import ChunkKey, NoteRow
from rag.search.conditions import Places

def row(path):
    chunk = ChunkKey("0f9c0d7a-55d1-5c0b-9c0e-6c1f5b7b2d11", bytes(16))
    return NoteRow("v", path, path, 1, 1, False, b"", chunks=[chunk], id=path, title=path)

with Manifest.empty() as manifest:
    manifest.commit_write([row("a" * 100 + ".md"), row("a/" * 50 + "a.md")])
    for pattern in ("*?" * 25 + "b", "*a" * 1900 + "b", "*/**/" * 25 + "b", "**/*a*/" * 25 + "b"):
        try:
            print(Places(manifest).at_paths([pattern]))
        except QueryError as error:
            print(error.message)
"""


def test_a_pattern_that_takes_too_long_is_refused():
    ran = subprocess.run(
        [sys.executable, "-c", ENDLESS],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)),
        capture_output=True,
        text=True,
    )
    told = "the path pattern takes too long to match"
    assert {*ran.stdout.splitlines()} <= {"[]", told}, ran.stderr
    assert len(ran.stdout.splitlines()) == 4

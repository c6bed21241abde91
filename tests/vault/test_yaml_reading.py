"""YAML from strangers."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import heads
from property_examples import examples
from rag.vault import read_note
from rag.vault.frontmatter import load_yaml
from rag.vault.limits import MOST_NESTED
from tables import rows


@rows("block", "[" * 100_000, "- " * 100_000, "? " * 50_000, "{a: " * 50_000)
def test_what_is_nested_too_deep_does_not_end_the_process(block):
    # The parser itself would: it is tried in a process of its own.
    code = (
        "import sys\nfrom rag.vault.frontmatter import load_yaml\n"
        "try: load_yaml(sys.stdin.read())\nexcept ValueError as error: print(error)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], input=block, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (0, "nested deeper than 32 levels\n")


@rows(
    "block",
    "[" * MOST_NESTED + "]" * MOST_NESTED,
    "- " * MOST_NESTED + "a",
    "\n".join(" " * depth + "a:" for depth in range(MOST_NESTED)) + " 1",
)
def test_as_many_levels_as_are_allowed_are_read(block):
    load_yaml(block)


@rows(
    "block",
    "- " * (MOST_NESTED + 1) + "a",
    "\n".join(" " * depth + "a:" for depth in range(MOST_NESTED + 1)) + " 1",
)
def test_one_level_more_is_refused(block):
    with pytest.raises(ValueError, match="nested deeper than 32 levels"):
        load_yaml(block)


@rows(
    "block",
    *(heads.merge_keys(12), heads.laughs(12), "a: &a\n  <<: *a", "a: &a [*a]", "&a {*a : b}"),
    "base: &base {x: 1}\nagain: *base",
)
def test_aliases_are_refused(block):
    with pytest.raises(ValueError, match="aliases are not read"):
        load_yaml(block)


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(heads.FRAGMENTS), max_size=40).map("".join))
def test_any_block_is_read_or_refused(block):
    try:
        loaded = load_yaml(block)
    except Exception:
        return
    repr(loaded)


@rows("number", "9" * 400, "1" + ":1" * 200)
def test_a_number_that_nobody_writes_is_text_and_told(number):
    note = read_note(f"---\ntitle: A\nkey: {number}\n---\nbody\n".encode(), "v", "a.md", 0.0)
    assert note.fields == {"title": "A", "key": number}
    assert note.problems == ["front matter: a number of more than 300 characters"]

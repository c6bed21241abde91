"""YAML from strangers."""

from __future__ import annotations

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


@rows("block", ["[" * 100_000, "- " * 100_000, "? " * 50_000, "{a: " * 50_000])
def test_what_is_nested_too_deep_does_not_end_the_process(block: str) -> None:
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
    [
        "[" * MOST_NESTED + "]" * MOST_NESTED,
        "- " * MOST_NESTED + "a",
        "\n".join(" " * depth + "a:" for depth in range(MOST_NESTED)) + " 1",
    ],
)
def test_as_many_levels_as_are_allowed_are_read(block: str) -> None:
    load_yaml(block)


@rows(
    "block",
    [
        "- " * (MOST_NESTED + 1) + "a",
        "\n".join(" " * depth + "a:" for depth in range(MOST_NESTED + 1)) + " 1",
        "\n".join(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, MOST_NESTED + 2)).replace("*a0", ""),
    ],
)
def test_one_level_more_is_refused(block: str) -> None:
    with pytest.raises(ValueError, match="nested deeper than 32 levels"):
        load_yaml(block)


@rows("block", [heads.merge_keys(12), heads.laughs(12)])
def test_aliases_that_stand_for_too_much_are_refused(block: str) -> None:
    with pytest.raises(ValueError, match="stand for more than 50,000 values"):
        load_yaml(block)


@rows("block", ["a: &a\n  <<: *a", "a: &a [*a]", "&a {*a : b}"])
def test_an_alias_of_itself_is_refused(block: str) -> None:
    with pytest.raises(ValueError, match="stands within what it names"):
        load_yaml(block)


def test_aliases_and_merge_keys_as_people_write_them_are_read() -> None:
    block = "base: &base {x: 1, y: 2}\nmine:\n  <<: *base\n  y: 3\nagain: *base"
    loaded = load_yaml(block)
    assert loaded["mine"] == {"x": 1, "y": 3}
    assert loaded["again"] == loaded["base"]


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(st.sampled_from(heads.FRAGMENTS), max_size=40).map("".join))
def test_any_block_is_read_or_refused(block: str) -> None:
    try:
        loaded = load_yaml(block)
    except Exception:
        return
    repr(loaded)


@rows("number", ["9" * 400, "1" + ":1" * 200])
def test_a_number_that_nobody_writes_is_text_and_told(number: str) -> None:
    note = read_note(f"---\ntitle: A\nkey: {number}\n---\nbody\n".encode(), "v", "a.md", 0.0)
    assert note.fields == {"title": "A", "key": number}
    assert note.problems == ["front matter: a number of more than 300 characters"]

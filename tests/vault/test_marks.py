"""Code spans and emphasis: the linear readers find what the plain patterns say."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.vault.inline_marks import CODE_SPAN, without_emphasis

EMPHASIS = re.compile(r"(\*\*|__|~~|==)(?=\S)(.+?)(?<=\S)\1")


CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


@settings(max_examples=examples(1000))
@given(st.text("*_~=ab \n", max_size=30))
def test_emphasis_goes_as_its_pattern_says(text: str) -> None:
    assert without_emphasis(text) == EMPHASIS.sub(r"\2", text)


@settings(max_examples=examples(1000))
@given(st.lists(st.sampled_from(["`", "``", "```", "a", " ", "\n"]), max_size=20).map("".join))
def test_code_spans_are_those_of_their_pattern(text: str) -> None:
    found = [span.span() for span in re.finditer(CODE_SPAN, text)]
    # What is left of a run of more than eight backquotes opens nothing.
    if "`" * 9 not in text:
        assert found == [span.span() for span in CODE.finditer(text)]

"""What steers a terminal is taken out of what is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.controls import without_controls


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a \x1b[31mred\x1b[0m word", "a red word"),
        ("title\x1b]0;pwned\x07 end", "title end"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("\x9b2Jcleared", "cleared"),
        ("back\x08space\rreturn\x7f", "backspacereturn"),
        ("left \u202eto right\u202c", "left to right"),
        ("lines\nand\ttabs stay, 漢字 📓 too", "lines\nand\ttabs stay, 漢字 📓 too"),
    ],
)
def test_sequences_go_whole_and_text_stays(text: str, shown: str) -> None:
    assert without_controls(text) == shown


@given(st.text())
def test_nothing_that_steers_is_left(text: str) -> None:
    shown = without_controls(text)
    assert not set(shown) & {"\x1b", "\x9b", "\x07", "\r", "\u202e"}
    assert without_controls(shown) == shown

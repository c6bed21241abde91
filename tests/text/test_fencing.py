"""The code around text that a model is shown as data."""

from hypothesis import given
from hypothesis import strategies as st

from rag.text.messages import fenced, unused_code

TEXTS = st.lists(st.text("abcdef0123456789 \udcff", max_size=40), max_size=4)


@given(TEXTS, st.text(max_size=3))
def test_no_text_holds_the_code(texts, secret):
    code = unused_code(texts, secret)
    assert not any(code in text for text in texts)
    assert len(code) == 8


def test_a_text_that_knows_the_code_gets_another():
    known = unused_code(["a"])
    assert unused_code([known]) not in ("", known)
    first = unused_code(iter(["a", "b"]))
    assert first == unused_code(["a", "b"]) != unused_code(["a", "b"], "secret")


def test_it_stands_on_the_lines_around_the_text():
    assert fenced("a\nb", "c0de") == "<<< c0de\na\nb\nc0de >>>"

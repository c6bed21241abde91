"""An answer in pieces: what is judged by itself, however the stream is cut."""

from hypothesis import given
from hypothesis import strategies as st

from rag.answers.verification import UnitSplitter
from tables import rows


def units(*deltas: str, whole: bool = True) -> list[tuple[str, str]]:
    splitter = UnitSplitter()
    found = [unit for delta in deltas for unit in splitter.feed(delta)]
    return [(unit.kind, unit.text) for unit in found + splitter.end(whole)]


@rows(
    "text, sentences",
    ("One. Two.", ["One. ", "Two."]),
    ("One. [1] Two [2].", ["One. [1] ", "Two [2]."]),
    ("One.[1][2] Two.", ["One.[1][2] ", "Two."]),
    ("One. [1, 3] [^2] Two.", ["One. [1, 3] [^2] ", "Two."]),
    ("One. [note] Two.", ["One. ", "[note] Two."]),
    ("In rag.toml, e.g. 3.5 of A. Smith. So.", ["In rag.toml, e.g. 3.5 of A. Smith. ", "So."]),
    ("一つ。二つ。[1]三つ", ["一つ。", "二つ。[1]", "三つ"]),
    ("「一つ。二つ。」と書いた。次。", ["「一つ。二つ。」と書いた。", "次。"]),
    ("He said “One. Two.” Three.", ["He said “One. Two.” ", "Three."]),
    ('"One. Two." [1] Three.', ['"One. Two." [1] ', "Three."]),
    ("Run `a. b` now. Then.", ["Run `a. b` now. ", "Then."]),
    ("1. First. Second.", ["1. First. ", "Second."]),
    ("One.\nTwo.\n", ["One.\n", "Two.\n"]),
    ("Am 31. Juli endet sie. So.", ["Am 31. Juli endet sie. ", "So."]),
    ("He has 12. Then", ["He has 12. ", "Then"]),
    ("One!? (Two.) Three", ["One!? ", "(Two.) ", "Three"]),
)
def test_sentences_end_with_their_citations(text, sentences):
    assert [found for _, found in units(text)] == sentences


def test_lines_that_are_no_sentences():
    text = "# Head. Line\n| a. b | c |\n> Quote. More.\n\n```sh\n# x. y\n\nls\n```\nEnd.\n"
    assert units(text) == [
        *(("heading", "# Head. Line\n"), ("row", "| a. b | c |\n")),
        *(("quote", "> Quote. More.\n"), ("blank", "\n")),
        *(("fence", "```sh\n# x. y\n\nls\n```\n"), ("sentence", "End.\n")),
    ]


def test_a_sentence_is_given_out_as_soon_as_nothing_can_change_it():
    splitter = UnitSplitter()
    assert splitter.feed("One.") == []
    assert splitter.feed(" [1") == []
    assert splitter.feed("]") == []
    assert [unit.text for unit in splitter.feed(" T")] == ["One. [1] "]


def test_a_fence_that_is_never_closed_ends_with_the_answer():
    assert units("```\na. b\n") == [("fence", "```\na. b\n")]


@rows(
    "text, kept",
    *(("One. Tw", ["One. "]), ("One. Two.", ["One. ", "Two."]), ("One. [1", []), ("```\na", [])),
)
def test_of_an_answer_that_broke_off_no_half_sentence_is_kept(text, kept):
    assert [found for _, found in units(text, whole=False)] == kept


_PIECES = [
    *("One. ", "[1]", " [2, 3]", "。", "「", "」", "と", '"', "`", "```\n", "\n", "\n\n", "|"),
    "> ",
]
_TEXT = st.lists(st.sampled_from([*_PIECES, "a", "3.5", "# ", "- ", "e.g. ", "[", "!", "“", "”"]))


@given(_TEXT.map("".join), st.integers(1, 7))
def test_how_the_stream_is_cut_makes_no_difference(text, size):
    cut = units(*(text[at : at + size] for at in range(0, len(text), size)))
    assert cut == units(text)
    assert "".join(found for _, found in cut) == text

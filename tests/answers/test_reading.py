"""What a reader is given of the notes, and what comes of what it says."""

from collections.abc import Sequence

import pytest

from rag.answers.quotation.question import Question
from rag.answers.quotation.reading import Read, read_units
from rag.answers.quotation.selection import Choice, Passage, choose
from rag.clients.protocols import Reading, Span, TextToRead
from rag.text.token_estimate import count_tokens

QUESTION = Question("Which pump did I put into the boat?", lambda dimension: 2.0)
LOG = "I put a pump into the boat on Sunday.\n\nThe Whale is the pump in the boat."
ITEMS = "The boat needs:\n\n- a pump\n- paint, see [[Paint]]\n- a new rope"


def passages(*contents: str, near: float = 2.0) -> list[Passage]:
    return [
        Passage("Log\nMay", text, n, near=near, nearness=[near])
        for n, text in enumerate(contents, 1)
    ]


def reader(answer: str, answered: float = 3.0) -> tuple[Read, list[TextToRead]]:
    """A reader that takes some words for the answer, and notes what it is given."""
    seen: list[TextToRead] = []

    def read(question: str, texts: Sequence[TextToRead]) -> list[Reading]:
        assert question == QUESTION.text
        seen.extend(texts)
        return [
            Reading(answered if answer in text else -3.0, [span(text, *some) for some in ranges])
            for text, ranges in texts
        ]

    def span(text: str, begin: int, end: int) -> Span:
        at = text.find(answer, begin, end)
        return Span(8.0, at, at + len(answer)) if at >= 0 else Span(-8.0, begin, end)

    return read, seen


def chosen(read: Read, *contents: str) -> tuple[list[list[Choice]], float]:
    return choose(QUESTION, passages(*contents), 3, read)


def test_the_unit_with_the_span_comes_first_and_marks_it():
    words_alone, _ = choose(QUESTION, passages(LOG), 3)
    assert words_alone[0][0].unit.text.startswith("I put a pump")
    [first, *_], confidence = chosen(reader("Whale")[0], LOG)
    assert first[0].unit.text == "The Whale is the pump in the boat."
    assert first[0].answer == "Whale" and confidence > 0.5


def test_what_the_reader_does_not_find_is_less_likely():
    _, sure = chosen(reader("pump")[0], LOG)
    _, unsure = chosen(reader("no such words")[0], LOG)
    assert unsure < sure


def test_only_a_span_that_answers_is_marked_and_without_what_stands_around_it():
    [first, *_], _ = chosen(reader(" Whale ")[0], LOG)
    assert first[0].answer == "Whale"

    def unsure(question: str, texts: Sequence[TextToRead]) -> list[Reading]:
        return [Reading(6.0, [Span(-1.0, *some) for some in ranges]) for _, ranges in texts]

    [first, *_], _ = chosen(unsure, LOG)
    assert first[0].answer == ""


def test_units_are_read_once_with_their_title_and_heading():
    read, seen = reader("rope")
    chosen(read, ITEMS)
    [(text, ranges)] = seen
    assert text.startswith("Log · May: The boat needs:")
    assert text.count("a new rope") == 1
    inside = {text[begin:end] for begin, end in ranges}
    assert {"a pump", "paint, see Paint", "a new rope"} <= {part.strip() for part in inside}


def test_little_is_read_of_many_and_long_notes():
    read, seen = reader("Whale")
    long = " ".join(f"On day {n} I put a pump into the boat." for n in range(90))
    chosen(read, *[long.replace("boat", f"boat {n}") for n in range(9)])
    assert len(seen) <= 8
    assert max(count_tokens(text) for text, _ in seen) < 180


@pytest.mark.parametrize("step", [1, -1])
def test_a_unit_in_two_windows_counts_by_the_better(step):
    [passage] = passages(" ".join(f"On day {n} I put a pump into the boat." for n in range(60)))
    scores: dict[str, list[float]] = {}

    def read(question: str, texts: Sequence[TextToRead]) -> list[Reading]:
        for n, (text, ranges) in enumerate(texts):
            for begin, end in ranges:
                scores.setdefault(text[begin:end], []).append(float(n * step))
        return [
            Reading(0.0, [Span(float(n * step), *some) for some in ranges])
            for n, (_, ranges) in enumerate(texts)
        ]

    best = [(0, unit) for unit in passage.units]
    readings = read_units(QUESTION.text, best, ["Log"], [passage.units], read)
    assert max(map(len, scores.values())) > 1
    assert {one.text: one.span for one in readings.values()} == {
        text: max(given) for text, given in scores.items()
    }


def test_nothing_is_read_where_meaning_is_not_known_or_the_reader_fails():
    read, seen = reader("Whale")
    alone = choose(QUESTION, passages(LOG), 3)
    assert choose(QUESTION, passages(LOG), 3, lambda question, texts: []) == alone
    without = [Passage("Log", LOG, 1)]
    assert choose(QUESTION, without, 3, read) == choose(QUESTION, without, 3)
    assert not seen

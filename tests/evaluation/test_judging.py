"""From the names that a question uses to the gain of each result."""

from rag.evaluation.run import Judge, Place, Question, gains

WORK, HOME = Place("work", "a.md"), Place("home", "a.md")
OTHER = Place("work", "sub/b.md")
JUDGE = Judge([WORK, HOME, OTHER])


def gains_of(
    results: list[Place], relevant: tuple[str, ...] = (), partial: tuple[str, ...] = ()
) -> list[float]:
    return gains(results, JUDGE.judged(Question("1", "x", relevant, partial)))


def test_a_relevant_note_gains_1_a_partial_one_half_and_any_other_nothing():
    assert gains_of([HOME, OTHER, WORK], ("sub/b.md",), ("work/a.md",)) == [0, 1, 0.5]


def test_a_note_may_be_named_with_its_vault():
    assert gains_of([HOME, WORK], ("work/a.md",)) == [0, 1]


def test_each_of_two_names_wants_a_note_of_its_own():
    assert gains_of([WORK, HOME], ("a.md", "work/a.md")) == [1, 1]


def test_of_two_notes_of_a_name_the_better_ranked_answers_to_it():
    assert gains_of([WORK, OTHER, HOME], ("a.md",)) == [1, 0, 0]


def test_notes_that_the_index_does_not_hold_are_still_wanted():
    question = Question("1", "x", ("gone.md", "lost.md", "a.md"))
    assert [one.gain for one in JUDGE.judged(question)] == [1, 1, 1]


def test_a_question_is_known_when_one_of_its_relevant_notes_is():
    assert JUDGE.knows(Question("1", "x", ("gone.md", "a.md")))
    assert not JUDGE.knows(Question("1", "x", ("gone.md",), ("a.md",)))
    assert JUDGE.knows(Question("1", "x", (), ("gone.md", "a.md")))

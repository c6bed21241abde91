"""Comparing two runs: which questions are paired, and when a change is more than chance."""

from dataclasses import replace

import pytest

from rag.evaluation.comparison import Comparison, compare
from rag.evaluation.run import METRICS, Outcome, Question
from rag.exceptions import UsageError


def outcome(name: str, value: float, milliseconds: float = 5, query: str = "x") -> Outcome:
    return Outcome(
        Question(name, query, ("a.md",)), [], dict.fromkeys(METRICS, value), milliseconds
    )


def outcomes(values: list[float]) -> list[Outcome]:
    return [outcome(str(number), value) for number, value in enumerate(values)]


def compared(before: list[float], after: list[float]) -> Comparison:
    return compare(outcomes(before), outcomes(after))


class TestVerdict:
    def test_a_drop_in_most_questions_is_worse(self):
        found = compared([1.0] * 50, [0.5] * 30 + [1.0] * 20)
        one = found.differences["ndcg_10"]
        assert found.worse
        assert one.difference == pytest.approx(-0.3)
        assert one.low < -0.3 < one.high < 0

    def test_a_drop_in_one_question_of_fifty_may_be_chance(self):
        found = compared([1.0] * 50, [0.0] + [1.0] * 49)
        assert found.differences["ndcg_10"].difference == pytest.approx(-0.02)
        assert not found.worse

    def test_a_rise_in_most_questions_is_better(self):
        found = compared([0.5] * 50, [1.0] * 30 + [0.5] * 20)
        assert found.better
        assert not found.worse

    def test_the_same_run_is_the_same(self):
        found = compared([0.1, 0.2, 0.3], [0.1, 0.2, 0.3])
        assert found.same
        assert not found.worse

    def test_ndcg_10_decides_and_nothing_else(self):
        before = outcomes([1.0] * 20)
        after = [
            Outcome(one.question, [], dict.fromkeys(METRICS, 0.0) | {"ndcg_10": 1.0}, 500)
            for one in before
        ]
        assert not compare(before, after).worse


class TestInterval:
    def test_it_is_close_to_the_normal_one_for_many_questions(self):
        found = compared([0.5] * 400, [0.4, 0.8] * 200).differences["ndcg_10"]
        half = 1.96 * 0.2 / 400**0.5  # the differences are 0.1 with a deviation of 0.2
        assert found.low == pytest.approx(0.1 - half, abs=0.002)
        assert found.high == pytest.approx(0.1 + half, abs=0.002)

    def test_it_is_paired_so_that_hard_and_easy_questions_do_not_widen_it(self):
        found = compared([0.0, 0.9] * 20, [0.1, 1.0] * 20).differences["ndcg_10"]
        assert (found.low, found.high) == (0.1, 0.1)

    def test_the_latency_is_the_difference_of_the_medians(self):
        before = [outcome(str(n), 1, milliseconds=n) for n in (1, 2, 3)]
        after = [outcome(str(n), 1, milliseconds=10 * n) for n in (1, 2, 3)]
        one = compare(before, after).differences["latency_ms_p50"]
        assert (one.baseline, one.now, one.difference) == (2, 20, 18)
        assert (one.low, one.high) == (9, 27)


class TestPairs:
    def test_questions_are_paired_by_id_whatever_their_order(self):
        before = outcomes([0.1, 0.9])
        assert compare(before, outcomes([0.1, 0.9])[::-1]).same

    def test_questions_of_one_run_alone_are_left_out_and_told(self):
        before, after = outcomes([1.0, 1.0, 0.0]), outcomes([1.0, 1.0])
        after.append(outcome("new", 0.0))
        found = compare(before, after)
        assert (found.queries, found.left_out) == (2, ["2", "new"])
        assert found.same

    def test_a_question_that_names_other_notes_now_is_left_out_and_told(self):
        after = outcomes([1.0, 1.0, 1.0])
        for number, question in enumerate(
            (Question("0", "x", ("b.md",)), Question("1", "x", ("a.md",), ("b.md",)))
        ):
            after[number] = replace(after[number], question=question)
        assert compare(outcomes([1.0, 1.0, 1.0]), after).left_out == ["0", "1"]

    def test_runs_that_share_no_question_cannot_be_compared(self):
        with pytest.raises(UsageError, match="share no question"):
            compare([outcome("a", 1.0)], [outcome("b", 1.0)])

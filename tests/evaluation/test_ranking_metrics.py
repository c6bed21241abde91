"""The metrics against values worked out by hand, and what must hold of every ranking."""

from math import log2

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag.evaluation.run import METRICS, score

R, P, N = 1.0, 0.5, 0.0  # relevant, partial, neither


class TestByHand:
    def test_a_perfect_ranking(self):
        assert score([R], [R]) == dict.fromkeys(METRICS, 1.0)

    def test_one_relevant_note_at_rank_6_counts_for_10_but_not_for_5(self):
        found = score([N, N, N, N, N, R], [R])
        assert (found["ndcg_5"], found["hit_5"]) == (0, 0)
        assert found["ndcg_10"] == pytest.approx(1 / log2(7))
        assert found["mrr"] == pytest.approx(1 / 6)

    def test_two_relevant_and_a_partial_note_out_of_order(self):
        # trec_eval gives 0.6973180732318199 for the same ranking (gains 2, 2, 1).
        found = score([N, R, P, R], [R, R, P])
        best = 1 + 1 / log2(3) + 0.5 / 2
        assert found["ndcg_10"] == pytest.approx((1 / log2(3) + 0.5 / 2 + 1 / log2(5)) / best)
        assert found["ndcg_10"] == pytest.approx(0.6973180732318199)
        assert (found["mrr"], found["recall_10"]) == (0.5, 1)

    def test_a_partial_note_counts_for_ndcg_alone(self):
        found = score([P], [R, P])
        assert found["ndcg_10"] == pytest.approx(0.5 / (1 + 0.5 / log2(3)))
        assert [found[name] for name in METRICS[2:]] == [0, 0, 0, 0, 0]

    def test_without_a_relevant_note_the_partial_ones_count_as_relevant(self):
        assert score([P], [P]) == dict.fromkeys(METRICS, 1.0)

    def test_ten_of_twelve_relevant_notes_are_a_recall_of_ten_twelfths(self):
        found = score([R] * 10, [R] * 12)
        assert found["recall_10"] == pytest.approx(10 / 12)
        assert found["ndcg_10"] == pytest.approx(1)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    """The gains of up to ten results, and of all that the question names."""
    judged = draw(st.lists(st.sampled_from([R, P]), min_size=1, max_size=10))
    mixed = draw(st.permutations([*judged, *[N] * 10]))
    return mixed[: draw(st.integers(0, 10))], judged


class TestOfEveryRanking:
    @given(rankings())
    def test_every_metric_lies_between_0_and_1(self, ranking):
        assert all(0 <= value <= 1 for value in score(*ranking).values())

    @given(rankings())
    def test_the_ideal_order_gives_1(self, ranking):
        _, judged = ranking
        assert score(sorted(judged, reverse=True), judged) == pytest.approx(
            dict.fromkeys(METRICS, 1.0)
        )

    @given(rankings(), st.data())
    def test_a_relevant_note_that_moves_up_never_lowers_a_metric(self, ranking, data):
        gains, judged = ranking
        places = [rank for rank, gain in enumerate(gains) if gain == max(judged)]
        assume(places)
        place = data.draw(st.sampled_from(places))
        moved = list(gains)
        moved.insert(data.draw(st.integers(0, place)), moved.pop(place))
        before, after = score(gains, judged), score(moved, judged)
        assert all(after[name] >= before[name] - 1e-12 for name in METRICS)

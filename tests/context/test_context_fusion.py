"""Reciprocal rank fusion of lists of items."""

import pytest

from context_parts import contents, item
from rag.context import reciprocal_rank_fusion
from tables import rows

A, B, C = item("a", score=0.3, metadata={"m": 1}), item("b"), item("c")


def test_an_item_is_the_first_of_its_id_with_what_found_it():
    other = A.model_copy(update={"content": "other"})
    (fused,) = reciprocal_rank_fusion([[A], [], [other]])
    assert (fused.content, fused.metadata) == ("a", {"m": 1, "found_by": [0, 2]})
    assert A.metadata == {"m": 1}


def test_a_list_counts_an_item_once_where_it_stands_higher():
    assert contents(reciprocal_rank_fusion([[B, A, A, A, A]])) == ["b", "a"]
    assert contents(reciprocal_rank_fusion([[A, B, A]])) == ["a", "b"]


def test_a_list_may_weigh_more():
    assert contents(reciprocal_rank_fusion([[A], [B]], weights=[1, 2])) == ["b", "a"]


@rows(
    "arguments, message",
    ({"weights": [1]}, "1 weights for 2 lists"),
    ({"weights": [1, -1]}, "weights must be finite and not negative"),
    ({"weights": [1, float("nan")]}, "weights must be finite"),
    ({"weights": [1, float("inf")]}, "weights must be finite"),
    ({"k": -1}, "k must not be negative"),
)
def test_nonsense_is_a_value_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        reciprocal_rank_fusion([[A], [B]], **arguments)

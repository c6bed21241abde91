"""What a pipeline's failure means: the error of ours that it wraps, and no circle of causes."""

import pytest

from rag.exceptions import IndexingError, LockedError
from rag.support.pipeline_parts import own_errors


def test_an_error_of_ours_is_raised_as_it_was_and_caused_by_what_it_was():
    reason = ValueError("why")
    with pytest.raises(LockedError) as caught, own_errors(IndexingError, "it failed"):
        try:
            raise LockedError("taken") from reason
        except LockedError as error:
            raise RuntimeError("a component failed") from error
    assert caught.value.__cause__ is reason


def test_any_other_error_is_told_as_one_of_ours():
    with (
        pytest.raises(IndexingError, match="it failed \\(no memory\\)"),
        own_errors(IndexingError, "it failed"),
    ):
        raise RuntimeError("no memory")

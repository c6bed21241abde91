"""Which tests `make test` leaves to `make test-full`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from property_examples import left_out

Collect = Callable[[str], list[pytest.Item]]


@pytest.fixture
def collected(pytester: pytest.Pytester) -> Collect:
    """Collect the tests of a file."""

    def collect(text: str) -> list[pytest.Item]:
        pytester.makeini("[pytest]\nmarkers =\n    sampled\n    slow\n")
        return pytester.getitems(f"import pytest\n{text}")

    return collect


def names(items: list[pytest.Item]) -> set[str]:
    return {item.name for item in items}


def test_a_test_without_a_mark_runs(collected: Collect) -> None:
    assert left_out(collected("def test_it(): pass")) == []


def test_a_slow_test_does_not(collected: Collect) -> None:
    items = collected("@pytest.mark.slow\ndef test_it(): pass\ndef test_other(): pass")
    assert names(left_out(items)) == {"test_it"}


@pytest.mark.parametrize(("count", "run"), [(1, 1), (4, 1), (10, 2), (23, 4)])
def test_of_sampled_cases_a_fifth_runs_and_at_least_one(
    collected: Collect, count: int, run: int
) -> None:
    items = collected(
        f"@pytest.mark.sampled\n@pytest.mark.parametrize('n', range({count}))\ndef test_it(n): pass"
    )
    assert len(items) - len(left_out(items)) == run


def test_it_is_the_same_cases_each_time(collected: Collect) -> None:
    items = collected(
        "@pytest.mark.sampled\n@pytest.mark.parametrize('n', range(10))\ndef test_it(n): pass"
    )
    assert names(left_out(items)) == names(left_out(items[::-1]))

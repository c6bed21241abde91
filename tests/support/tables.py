"""Tables of cases as one test: to collect and set up a case takes longer than most of them run."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

Test = Callable[..., None]


def rows(names: str, *cases: Any) -> Callable[[Test], Test]:
    """Run a test for every row, as `parametrize` does, and report all rows that fail.

    The rows share the test's fixtures, its home and its settings.

    :param cases: the rows, or what holds them all.
    """
    parameters = names.replace(",", " ").split()
    table = list(cases[0] if len(cases) == 1 else cases)
    assert table, "a table without rows tests nothing"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*arguments: Any, **fixtures: Any) -> None:
            failures: list[Exception] = []
            for row in table:
                values = row if len(parameters) > 1 else (row,)
                given = dict(zip(parameters, values, strict=True))
                try:
                    test(*arguments, **fixtures, **given)
                except (Exception, pytest.fail.Exception) as error:
                    failures.append(AssertionError(f"row {row!r}: {error}"))
                    failures[-1].__cause__ = error
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows fail", failures)

        signature = inspect.signature(test)
        left = [p for name, p in signature.parameters.items() if name not in parameters]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate

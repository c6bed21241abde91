"""Queries that attack: 4,000 characters of each family of `tests/support/hostile_queries.py`.

They are searched, asked (quoted, without a model), planned and transformed over 1,000 generated
notes, in this process, after plain queries have warmed it up; what counts is the CPU time above
that of a plain query.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from faults import Row
from made_words import english_word, japanese_word
from rag.app.plan import plan_search
from rag.config import RAGConfig, load_config
from rag.exceptions import RAGError
from rag.indexing.run import IndexRun
from rag.pipelines import create_search_pipeline, search
from rag.qa.pipeline import create_qa_pipeline
from rag.qa.run import ask
from rag.search.planned_query import find_intent
from rag.search.relaxation import intent_of
from rag.stores import get_document_store
from rag.stores.base.document_store import BaseDocumentStore
from rag.text.matches import snippet
from vaults import BYTES, make_vault, title_query

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from hostile_queries import FAMILIES, query, stock_of  # type: ignore[import-not-found]

NOTES = 1_000
LENGTH = 4_000
SECONDS = 0.5  # of CPU, above a plain query
_CAP = 3  # seconds after which a query is given up
_AGAIN = 3  # times that a query is tried which took too long: a busy machine takes longer
_PLAIN = "plain words of a query"

Work = Callable[[str], object]


def rows(room: Path) -> Iterator[Row]:
    """Yield a row for each command."""
    make_vault(room / "vault", NOTES, NOTES * BYTES / 1e6)
    os.environ["RAG_DATA_DIR"] = str(room / "data")
    os.environ["RAG_OLLAMA__ENABLED"] = "false"
    config = load_config()
    with IndexRun(config) as run:
        run.index_vault("vault", room / "vault")
        run.publish()
    queries = {family: query(family, LENGTH, _stock()) for family in FAMILIES}
    with get_document_store(config) as store:
        for name, work in _commands(config, store).items():
            yield _row(name, work, queries)


def _stock() -> object:
    titles = [title_query(number) for number in range(1, 50, 2)]
    tags = ["work", "meeting", "project/alpha", "日記", "運用/監視"]
    return stock_of(map(english_word, range(2_000)), map(japanese_word, range(2_000)), tags, titles)


def _commands(config: RAGConfig, store: BaseDocumentStore) -> dict[str, Work]:
    """Return what each command does with a query."""
    found, answered = create_search_pipeline(store, config), create_qa_pipeline(store, config)

    def searched(query: str) -> None:
        intent, _ = intent_of(store, config, query)
        response = search(found, query, intent=intent)
        for result in response.results:
            snippet(result.content, response.searched, 200)

    def asked(query: str) -> None:
        intent, _ = intent_of(store, config, query)
        ask(answered, query, intent=intent)

    return {
        "search": searched,
        "ask": asked,
        "plan": lambda query: find_intent(store, config, query, full=True),
        "transform": lambda query: plan_search(config, query),
    }


def _row(name: str, work: Work, queries: dict[str, str]) -> Row:
    plain = min(_seconds(work, _PLAIN) for _ in range(5))
    taken = {family: _least(work, text) - plain for family, text in queries.items()}
    return _told(f"{name}: {LENGTH:,} characters take {SECONDS} s of CPU at most", taken)


def _told(what: str, taken: dict[str, float]) -> Row:
    worst = max(taken, key=lambda family: taken[family])
    slow = [family for family, seconds in taken.items() if seconds > SECONDS]
    return Row(what, len(taken), len(slow), f"most: {taken[worst]:.2f} s, {worst}")


def _least(work: Work, text: str) -> float:
    """Return what a query takes, the least of a few times if that is too long."""
    least = _seconds(work, text)
    for _ in range(_AGAIN - 1):
        if SECONDS < least < _CAP:
            least = min(least, _seconds(work, text))
    return least


def _seconds(work: Work, text: str) -> float:
    """Return the CPU time of a query; one that takes far too long is ended."""
    started = time.process_time()
    # To refuse a query is an answer too.
    with _ending(), suppress(RAGError):
        work(text)
    return time.process_time() - started


class _TooLongError(BaseException):
    """A query has taken all the time that it is given."""


@contextmanager
def _ending() -> Iterator[None]:
    def end(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, _CAP)
    try:
        yield
    except _TooLongError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)

"""What the first requests of a process would do once, so that they need not.

No query is made up for it: an index is opened for the words that are asked for.
"""

from __future__ import annotations

from importlib import import_module

from rag.app.snapshot import Snapshot
from rag.search.pipeline import create_search_pipeline

# What a search imports while it runs. Two first ones at once would do so at the same time.
_IMPORTED_LATE = ("haystack.tools.toolset", "rapidfuzz.distance", "rapidfuzz.process")


def warm_up(snapshot: Snapshot) -> None:
    """Import what a search needs, and read the state of the index.

    :raises RAGError: when there is no index, or the settings of searches are wrong.
    """
    for name in _IMPORTED_LATE:
        import_module(name)
    _ = snapshot.state
    create_search_pipeline(snapshot.store, snapshot.config).close()


def warm_up_answers(snapshot: Snapshot) -> None:
    """Import what answers are made with.

    :raises RAGError: as for `warm_up`.
    """
    from rag.qa.pipeline import create_qa_pipeline

    create_qa_pipeline(snapshot.store, snapshot.config).close()

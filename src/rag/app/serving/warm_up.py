"""What the first search of a process does once: imports, opening the index, loading the model."""

from __future__ import annotations

from rag.app.requests import SearchRequest
from rag.app.search import search
from rag.app.snapshot import Snapshot
from rag.index.embedding_space import maker
from rag.search.embedding_choice import embedded_in
from rag.search.modes import SearchMode

_QUERY = "warm"


def warm_up(snapshot: Snapshot) -> None:
    """Search for a word, by meaning too where that asks no server of models.

    :raises IndexUnavailableError: when there is no index, or one of another version.
    """
    config = snapshot.config
    if config.routes.classifier or config.search.transforms:  # which may ask a model
        _ = snapshot.state
        return
    chosen = config.embedding.provider
    is_builtin = maker(embedded_in(snapshot.store)) == "builtin" and chosen in ("auto", "builtin")
    mode = SearchMode.AUTO if is_builtin else SearchMode.LEXICAL
    search(snapshot, SearchRequest(_QUERY, top_k=1, mode=mode, plan=False))


def warm_up_answers(snapshot: Snapshot) -> None:
    """Make the pipeline that answers questions, which imports what it is made of.

    :raises RAGError: as for `warm_up`, and for settings of it that are wrong.
    """
    from rag.qa.pipeline import create_qa_pipeline

    create_qa_pipeline(snapshot.store, snapshot.config).close()

"""What front-ends ask for; a request is a use case's only argument beside the notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rag.config import RAGConfig
    from rag.search.results import QueryFilters


@dataclass(frozen=True)
class SearchRequest:
    """A query, and how it is searched.

    :param top_k: how many results; `None` for as many as the settings say.
    :param mode: of search; `None` when nobody chose one.
    :param transforms: names of query transforms; `None` for those of the settings.
    :param plan: whether the query is planned; `None` where that is for its words to decide.
    :param chunks: list chunks, not notes.
    :param explain: take the scores apart.
    :param rerank: let the chat model order the best results.
    :param min_score: leave out results that score less; notes that are only listed have no score.
    :param context: give so many lines before and after the matching line of each result.
    :param order: of the results: `score`, `created`, `modified` or `title`; "" for the usual one.
    :param refresh: index what changed first, where it is little; see `rag.app.refresh`. A snapshot
        that is open already stays as it is.
    :param like: the name of a note: find notes like it, in the place of a query.
    :param everything: give results too that neither words nor nearness bear.
    """

    query: str
    filters: QueryFilters | None = None
    top_k: int | None = None
    mode: str | None = None
    transforms: list[str] | None = None
    plan: bool | None = None
    chunks: bool = False
    explain: bool = False
    rerank: bool = False
    min_score: float = 0.0
    context: int | None = None
    order: str = ""
    refresh: bool = False
    like: str | None = None
    everything: bool = False


@dataclass(frozen=True)
class RelatedRequest:
    """A note, and which of those related to it are wanted.

    :param note: its name, as `rag.app.notes.get_note` takes it.
    :param include_linked: give those too that it links to, or that link to it.
    :param min_score: leave out what scores less; `None` for what is not clearly related.
    :param all_vaults: look in all vaults; else, where the filters name none, in the note's own.
    :param folder: where a path may begin too.
    """

    note: str
    filters: QueryFilters | None = None
    top_k: int = 10
    include_linked: bool = False
    min_score: float | None = None
    all_vaults: bool = False
    folder: Path | None = None


@dataclass(frozen=True, kw_only=True)
class _Answering:
    """How questions are answered; what is not told here is as in a `SearchRequest`.

    :param model: a chat model, which must answer; "" for that of the settings.
    :param no_model: ask none, and quote.
    :param think: give the model's reasoning too.
    :param explain: give what the model was shown.
    """

    filters: QueryFilters | None = None
    top_k: int | None = None
    transforms: list[str] | None = None
    plan: bool | None = None
    model: str = ""
    no_model: bool = False
    think: bool = False
    explain: bool = False


@dataclass(frozen=True)
class AskRequest(_Answering):
    """A question."""

    question: str


@dataclass(frozen=True)
class ChatRequest(_Answering):
    """A conversation: that with the id `session`, the latest (`go_on`), or a new one."""

    session: str = ""
    go_on: bool = False


def with_model(config: RAGConfig, model: str, no_model: bool, think: bool = False) -> RAGConfig:
    """Return the settings with the model that was chosen for a question; see `AskRequest`."""
    from rag.clients.factory import chat_provider  # a list of conversations does without

    if model:  # whoever insists on one wants it asked, whatever was found a minute ago
        chat_provider(config).forget_silence()
    if no_model:
        config = chat_provider(config).with_model(config, "")
    return replace(config, ask=replace(config.ask, think=think or config.ask.think))


@dataclass(frozen=True)
class SyncRequest:
    """How an index is brought up to date.

    :param folders: which become vaults and are read; none for all vaults that are known.
    :param name: of the vault, when there is one folder.
    :param prune: forget the notes of empty or missing folders.
    :param rebuild: forget what is there and read every note again.
    :param embed: require embeddings, those of another model rebuilt; or make none; `None` to
        make what lacks, where a model answers.
    :param wait: for another writer, instead of failing.
    :param quiet: leave out the notice that there are no embeddings at all, unless the settings
        name who makes them.
    :param take_over: write an index on a server that another machine has written.
    :param seconds: how long a model may embed before it leaves the rest to the next run; `None`
        for no limit. What `embed` requires has none.
    """

    folders: Sequence[Path] = ()
    name: str = ""
    prune: bool = False
    rebuild: bool = False
    embed: bool | None = None
    wait: bool = False
    quiet: bool = False
    take_over: bool = False
    seconds: float | None = None

"""The form of a prompt: notes cleaned, measured, cut and fenced, and all of it as messages."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rag.answers import prompt_texts as words
from rag.answers.language import marks_for
from rag.answers.prompt_texts import Source
from rag.context.formatters import Message, merged, role_of
from rag.context.models import ContextItem, ContextWindow, SourceType, by_priority
from rag.context.steps import Items
from rag.qa.neighbours.around import Around
from rag.qa.plugin_steps import rank_of
from rag.query.models import QueryBundle
from rag.text.data_delimiters import unused_code
from rag.text.token_estimate import count_tokens

QUESTION_PRIORITY = 9


def source_of(item: ContextItem) -> Source:
    """Return the source that an item holds."""
    of = item.metadata
    return Source(of["title"], of["place"], item.content, tuple(of["heading"]), tuple(of["tags"]))


class Layout:
    """What is done with the items of one prompt last, and the form they are sent in.

    :param room: how many tokens the notes may take.
    :param around: what stands around notes, by the number that they have in the search.
    """

    format_type = "rag_prompt"

    def __init__(
        self, question: str, room: int, around: Mapping[int, Around] | None = None
    ) -> None:
        self._question, self._room, self._around = question, room, around or {}
        self._code = secrets.token_hex()  # another as long takes its place, where notes hold it

    def widen(self, items: Items, query: QueryBundle) -> Items:
        """Add to the notes what stands before and after them, as far as all of them leave room.

        The best note comes first, and of its neighbours the one that follows it.
        """
        notes = by_priority([item for item in items if item.source == SourceType.RETRIEVAL])
        whole = [self._measured(item, number) for number, item in enumerate(notes, 1)]
        left = self._room - sum(item.token_count for item in whole)
        wider: dict[str, ContextItem] = {}
        for number, item in enumerate(whole, 1):
            around = self._around.get(rank_of(item))
            # Another component may have changed its text, which is what counts then.
            if left > 0 and around and around.passage.content == item.content:
                wider[item.id] = self._widened(item, around, number, left)
                left -= wider[item.id].token_count - item.token_count
        return [wider.get(item.id, item) for item in items]

    def _widened(self, item: ContextItem, around: Around, number: int, room: int) -> ContextItem:
        best, sides = item, set[str]()
        for side in ("after", "before"):
            span = around.span(*(one in {*sides, side} for one in ("before", "after")))
            source = replace(source_of(item), text=span.text, heading=span.heading)
            wider = self._measured(_with(item, source, added=span.added), number)
            if wider.token_count - item.token_count <= room:
                best, sides = wider, {*sides, side}
        return best

    def clean(self, items: Items, query: QueryBundle) -> Items:
        """Remove prompt injections from the notes."""
        return [self._cleaned(i) if i.source == SourceType.RETRIEVAL else i for i in items]

    def _cleaned(self, item: ContextItem) -> ContextItem:
        source, planted = words.clean(source_of(item), marks_for(self._question).left_out)
        return _with(item, source, planted=planted)

    def add_question(self, items: Items, query: QueryBundle) -> Items:
        """Add the question; a step of the user's cannot lose it."""
        question = words.asked(self._question)
        item = ContextItem(content=question, source=SourceType.USER, priority=QUESTION_PRIORITY)
        return [*items, item]

    def fit(self, items: Items, query: QueryBundle) -> Items:
        """Measure the notes as they will be shown, and cut the first that is too long.

        What is cut off follows as an item of its own, which has no room.
        """
        notes = by_priority([item for item in items if item.source == SourceType.RETRIEVAL])
        self._code = unused_code((item.content for item in items), self._code)
        left, placed = self._room, [i for i in items if i.source != SourceType.RETRIEVAL]
        for number, item in enumerate(notes, 1):
            whole = self._measured(item, number)
            if whole.token_count <= left:
                placed.append(whole)
                left -= whole.token_count
            else:
                placed += self._cut(item, number, left) or [whole]
                left = 0
        return placed

    def _cut(self, item: ContextItem, number: int, room: int) -> Items:
        parts = words.cut(source_of(item), number, self._code, room)
        if not parts:
            return []
        first, rest = (_with(item, source, cut=True) for source in parts)
        rest = rest.model_copy(update={"id": f"{item.id}/rest"})
        return [self._measured(first, number), self._measured(rest, number)]

    def _measured(self, item: ContextItem, number: int) -> ContextItem:
        tokens = count_tokens(words.render(source_of(item), number, self._code))
        return item.model_copy(update={"token_count": tokens})

    def format(self, window: ContextWindow) -> list[dict[str, str]]:
        """Return messages: the rules, what was said before, and then facts, notes and question."""
        by: dict[SourceType, Items] = {source: [] for source in SourceType}
        for item in window.items:
            by[item.source].append(item)
        for source in (SourceType.MEMORY, SourceType.CONVERSATION):
            by[source].sort(key=lambda item: item.created_at)
        facts = "".join(item.content for item in by[SourceType.MEMORY])
        notes = enumerate(map(source_of, by[SourceType.RETRIEVAL]), 1)
        last = [
            f"{words.facts_heading(self._question)}{facts}\n" if facts else "",
            *(words.render(source, number, self._code) for number, source in notes),
            *(item.content for item in by[SourceType.USER]),
        ]
        said = [*by[SourceType.SYSTEM], *by[SourceType.CONVERSATION]]
        messages = [Message(role_of(item), item.content) for item in said]
        return [m._asdict() for m in merged([*messages, Message("user", "".join(last))])]


def _with(item: ContextItem, source: Source, **metadata: Any) -> ContextItem:
    """Return an item that holds another form of its source."""
    named = {"title": source.title, "place": source.place, "heading": list(source.heading)}
    changes = {"content": source.text, "metadata": {**item.metadata, **named, **metadata}}
    return item.model_copy(update=changes)

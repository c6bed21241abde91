"""The prompt of an answer, assembled by the context pipeline.

| source | priority | what it is | how much of the room |
|---|---|---|---|
| system | 10 | the rules | all that it needs |
| user | 9 | the question, as the last message | all that it needs |
| memory | 8 | facts that the user told, in the user's message | at most a tenth of the rest |
| conversation | 7 | what was said before, as user and assistant | at most a fifth of the rest |
| retrieval | 5 | notes, fenced and numbered in the user's message | what the others leave |

Everything but the rules is data, and speaks as user or assistant. Notes stand in the order of their
rank. What stands before and after a passage in its note is added to it where there is room. A note
that is too long for what is left is cut between paragraphs, items and rows, but not behind the
sentence that introduces a list, a table or code (`rag.answers.quotation.units`).
"""

from __future__ import annotations

import logging
import re
import secrets
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from haystack.dataclasses import Document

from rag.answers.claims import Evidence, without_citations
from rag.answers.notices import marks_for, wording
from rag.answers.prompt_injection import clean_name, without_instructions
from rag.answers.quotation.units import cut_points
from rag.context.formatters import merged, role_of
from rag.context.models import (
    BudgetAllocation,
    ContextItem,
    ContextResult,
    ContextWindow,
    Items,
    SourceType,
    TokenBudget,
    by_priority,
)
from rag.context.pipeline import ContextPipeline
from rag.context.steps import PipelineStep
from rag.exceptions import ContextError, TooLongError
from rag.query.models import QueryBundle
from rag.stores.base.document_store import BaseDocumentStore
from rag.support.json_reports import hidden, nullable, optional
from rag.text.messages import brief, fenced, unused_code, without_controls
from rag.text.token_estimate import count_tokens
from rag.vault.chunking import chunk_lines, merged_text
from rag.vault.sentences import sentence_spans

# A step that fails is told of in the answer's notices, and need not be printed as a log line too.
logging.getLogger("rag.context").addHandler(logging.NullHandler())

RETRIEVAL, MEMORY, CONVERSATION = (SourceType.RETRIEVAL, SourceType.MEMORY, SourceType.CONVERSATION)
QUESTION_PRIORITY = 9
# Tokenizers differ from our estimate; most by less than this, and where one needs more the
# server refuses the prompt and a shorter one is sent.
MARGIN = 1.25
TEMPLATE_TOKENS = 32  # what a chat template puts around two messages
# Of what rules and question leave; what is not used goes to the notes.
SHARES = {MEMORY: 0.1, CONVERSATION: 0.2}
_LEAST_SHOWN = 24  # tokens; a smaller beginning of a note says nothing
_MESSAGE_TOKENS = 8  # what a chat template puts around one more message
_DOUBTED = re.compile(r"[ \t]*\[\d+\?\]")  # a citation that was not borne out
_SPACES = re.compile(r"[ \t]+(?=\n)|(?<=\S )[ \t]+")

LeftOut = tuple[ContextItem, str]  # what did not go on, and why
Write = Callable[[Items], str]


@dataclass(kw_only=True)
class ShownItem:
    """A piece of the prompt, or what was to be one.

    :param label: what it is, in one line: a note's title and place, a message's role.
    :param content: its text.
    :param number: of a note, that under which the model was shown it; 0 when it was not.
    :param cited: of a note, its number in the answer; 0 when the answer does not name it.
    :param cut: it is one part of a note that was cut: that which is in, or the rest.
    :param why: why it is not in the prompt; empty when it is.
    :param rank: of a note, its number (from 1) in the search; 0 when it has none.
    :param found_by: which variants of the query found a note, where there were any.
    :param added: of a note, the lines (first, last) that the search did not find, and that stand
        before and after what it found.
    """

    source: str
    priority: int
    tokens: int
    label: str
    number: int = nullable(0)
    cited: int = nullable(0)
    cut: bool = False
    why: str = nullable("")
    content: str
    rank: int = hidden(0)
    found_by: list[str] = optional(factory=list)
    added: list[tuple[int, int]] = optional(factory=list)


@dataclass
class WindowReport:
    """The window of an answer.

    :param max_tokens: how many tokens of prompt there was room for, by our estimate.
    :param window: what went in, first what has the highest priority.
    :param overflow: what did not.
    :param usage: tokens in the window, by source.
    :param budgets: the most that each source could have had.
    :param steps: the steps of the context pipeline: `name`, `items_after`, `ms`; in an `Answer`
        all from the question on, those before and after it without `items_after`.
    :param skipped: steps that failed, and how.
    """

    max_tokens: int
    used_tokens: int
    window: list[ShownItem]
    overflow: list[ShownItem]
    usage: dict[str, int]
    budgets: dict[str, int]
    steps: list[dict[str, str | int | float]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What is sent to a model: its `sources` as they stand in it, from number 1, with the `ranks`,
    from 1, that they had in the search; `numbered` says whether the numbers stand in it. `tokens`
    estimates its length, `planted` counts the prompt injections that were left out, `dropped` are
    notes that the user's own steps left out.
    """

    messages: list[dict[str, str]]
    sources: Items
    ranks: list[int]
    tokens: int
    planted: int
    numbered: bool
    dropped: list[LeftOut]
    report: WindowReport


# -- what stands around a passage ----------------------------------------------------------


class Around(NamedTuple):
    """A passage that was found, and the chunks before and after it, where there are any."""

    passage: Document
    before: Document | None = None
    after: Document | None = None

    def widened(self, note: ContextItem, sides: Collection[str]) -> ContextItem:
        """Return a note with the chunks of some `sides` around the passage, without what two of
        them repeat, and the lines (first, last) of each as `added`."""
        before = self.before if "before" in sides else None
        after = self.after if "after" in sides else None
        parts = [part for part in (before, self.passage, after) if part]
        lines = [chunk_lines(part.content or "", part.meta) for part in parts]
        added = [
            (unit.first, unit.last)
            for part, unit in zip(parts, lines, strict=True)
            if part is not self.passage
        ]
        heading = [*map(str, parts[0].meta.get("heading") or ())]
        return _with(note, merged_text(lines), heading=heading, added=added)


def load_neighbours(store: BaseDocumentStore, documents: Sequence[Document]) -> dict[int, Around]:
    """Return, by the number of each document, what stands around it in its note, as far as the
    index has it and it is not among the documents."""
    manifest = store.manifest()
    if manifest is None:
        return {}
    shown = {document.id for document in documents}
    wanted: list[list[str]] = []
    for document in documents:
        row = manifest.note(str(document.meta.get("vault")), str(document.meta.get("file_path")))
        ids = ["", *(key.id for key in row.chunks), ""] if row else []
        at = ids.index(document.id) if document.id in ids else 0
        wanted.append(["" if i in shown else i for i in (ids[at - 1], ids[at + 1])] if at else [])
    ids = list(dict.fromkeys(identity for pair in wanted for identity in pair if identity))
    chunks = {document.id: document for document in store.get_documents(ids)}
    return {
        number: Around(document, *map(chunks.get, pair))
        for number, (document, pair) in enumerate(zip(documents, wanted, strict=True), 1)
    }


# -- the user's own steps ------------------------------------------------------------------


class OwnSteps:
    """Keep the user's own steps to what they may do, and note what they did; a callback of the
    context pipeline."""

    def __init__(self) -> None:
        self.left_out: list[LeftOut] = []
        self.failed: dict[str, str] = {}  # steps that failed, and how

    def guarded(self, step: PipelineStep) -> PipelineStep:
        """Return a step that may reorder, change and drop items; one that fails is skipped."""

        def run(items: Items, query: QueryBundle) -> Items:
            # Copies: metadata, from which sources are made, would be the step's to change.
            given = [item.model_copy(deep=True) for item in items]
            output = step.execute(given, query.model_copy(deep=True))
            before = {item.id: item for item in items}
            kept = {i.id: _changed(before[i.id], i) for i in reversed(output) if i.id in before}
            for item in items:
                if item.id not in kept and item.source != SourceType.SYSTEM:
                    self.left_out.append((item, f"dropped by {step.name}"))
            for item in output:
                if item.id not in before:  # without what could make it a note that was found
                    why = f"added by {step.name}: the search did not find it"
                    self.left_out.append((item.model_copy(update={"metadata": {}}), why))
            return [kept.pop(item.id) for item in output if item.id in kept]

        return PipelineStep(step.name, run, on_error="skip")

    def on_step_error(self, step_name: str, error: Exception) -> None:
        """Keep why a step failed."""
        self.failed[step_name] = brief(str(error) or type(error).__name__)


def _changed(old: ContextItem, new: ContextItem) -> ContextItem:
    """Return an item with those of its changes that a step may make."""
    if old.source != RETRIEVAL:
        return old
    changes = {"content": new.content, "score": new.score, "priority": new.priority}
    return ContextItem.model_validate({**old.model_dump(), **changes})


# -- notes as items ------------------------------------------------------------------------


def rank_of(item: ContextItem) -> int:
    """Return the number (from 1) that a note has in the search; 0 when it is no note of it."""
    return int(item.metadata.get("rank") or 0) if item.source == RETRIEVAL else 0


def note_items(documents: Sequence[Document], ranks: Collection[int]) -> Items:
    """Return documents of some ranks as items; scores only fall, so that the order is kept."""
    return [
        ContextItem(
            content=document.content or "",
            source=RETRIEVAL,
            score=1 - rank / (len(documents) + 1),
            metadata={
                "rank": rank,
                "title": str(document.meta.get("title") or ""),
                "place": f"{document.meta.get('vault')}/{document.meta.get('file_path')}",
                "heading": [*map(str, document.meta.get("heading") or ())],
                "tags": [*map(str, document.meta.get("tags") or ())],
            },
        )
        for rank, document in enumerate(documents, 1)
        if rank in ranks
    ]


def label_of(note: ContextItem) -> str:
    """Return the title and headings of a note in one line."""
    parts = (note.metadata["title"], *note.metadata["heading"])
    return " › ".join(dict.fromkeys(filter(None, parts)))


def evidence_of(note: ContextItem) -> Evidence:
    """Return what a note can support: its text and what it is called."""
    return Evidence(f"{label_of(note)}\n\n{note.content}")


def clean(note: ContextItem, mark: str) -> ContextItem:
    """Remove prompt injections from a note, and control characters, with `mark` in the place of
    each passage; its names are the writer's too. They are counted as `planted`."""
    of = note.metadata
    text, count = without_instructions(without_controls(note.content), mark)
    names = [clean_name(name, mark) for name in (of["place"], of["title"], *of["heading"])]
    title, *heading = (" ".join(name.split()) for name, _ in names[1:])
    changed = {"title": title, "heading": heading, "place": names[0][0]}
    return _with(note, text.rstrip(), **changed, planted=count + sum(n for _, n in names))


def render(note: ContextItem, number: int, code: str) -> str:
    """Return a note as the model is shown it: numbered, and fenced with a code."""
    place = note.metadata["place"]
    return f"[{number}] {label_of(note)} ({place})\n{fenced(note.content, code)}\n\n"


def cut(note: ContextItem, number: int, code: str, room: int) -> tuple[str, str] | None:
    """Divide the text of a note that is too long where it can be cut; of the first, which must not
    be left out, at the end of a sentence where nothing whole fits.

    :returns: as much of it as fits into `room` tokens, and the rest; `None` when too little fits.
    """
    text = note.content

    def size(end: int) -> int:
        return count_tokens(render(_with(note, text[:end].rstrip()), number, code))

    def fitting(ends: list[int]) -> int:
        count = bisect_right(ends, room, key=size)
        end = ends[count - 1] if count else 0
        return end if count_tokens(text[:end].rstrip()) >= _LEAST_SHOWN else 0

    end = fitting(cut_points(text))
    if not end and number == 1:
        end = fitting([end for _, end in sentence_spans(text)])
    return (text[:end].rstrip(), text[end:].lstrip()) if end else None


def _with(item: ContextItem, content: str, **metadata: Any) -> ContextItem:
    return item.model_copy(update={"content": content, "metadata": {**item.metadata, **metadata}})


def _notes(items: Items) -> Items:
    return by_priority(item for item in items if item.source == RETRIEVAL)


class Layout:
    """What is done with the items of one prompt last, and the form they are sent in.

    :param room: how many tokens the notes may take.
    :param around: what stands around notes, by the number that they have in the search.
    :param write: writes the user's message in the place of the built-in one, of all items.
    """

    format_type = "rag_prompt"

    def __init__(
        self, question: str, room: int, around: Mapping[int, Around], write: Write | None
    ) -> None:
        self._question, self._room, self._around, self._write = question, room, around, write
        self._code = secrets.token_hex()  # another as long takes its place, where notes hold it

    def widen(self, items: Items, query: QueryBundle) -> Items:
        """Add to the notes what stands before and after them, as far as all of them leave room.

        The best note comes first, and of its neighbours the one that follows it.
        """
        notes = [self._measured(item, number) for number, item in enumerate(_notes(items), 1)]
        left = self._room - sum(item.token_count for item in notes)
        wider: dict[str, ContextItem] = {}
        for number, item in enumerate(notes, 1):
            around = self._around.get(rank_of(item))
            # Another step may have changed its text, which is what counts then.
            if not around or around.passage.content != item.content:
                continue
            best, sides = item, set[str]()
            for side in ("after", "before"):
                trial = self._measured(around.widened(item, {*sides, side}), number)
                if trial.token_count - item.token_count <= left:
                    best, sides = trial, {*sides, side}
            wider[item.id] = best
            left -= best.token_count - item.token_count
        return [wider.get(item.id, item) for item in items]

    def clean(self, items: Items, query: QueryBundle) -> Items:
        """Remove prompt injections from the notes."""
        mark = marks_for(self._question).left_out
        return [clean(item, mark) if item.source == RETRIEVAL else item for item in items]

    def add_question(self, items: Items, query: QueryBundle) -> Items:
        """Add the question; a step of the user's cannot lose it."""
        question = wording(self._question).asked
        item = ContextItem(content=question, source=SourceType.USER, priority=QUESTION_PRIORITY)
        return [*items, item]

    def fit(self, items: Items, query: QueryBundle) -> Items:
        """Measure the notes as they will be shown, and cut the first that is too long.

        What is cut off follows as an item of its own, which has no room.
        """
        self._code = unused_code((item.content for item in items), self._code)
        left, placed = self._room, [i for i in items if i.source != RETRIEVAL]
        for number, item in enumerate(_notes(items), 1):
            whole = self._measured(item, number)
            if whole.token_count <= left:
                placed.append(whole)
                left -= whole.token_count
                continue
            if parts := cut(item, number, self._code, left):
                first, rest = (self._measured(_with(item, t, cut=True), number) for t in parts)
                placed += [first, rest.model_copy(update={"id": f"{item.id}/rest"})]
            else:
                placed.append(whole)
            left = 0
        return placed

    def _measured(self, item: ContextItem, number: int) -> ContextItem:
        tokens = count_tokens(render(item, number, self._code))
        return item.model_copy(update={"token_count": tokens})

    def format(self, window: ContextWindow) -> list[dict[str, str]]:
        """Return messages: the rules, what was said before, and then facts, notes and question."""
        by: dict[SourceType, Items] = {source: [] for source in SourceType}
        for item in window.items:
            by[item.source].append(item)
        for source in SHARES:
            by[source].sort(key=lambda item: item.created_at)
        messages = [("system", item.content) for item in by[SourceType.SYSTEM]]
        if self._write:
            ordered = [item for source in (*SHARES, RETRIEVAL) for item in by[source]]
            messages.append(("user", self._write(ordered)))
        else:
            messages += [(role_of(item), item.content) for item in by[CONVERSATION]]
            facts = "".join(item.content for item in by[MEMORY])
            last = [
                f"{wording(self._question).facts}{facts}\n" if facts else "",
                *(render(item, number, self._code) for number, item in enumerate(by[RETRIEVAL], 1)),
                *(item.content for item in by[SourceType.USER]),
            ]
            messages.append(("user", "".join(last)))
        return merged(messages)


def build_prompt(
    question: str,
    documents: Sequence[Document],
    room: int,
    remembered: Sequence[ContextItem] = (),
    steps: Sequence[PipelineStep] = (),
    too_long: Prompt | None = None,
    around: Mapping[int, Around] | None = None,
    write: Write | None = None,
) -> Prompt:
    """Put a question, what is remembered, and as many documents as fit into a prompt.

    :param room: how many tokens the model reads, those of the answer not counted.
    :param steps: the user's own; see `OwnSteps`.
    :param too_long: the prompt of the same that was too long: the better half of it is tried.
    :param around: what stands around documents, by number; added as far as there is room.
    :param write: writes the user's message of facts, what was said and notes, in that order.
    :raises TooLongError: when the question leaves no room for a note; `ContextError`: the steps.
    """
    memory = _remembered(remembered, question)
    budget, limits = _share_out(question, room, memory)
    layout = Layout(question, budget.get_allocation(RETRIEVAL), around or {}, write)
    ranks = too_long.ranks[: len(too_long.ranks) // 2] if too_long else range(1, len(documents) + 1)
    own = OwnSteps()
    own.left_out += too_long.dropped if too_long else ()
    notes = note_items(documents, ranks)
    pipeline = (
        ContextPipeline(room, budget=budget)
        .add_system_prompt(wording(question).rules)
        .with_formatter(layout)
        .add_callback(own)
    )
    for step in [
        PipelineStep("notes", lambda items, query: [*items, *notes]),
        PipelineStep("neighbours", layout.widen),
        *map(own.guarded, steps),
        PipelineStep("clean", layout.clean),
        PipelineStep("question", layout.add_question),
        PipelineStep("fit", layout.fit),
    ]:
        pipeline.add_step(step)
    made = pipeline.build(question, memory)
    shown = [item for item in made.window.items if item.source == RETRIEVAL]
    dropped = [(item, why) for item, why in own.left_out if rank_of(item)]
    if not shown:
        if dropped and not any(map(rank_of, made.overflow_items)):
            raise ContextError("your own steps left no note", hint="Check ask.steps.")
        raise no_room()
    untried = {*range(1, len(documents) + 1)} - {*ranks} - {rank_of(item) for item, _ in dropped}
    messages = made.formatted_output
    return Prompt(
        messages=messages,
        sources=shown,
        ranks=[rank_of(item) for item in shown],
        tokens=sum(count_tokens(message["content"]) for message in messages),
        planted=sum(item.metadata["planted"] for item in shown),
        numbered=all(f"[{n}]" in messages[-1]["content"] for n in range(1, len(shown) + 1)),
        dropped=dropped,
        report=_report(made, limits, own, note_items(documents, untried)),
    )


def no_room() -> TooLongError:
    """Return the error of a prompt in which no note fits."""
    return TooLongError(
        "the question leaves no room for notes in what the model reads",
        hint="Ask in fewer words, or raise ollama.max_context.",
    )


def _share_out(
    question: str, room: int, remembered: Items
) -> tuple[TokenBudget, dict[SourceType, int]]:
    """Return the budget, and what each source could have had of it."""
    usable, texts = int((room - TEMPLATE_TOKENS) / MARGIN), wording(question)
    if any(item.source == MEMORY for item in remembered):
        usable -= count_tokens(texts.facts)
    needed = {
        SourceType.SYSTEM: count_tokens(texts.rules),
        SourceType.USER: count_tokens(texts.asked),
    }
    rest = usable - sum(needed.values())
    if rest <= 0:
        raise no_room()
    limits = {source: int(rest * share) for source, share in SHARES.items()}
    used = {source: _used(remembered, source, most) for source, most in limits.items()}
    # A source without an allocation may take the whole window; one token holds none of its items.
    used |= {item.source: 1 for item in remembered if not used.get(item.source, 1)}
    shares = {**needed, **used, RETRIEVAL: rest - sum(used.values())}
    allocations = [BudgetAllocation(source=s, max_tokens=n) for s, n in shares.items() if n]
    budget = TokenBudget(total_tokens=room, reserve_tokens=room - usable, allocations=allocations)
    return budget, {**shares, **limits}


def _used(remembered: Items, source: SourceType, most: int) -> int:
    """Return how much of its share a source takes: a question comes with its answer."""
    taken = whole = 0
    for item in by_priority(item for item in remembered if item.source == source):
        taken += item.token_count
        if taken > most:
            break
        if source != CONVERSATION or role_of(item) == "user":
            whole = taken
    return whole


def fact_line(fact: str) -> str:
    """Return a fact as a line of its own, so that it cannot look like anything else."""
    return f"- {' '.join(without_controls(fact).split())}\n"


def as_said(text: str, question: str) -> str:
    """Return what was said before, as the model that is asked `question` may read it.

    The numbers in it counted other sources, and prompt injections are removed, as in a note.
    """
    left_out = marks_for(question).left_out
    for language in ("", "あ"):
        text = text.replace(marks_for(language).no_source, "")
    text, _ = without_instructions(_DOUBTED.sub("", without_citations(text)), left_out)
    return _SPACES.sub("", text).strip() or left_out


def _remembered(items: Sequence[ContextItem], question: str) -> Items:
    """Return facts and messages as they go into the prompt, the newest with the best scores."""
    facts = [item for item in items if item.source == MEMORY]
    turns = [item for item in items if item.source == CONVERSATION]
    changes: list[dict[str, Any]] = []
    for number, item in enumerate(facts, 1):
        line = fact_line(item.content)
        score = number / len(facts)
        changes.append({"content": line, "score": score, "token_count": count_tokens(line)})
    for item in turns:
        text = as_said(item.content, question)
        changes.append({"content": text, "token_count": count_tokens(text) + _MESSAGE_TOKENS})
    pairs = zip([*facts, *turns], changes, strict=True)
    return [item.model_copy(update=change) for item, change in pairs]


def _report(
    made: ContextResult, limits: Mapping[SourceType, int], own: OwnSteps, untried: Items
) -> WindowReport:
    left_out = [
        (item, f"more than the {limits[item.source]:,} tokens of its share")
        if item.source in SHARES
        else (item, "no room")
        for item in made.overflow_items
    ]
    left_out += [*own.left_out, *((i, "the server found the prompt too long") for i in untried)]
    numbers = count(1)
    return WindowReport(
        max_tokens=made.window.max_tokens,
        used_tokens=made.window.used_tokens,
        window=[
            _shown(item, number=next(numbers) if item.source == RETRIEVAL else 0)
            for item in made.window.items
        ],
        overflow=[_shown(item, why=why) for item, why in left_out],
        usage=dict(made.diagnostics["token_usage_by_source"]),
        budgets={source.value: tokens for source, tokens in limits.items()},
        steps=[
            {"name": s["name"], "items_after": s["items_after"], "ms": round(s["time_ms"], 3)}
            for s in made.diagnostics["steps"]
        ],
        skipped=dict(own.failed),
    )


def _shown(item: ContextItem, number: int = 0, why: str = "") -> ShownItem:
    names = item.metadata
    labels = {
        SourceType.SYSTEM: "the rules",
        SourceType.USER: "the question",
        MEMORY: item.content.removeprefix("- ").strip(),
        CONVERSATION: f"{role_of(item)}: {' '.join(item.content.split())}",
    }
    note = f"{names.get('title') or 'untitled'} ({names.get('place') or 'no note'})"
    return ShownItem(
        source=item.source.value,
        priority=item.priority,
        tokens=item.token_count,
        label=labels.get(item.source, note),
        content=item.content,
        number=number,
        cut=bool(names.get("cut")),
        why=why,
        rank=rank_of(item),
        added=list(names.get("added") or ()),
    )

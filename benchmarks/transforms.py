"""What variants do to a search: `benchmarks/quality.py --transforms`.

The variants are scripted, as a model's answers are that is at another's mercy: good ones, made
from the notes that answer a question and from thesauri, and bad ones. The test server says them,
so that everything between the command and the store is what a user runs.

A good paraphrase of a question cannot be made mechanically without knowing its answer; so a
*hint* is three words of the note that answers it which the question lacks, beside words of the
question: what a model that knows the subject would guess. Half of all hints are of another note.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from haystack import Pipeline

from rag.config import OllamaConfig, RAGConfig
from rag.evaluation.questions import Question
from rag.evaluation.run import DEPTH, Judge, Outcome, Place, gains, score, summary
from rag.pipelines import create_search_pipeline, search
from rag.stores import get_document_store
from rag.text.bm25 import content_words
from rag.text.tokenizer import cleaned

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from ollama_server import OllamaServer  # type: ignore[import-not-found]

Script = Callable[[Question], list[str]]
COUNT = 3  # variations asked of a model


class Asked(NamedTuple):
    """What became of a question, and which of its results are relevant."""

    outcome: Outcome
    good: set[str]


@dataclass(frozen=True)
class Row:
    """A transform, and what the scripted model answers to a question."""

    name: str
    transform: str
    script: Script


def measure(config: RAGConfig, questions: Sequence[Question], judge: Judge, notes: Texts) -> None:
    """Print a row for each transform and script, the plain query first."""
    print(
        f"{'transform':13}{'variants':34}{'R@1':>7}{'R@10':>7}{'nDCG@10':>9}"
        f"{'found':>7}{'lost':>6}{'top lost':>10}"
    )
    rows = list(_rows(questions, notes))
    with OllamaServer(["llama3.2"]) as server, get_document_store(config) as store:
        config = replace(config, ollama=OllamaConfig(url=server.url, embedding_model="", retries=0))
        plain = _ask(create_search_pipeline(store, config, transforms=[]), judge, questions)
        print(f"{'(none)':13}{'':34}{_figures(plain)}")
        for row in rows:
            by_query = {question.query: row.script(question) for question in questions}
            server.api.answer = lambda body, by_query=by_query: _said(body, by_query)
            pipeline = create_search_pipeline(store, config, transforms=[row.transform])
            with_variants = _ask(pipeline, judge, questions)
            print(
                f"{row.transform:13}{row.name:34}{_figures(with_variants)}"
                f"{_compare(plain, with_variants)}",
                flush=True,
            )


Texts = dict[str, str]  # of notes, by `vault/path`


def _said(body: dict[str, Any], by_query: dict[str, list[str]]) -> dict[str, Any] | str:
    """Answer in the shape that the request asks for."""
    prompt = body["messages"][-1]["content"]
    texts = next((said for query, said in by_query.items() if query in prompt), [])
    [name] = body["format"]["properties"]
    is_list = body["format"]["properties"][name].get("type") == "array"
    return {name: texts if is_list else " ".join(texts[:1])}


def _ask(pipeline: Pipeline, judge: Judge, questions: Sequence[Question]) -> list[Asked]:
    asked = []
    for question in questions:
        response = search(pipeline, question.query, top_k=DEPTH)
        found = [Place(result.vault, result.file_path) for result in response.results]
        judged = judge.judged(question)
        worth = gains(found, judged)
        metrics = score(worth, [one.gain for one in judged])
        ranked = list(map(str, found))
        good = {name for name, gain in zip(ranked, worth, strict=True) if gain}
        asked.append(Asked(Outcome(question, ranked, metrics, 0.0), good))
    return asked


def _figures(asked: list[Asked]) -> str:
    means = summary([one.outcome for one in asked])
    return f"{means['hit_1']:7.3f}{means['recall_10']:7.3f}{means['ndcg_10']:9.3f}"


def _compare(plain: list[Asked], wider: list[Asked]) -> str:
    """Return how many relevant notes only the variants found, how many only the plain query, and
    how often the note that the plain query ranks first left the first ten."""
    pairs = list(zip(plain, wider, strict=True))
    found = sum(len(after.good - before.good) for before, after in pairs)
    lost = sum(len(before.good - after.good) for before, after in pairs)
    left = sum(not set(b.outcome.ranked[:1]) <= set(a.outcome.ranked) for b, a in pairs)
    return f"{found:7}{lost:6}{left:10}"


# -- scripts ------------------------------------------------------------------------------


def _rows(questions: Sequence[Question], notes: Texts) -> Iterator[Row]:
    texts = [question.query for question in questions]
    others = dict(zip(texts, texts[7:] + texts[:7], strict=True))

    def hinted(share: float) -> Script:
        return lambda question: _hints(question, notes, share)

    for transform in ("multi-query", "decompose", "step-back"):
        yield Row("hints, all of the right note", transform, hinted(1.0))
        yield Row("hints, half of another note", transform, hinted(0.5))
        yield Row("parts of the question", transform, _parts)
        yield Row("another question", transform, lambda q: [others[q.query]] * COUNT)
        yield Row("off topic", transform, lambda _: OFF_TOPIC)
        yield Row("nothing", transform, lambda _: [])
        yield Row("garbage", transform, lambda _: ["…!?", "\x00\x07", "x" * 3000])


OFF_TOPIC = ["recipe for apple pie 林檎のパイ", "weather tomorrow 明日の天気", "the the the のは"]


def _hints(question: Question, notes: Texts, share: float) -> list[str]:
    rng = random.Random(question.id)
    made = []
    for _ in range(COUNT):
        right = rng.random() < share
        path = question.relevant[0] if right and question.relevant else rng.choice(list(notes))
        known = set(_words(question.query))
        words = [word for word in _words(notes.get(path, "")) if word not in known] or [""]
        kept = rng.sample(sorted(known), min(len(known), 2))
        made.append(" ".join([*kept, *rng.sample(words, min(3, len(words)))]))
    return made


def _words(text: str) -> list[str]:
    """Return the words of a text; of Japanese, stretches of four characters."""
    words = list(dict.fromkeys(content_words(text)))
    if len(words) > 2:
        return words
    plain = cleaned(text)
    return [plain[at : at + 4] for at in range(0, len(plain), 4)] or words


def _parts(question: Question) -> list[str]:
    words = _words(question.query)
    half = (len(words) + 1) // 2
    return [" ".join(words[:half]), " ".join(words[half:]), " ".join(words[::2])]

"""Whether vectors tell which sentences of a reply its notes bear out.

    python benchmarks/reply_meaning.py

Two sets of sentences with labels: questions/hostile-replies.jsonl, and questions/paraphrases.jsonl,
whose true sentences have other words than the notes and whose false ones speak of the same things.
The latter are judged by notes of the same language and by those of the other. Sentences of replies
and notes are embedded by the built-in model, as an index has them: with the title.

A sentence is near to its note by four measures, none of which depends on how large the cosines of a
model are but the first:

- cosine: with the sentence of the note that it is nearest to (s)
- deviations: how many standard deviations that is above the mean of s with all sentences of the set
- neighbour: that cosine less that of s and the fifth of its own neighbours
- among all: how many standard deviations that is above the mean of the reply's own sentence with
  all sentences of the set

Printed are the verdict by words, and for each measure how often a true sentence is nearer than a
false one (AUC); and where 95 of 100 true sentences are that are verified by words, how many of the
false ones verified by words are that near too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hostile_replies
from rag.answers.evidence import without_citations
from rag.answers.notices import marks_for
from rag.answers.prompt_texts import Source, clean
from rag.answers.verification import Verifier
from rag.clients.local.builtin_provider import BuiltinEmbeddings
from rag.config import EmbeddingConfig, ModelsConfig
from rag.vault.sentences import sentence_spans

PARAPHRASES = Path(__file__).parent / "questions" / "paraphrases.jsonl"
LANGUAGES = ("en", "ja")
FIFTH = 5  # neighbour of a sentence of the notes
KEPT = 0.95  # of the true sentences
SAME = 0.99999  # cosine of a sentence with itself

Array = Any


class Said(NamedTuple):
    """A sentence of a reply, the note that it is judged by, and its verdict by words."""

    group: str
    title: str
    note: str
    text: str
    true: bool
    verified: bool


def read_paraphrases() -> list[dict[str, Any]]:
    """Return the notes with their sentences, one dictionary a line of the file."""
    return [json.loads(line) for line in PARAPHRASES.read_text("utf-8").splitlines()]


def paraphrases() -> list[Said]:
    """Return the paraphrases, each judged by its note in both languages."""
    found = []
    for note in read_paraphrases():
        for label in ("true", "false"):
            for pair in note[label]:
                for language in LANGUAGES:
                    for of in LANGUAGES:
                        title, text = note["title"][of], note["text"][of]
                        question, says = note["question"][language], pair[language]
                        verified = is_verified(question, title, text, says)
                        group = f"{language} of {of} notes"
                        found.append(Said(group, title, text, says, label == "true", verified))
    return found


def hostile() -> list[Said]:
    """Return the sentences of the hostile replies; of several notes the text is one."""
    found = []
    for reply in hostile_replies.read():
        text = "\n\n".join(source["text"] for source in reply["sources"])
        title = reply["sources"][0]["title"]
        found += [
            Said("hostile replies", title, text, one.text, one.true, one.verified)
            for one in hostile_replies.judge(reply)
        ]
    return found


def is_verified(question: str, title: str, text: str, says: str) -> bool:
    """Return whether the checker verifies a reply of one sentence."""
    note = clean(Source(title, title, text), marks_for(question).left_out)[0]
    verifier = Verifier([note.evidence()], question)
    verifier.feed(says)
    claims = verifier.end()[1].claims
    return bool(claims) and all(claim.supported for claim in claims)


def vectors_of(texts: Sequence[str]) -> dict[str, Array]:
    """Return the unit vectors of texts."""
    wanted = list(dict.fromkeys(texts))
    provider = BuiltinEmbeddings(ModelsConfig(embedding=EmbeddingConfig("builtin")))
    found: dict[str, Array] = {}
    for batch in provider.embed_documents(wanted):
        for at, vector in batch.vectors:
            row = np.asarray(vector, np.float32)
            found[wanted[at]] = row / np.linalg.norm(row)
    return found


def sentences(note: Said) -> list[str]:
    """Return the sentences of a note as they are embedded."""
    parts = (note.note[start:end].strip() for start, end in sentence_spans(note.note))
    return [f"{note.title}\n{part}" for part in parts if part]


def reply_text(said: Said) -> str:
    """Return a sentence of a reply as it is embedded."""
    return f"{said.title}\n{without_citations(said.text).strip()}"


def nearness(own: Array, note: Array, every: Array) -> dict[str, float]:
    """Return how near a sentence is to a note, by each measure."""
    cosines = note @ own
    nearest, near = note[int(cosines.argmax())], float(cosines.max())
    others = np.sort(every @ nearest)
    others = others[others < SAME]
    all_of_own = every @ own
    return {
        "cosine": near,
        "deviations": (near - others.mean()) / others.std(),
        "neighbour": near - others[-FIFTH],
        "among all": (near - all_of_own.mean()) / all_of_own.std(),
    }


def auc(true: Sequence[float], false: Sequence[float]) -> float:
    """Return how often a value of the first is above one of the second."""
    above = [np.mean([(one > other) + 0.5 * (one == other) for other in false]) for one in true]
    return float(np.mean(above)) if true and false else float("nan")


def main() -> None:
    for said in (hostile(), paraphrases()):
        texts = [text for one in said for text in (reply_text(one), *sentences(one))]
        vectors = vectors_of(texts)
        every = np.array([vectors[t] for t in dict.fromkeys(t for o in said for t in sentences(o))])
        near = [
            nearness(
                vectors[reply_text(one)], np.array([vectors[t] for t in sentences(one)]), every
            )
            for one in said
        ]
        for group in dict.fromkeys(one.group for one in said):
            _print(group, [(o, n) for o, n in zip(said, near, strict=True) if o.group == group])


def _print(group: str, judged: list[tuple[Said, dict[str, float]]]) -> None:
    def values(measure: str, wanted: Callable[[Said], bool]) -> list[float]:
        return [near[measure] for one, near in judged if wanted(one)]

    true = [one.verified for one, _ in judged if one.true]
    false = [one.verified for one, _ in judged if not one.true]
    print(f"\n{group}: verified by words {sum(true)} of {len(true)} true, ", end="")
    print(f"{sum(false)} of {len(false)} false")
    for measure in judged[0][1]:
        area = auc(values(measure, lambda s: s.true), values(measure, lambda s: not s.true))
        kept = values(measure, lambda s: s.true and s.verified)
        passed = values(measure, lambda s: not s.true and s.verified)
        line = f"  {measure:12} AUC {area:.2f}"
        if kept and passed:
            least = np.quantile(kept, 1 - KEPT)
            line += f", as near as {KEPT:.0%} of the true: {sum(p >= least for p in passed)}"
            line += f" of {len(passed)} false"
        print(line)


if __name__ == "__main__":
    main()

"""What evidence counts for where `rag ask` answers without a model, fitted to questions.

    python benchmarks/answer_evidence.py [--meaning FOLDER]

Prints the coefficients of `rag.answers.quotation.weights`: of WITH_MEANING with --meaning, else of
WORDS_ALONE. Only the half `tune` of questions/answers.jsonl is looked at. All units of the notes
that a search finds are gathered with their evidence. Then two models are fitted:

- a conditional logit over the units of each answerable question, in which a right unit is to be
  chosen of all, with an L2 penalty of .05 on standardised evidence;
- a logistic regression over the best unit of every question, whether it is right: the
  confidence, with an L2 penalty of .02.

The threshold is where the greater of two shares is least: of the unanswerable questions that are
answered, and of the answerable ones that are not.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from answer_set import VAULTS, Question, folder_of, read_set
from answers import Quotation, is_right
from kept_vectors import embed
from rag.answers.quotation import evidence as answer_evidence
from rag.answers.quotation.evidence import Evidence
from rag.answers.quotation.weights import JUDGED
from rag.app.workspace import Workspace
from rag.config import ChatConfig, EmbeddingConfig, RAGConfig
from rag.indexing.run import IndexRun
from rag.qa.found_passages import found_passages, line_in_file
from rag.qa.pipeline import create_qa_pipeline
from rag.search.planning import ANALYZER
from rag.search.relaxation import attempts
from rag.search.run import analysed
from rag.search.understanding.query_understanding import understand

PENALTY, SURE_PENALTY = 0.05, 0.02
STEPS = 1000
# Of a question all units have the same, or meaning alone has it.
ALIKE = {"absent", "absent_names"}
OF_MEANING = {"near", "passage_near"}

Array = Any


class Gathered(NamedTuple):
    """A question, and of each unit its evidence and whether it is right."""

    question: Question
    evidence: Array
    right: Array


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--meaning", type=Path, metavar="FOLDER", help="embed; keeps vectors there")
    folder = parser.parse_args().meaning
    found = [one for vault in VAULTS if folder_of(vault).is_dir() for one in gather(vault, folder)]
    left_out = ALIKE if folder else ALIKE | OF_MEANING
    fields = [name for name in Evidence._fields if name not in left_out]
    columns = [Evidence._fields.index(name) for name in fields]
    groups = [(g.evidence[:, columns], g.right) for g in found if g.right.any()]
    weights = chosen_of_all(groups)
    print("units:", {name: round(float(w), 2) for name, w in zip(fields, weights, strict=True)})
    best = [(g, int(np.argmax(g.evidence[:, columns] @ weights))) for g in found]
    judged = np.array(
        [
            [g.evidence[at, columns] @ weights]
            + [g.evidence[at, Evidence._fields.index(name)] for name in JUDGED]
            for g, at in best
        ]
    )
    right = np.array([g.right[at] for g, at in best], float)
    bias, slopes = logistic(judged, right)
    print("sure:", {n: round(float(s), 2) for n, s in zip(("score", *JUDGED), slopes, strict=True)})
    print(f"bias: {bias:.2f}")
    sure = 1 / (1 + np.exp(-bias - judged @ slopes))
    answered = np.array([bool(g.question.answers) for g, _ in best])
    print(f"threshold: {threshold(sure, answered):.2f}")
    print(f"right first: {right[answered].mean():.3f} of the answerable")


def gather(vault: str, meaning: Path | None) -> Iterator[Gathered]:
    """Index a vault, and yield the questions of the half `tune` with what is found for them."""
    with tempfile.TemporaryDirectory() as folder:
        provider = "builtin" if meaning else "none"
        config = RAGConfig(
            data_dir=Path(folder), embedding=EmbeddingConfig(provider), chat=ChatConfig("none")
        )
        with IndexRun(config) as run:
            run.index_vault(vault, folder_of(vault))
            run.publish()
        if meaning:
            embed(config, meaning / f"{vault}.sqlite3")
        with Workspace(config) as workspace:
            store = workspace._snapshot.store
            pipeline = create_qa_pipeline(store, config)
            with store.pinned():
                for question in read_set():
                    if question.vault == vault and question.half == "tune":
                        found = units_of(pipeline, store, question, config.ask.top_k)
                        if found:
                            evidence, right = zip(*found, strict=True)
                            yield Gathered(question, np.array(evidence), np.array(right))


def units_of(
    pipeline: Any, store: Any, question: Question, top_k: int
) -> list[tuple[Evidence, bool]]:
    """Return what speaks for each unit that is found for a question, and whether it is right."""
    for attempt in attempts(question.query, None, "auto", False, None):
        understood = understand(store, attempt.query, attempt.filters, attempt.lists)
        analysis = analysed(understood, attempt, top_k) | {"question": understood.text}
        inputs = {ANALYZER: analysis | {"lists": attempt.lists, "relaxed": attempt.relaxed}}
        outputs = pipeline.run(inputs, include_outputs_from={"loader", "forms", "query_embedder"})
        if outputs["loader"]["documents"]:
            break
    loaded = outputs["loader"]
    embedding = outputs["query_embedder"]["embedding"]
    passages = found_passages(
        store, loaded["documents"], loaded["hits"], outputs["forms"]["candidates"], embedding
    )
    asked = answer_evidence.Question(understood.meant, store.counts.rarity)
    found = []
    for document, passage in passages:
        path = f"{document.meta['vault']}/{document.meta['file_path']}"
        for unit, evidence in answer_evidence.evidence(asked, passage):
            quotation = Quotation(path, line_in_file(document, unit.first), unit.text)
            found.append((evidence, is_right(question, quotation)))
    return found


def chosen_of_all(groups: Sequence[tuple[Array, Array]]) -> Array:
    """Return what evidence counts for, so that right units are chosen of all of their group."""
    spread = np.concatenate([evidence for evidence, _ in groups]).std(0) + 1e-9
    weights = np.zeros(len(spread))
    mean = square = np.zeros(len(spread))
    for step in range(1, STEPS + 1):
        gradient = PENALTY * weights
        for evidence, right in groups:
            scaled = evidence / spread
            chances = np.exp((scores := scaled @ weights) - scores.max())
            chances /= chances.sum()
            among_right = chances * right / (chances * right).sum()
            gradient = gradient + (chances - among_right) @ scaled / len(groups)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        rate = 0.05 * min(1.0, 2 * (1 - step / STEPS))
        weights = weights - rate * (mean / (1 - 0.9**step)) / (
            np.sqrt(square / (1 - 0.999**step)) + 1e-8
        )
    return weights / spread


def logistic(inputs: Array, right: Array) -> tuple[float, Array]:
    """Return bias and slopes of a logistic regression."""
    mean, spread = inputs.mean(0), inputs.std(0) + 1e-9
    scaled = np.c_[np.ones(len(inputs)), (inputs - mean) / spread]
    penalty = np.diag([1e-6, *[SURE_PENALTY * len(inputs)] * inputs.shape[1]])
    found = np.zeros(scaled.shape[1])
    for _ in range(50):
        sure = 1 / (1 + np.exp(-scaled @ found))
        curve = scaled.T @ (scaled * (sure * (1 - sure))[:, None]) + penalty
        found = found - np.linalg.solve(curve, scaled.T @ (sure - right) + penalty @ found)
    slopes = found[1:] / spread
    return float(found[0] - slopes @ mean), slopes


def threshold(sure: Array, answered: Array) -> float:
    """Return how sure an answer must be, to keep both kinds of error low."""

    def worse(least: float) -> float:
        return float(max((sure[~answered] >= least).mean(), (sure[answered] < least).mean()))

    return float(min(np.arange(0.05, 0.95, 0.01), key=worse))


if __name__ == "__main__":
    main()

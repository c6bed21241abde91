"""Asking a question set of a real index."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from index_fixtures import open_pipeline
from rag.config import RoutesConfig
from rag.evaluation.run import Judge, Outcome, Question, Run, run_questions, score_auc, summaries
from rag.search.results import QueryFilters
from rag.search.run import create_search_pipeline
from rag.stores import get_document_store
from tables import rows

NOTES = {
    "work": {"backups.md": "backups are kept for ninety days", "rollback.md": "rolling back"},
    "home": {"backups.md": "backups of photos", "garden.md": "the apple tree"},
}
PLACES = [(vault, path) for vault, notes in NOTES.items() for path in notes]


@pytest.fixture
def ask(build_index) -> Iterator[Callable[..., Run]]:
    """Ask questions of an index of two vaults: `ask(question, …, filters=…)`."""
    config = build_index(NOTES)
    with get_document_store(config) as store:
        pipeline = create_search_pipeline(store, config)

        def asked(*questions: Question, filters: QueryFilters | None = None) -> Run:
            return run_questions(pipeline, questions, Judge(PLACES), filters)

        yield asked


def test_a_question_that_finds_its_note_first_scores_1(ask):
    (outcome,) = ask(Question("1", "apple tree", ("garden.md",))).outcomes
    assert set(outcome.metrics.values()) == {1.0}
    assert outcome.ranked == ["home/garden.md"]
    assert outcome.latency_ms > 0


def test_a_run_has_the_mode_that_the_search_came_to(ask):
    assert ask(Question("1", "apple", ("garden.md",))).mode == "lexical"


def test_a_mode_that_is_to_be_measured_is_that_of_no_route(build_index):
    routes = RoutesConfig("keyword", rules={"fruit": {"keywords": ["apple"], "mode": "dense"}})
    config = replace(build_index(NOTES), routes=routes)
    questions = [Question("1", "apple tree", ("garden.md",))]
    with open_pipeline(create_search_pipeline, config) as pipeline:
        run = run_questions(pipeline, questions, Judge(PLACES), mode="lexical")
    assert [outcome.ranked for outcome in run.outcomes] == [["home/garden.md"]]
    assert run.notices == []


def test_filters_hold_for_every_question(ask):
    question = Question("1", "backups", ("work/backups.md",))
    (outcome,) = ask(question, filters=QueryFilters(["home"])).outcomes
    assert outcome.ranked == ["home/backups.md"]
    assert outcome.metrics["recall_10"] == 0


def test_a_note_that_the_index_does_not_hold_is_a_miss_and_told(ask):
    gone, found = Question("1", "apple", ("gone.md",)), Question("2", "apple", ("garden.md",))
    run = ask(gone, found)
    assert run.unknown == [gone]
    assert summaries(run.outcomes)["overall"]["mrr"] == 0.5


def test_a_summary_is_the_mean_of_the_metrics_and_the_median_of_the_latency():
    def outcome(value: float, milliseconds: float, category: str = "") -> Outcome:
        metrics = dict.fromkeys(
            ("ndcg_5", "ndcg_10", "mrr", "hit_1", "hit_3", "hit_5", "recall_10"), value
        )
        return Outcome(Question("1", "x", ("a",), (), category), [], metrics, milliseconds)

    found = summaries([outcome(1, 1, "b"), outcome(0, 2, "a"), outcome(0.5, 9, "b"), outcome(0, 3)])
    assert list(found["categories"]) == ["b", "a"]
    assert (found["overall"]["ndcg_10"], found["overall"]["latency_ms_p50"]) == (0.375, 2.5)
    assert (found["categories"]["b"]["mrr"], found["categories"]["b"]["queries"]) == (0.75, 2)


def scored(score: float, right: bool) -> Outcome:
    metrics = {"hit_1": float(right)}
    return Outcome(Question("1", "x", ("a",), ()), [], metrics, 1.0, score)


@rows(
    "right, wrong, area",
    ([0.9, 0.8], [0.1, 0.7], 1.0),
    ([0.5], [0.5], 0.5),
    ([0.9, 0.2], [0.5], 0.5),
)
def test_the_score_is_judged_by_right_and_wrong_first_results(right, wrong, area):
    outcomes = [scored(s, True) for s in right] + [scored(s, False) for s in wrong]
    assert score_auc(outcomes) == area


def test_without_a_wrong_first_result_the_score_is_not_judged():
    assert score_auc([scored(0.5, True)]) is None

"""Explanations: every score is taken apart until it adds up, term by term."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.pipelines import create_search_pipeline, search
from rag.search.explanation import EXACT, PAIRS
from rag.stores import get_document_store
from rag.text.bm25 import FIELDS
from tables import rows

NOTES = {
    "deploy.md": "# Rolling back a deploy\n\nRolling back takes two minutes.\n\n"
    "## When to roll back\n\nRoll back a deploy when the error rate rises.\n\n"
    "## Who may\n\nAnybody on call may roll back a deploy.\n\n## Later\n\nDeploy again.\n",
    "long.md": "# Deployments\n\n" + "A deploy is rolled out to administrators. " * 120,
    "backup.md": "# Backups\n\nThe backup runs before each deploy; error rates are low.\n",
    "証明書.md": "# 証明書の更新\n\n証明書は毎年三月に更新する。\n\n## 手順\n\n"
    "サーバー証明書の有効期限を確認してから、テンプレートで更新を申請する。\n",
    "ログ.md": "# Log rotation の設定\n\nログの更新と証明書の保管について。\n",
    "empty words.md": "# Nothing\n\nAt all.\n",
    "!!!.md": "# Silence\n\nNo word.\n",
}
QUERIES = [
    "rolling back a deploy",
    "How do I roll back a deploy when the error rate rises?",
    "administration of deployments",
    "deploy deploy deploy",
    '"roll back" deploy -backup',
    "deploy* path:deploy",
    "証明書の更新",
    "サーバー証明書はいつ更新する？",
    "Log rotation の設定",
    "テンプレト 証明書",
    "depoly bakcup",
    "log",
    "ログ",
    "title:deploy",
    "empty words",  # of a file name
    "!!!",
]
NEAR = 1e-3


@pytest.fixture(scope="module")
def store(build_index):
    with get_document_store(build_index({"v": NOTES})) as store:
        yield store


@pytest.fixture(scope="module")
def find(store):
    """Search with explanations."""
    pipeline = create_search_pipeline(store)
    return lambda query, **options: search(pipeline, query, explained=True, **options)


def check(result) -> None:
    """Add up every level of an explanation."""
    why, scores = result.explanation, result.scores
    gains = scores.get("meaning", 0) + scores.get("variants", 0)
    assert why.total == pytest.approx(scores["lexical"] + gains, abs=NEAR)
    parts = sum(chunk.weight * chunk.score for chunk in why.chunks)
    assert why.total == pytest.approx(why.bonus + parts, abs=NEAR)
    for chunk in why.chunks:
        others = chunk.meaning + sum(chunk.variants.values())
        terms = sum(term.score for term in chunk.terms)
        assert chunk.score == pytest.approx(terms + others, abs=NEAR)
    fields = dict.fromkeys((*FIELDS, EXACT, PAIRS, "meaning", "variants"), 0.0)
    for chunk in why.chunks:
        for term in chunk.terms:
            fields[term.field] += chunk.weight * term.score
        fields["meaning"] += chunk.weight * chunk.meaning
        fields["variants"] += chunk.weight * sum(chunk.variants.values())
    assert why.fields == pytest.approx({f: s for f, s in fields.items() if s}, abs=NEAR)
    assert sum(why.fields.values()) == pytest.approx(parts, abs=NEAR)


@rows("query, chunks", product(QUERIES, (False, True)))
def test_it_adds_up(find, query, chunks):
    results = find(query, chunks=chunks).results
    assert results
    for result in results:
        check(result)


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.sampled_from(
            [
                *("deploy", "roll", "back", "error", "rates", "administrators", "証明書", "更新"),
                *("有効期限", "ログ", "bakcup", "log", "deploy*", "テンプレト", "の", "rotation"),
            ]
        ),
        min_size=1,
        max_size=6,
    )
)
def test_it_adds_up_whatever_is_asked(find, words):
    for result in find(" ".join(words)).results:
        check(result)


def test_results_are_the_same_with_and_without(store, find):
    plain = search(create_search_pipeline(store), "rolling back a deploy").results
    assert [(r.file_path, r.scores) for r in plain] == [
        (r.file_path, r.scores) for r in find("rolling back a deploy").results
    ]


def test_the_parts_of_a_note_have_its_weights_and_lines(find):
    (best,) = [r for r in find("roll back a deploy").results if r.file_path == "deploy.md"]
    weights = [chunk.weight for chunk in best.explanation.chunks]
    lines = [chunk.line_start for chunk in best.explanation.chunks]
    assert weights == [1.0, 0.3, 0.1]
    assert lines[0] == best.line_start
    assert len(set(lines)) == 3
    assert set(lines) <= {1, 5, 9, 13}


def test_terms_are_named_as_a_reader_knows_them_the_heaviest_first(find):
    best = find("roll back a deploy").results[0]
    terms = best.explanation.chunks[0].terms
    scores = [term.score for term in terms]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    named = {(term.field, term.term) for term in terms}
    assert {("words", "deploy"), ("pairs", "roll back")} <= named


def test_a_bonus_is_told_apart(find):
    best = find("backups").results[0]
    assert best.explanation.bonus > 0
    best = find("deploy").results[0]
    assert best.explanation.bonus > 0  # the file is called so
    assert find("backup runs").results[0].explanation.bonus == 0

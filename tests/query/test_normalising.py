"""Names as the index has them, tags near them, and fields that words mean."""

from __future__ import annotations

import pytest

from rag.query import FullTransformationResult, MetadataExtraction, Normaliser, StaticCatalogue
from rag.query.resolving import Resolver

CATALOGUE = StaticCatalogue(
    tags=["machine-learning", "book-review", "travel/kyoto", "会議", "pdf"],
    notes=[
        *[["kubernetes", "helm", "docker"]] * 2,
        ["kubernetes", "docker", "rust"],
        *[["rust", f"t{n}"] for n in range(20)],
    ],
    fields={"status": [], "due": [], "Author": [], "種類": [], "title": []},
)


def normaliser(**settings: dict[str, object]) -> Normaliser:
    aliases = {"ml": "machine-learning"}
    return Normaliser(Resolver(CATALOGUE, aliases), **settings)


@pytest.mark.parametrize(
    ("written", "tag"),
    [
        ("#Kubernetes", "kubernetes"),
        ("ＰＤＦ", "pdf"),
        ("machine learning", "machine-learning"),
        ("Book Reviews", "book-review"),
        ("kyoto", "travel/kyoto"),
        ("ML", "machine-learning"),
        ("k8s", "kubernetes"),
        ("＃会議", "会議"),
    ],
)
def test_a_tag_has_one_spelling(written: str, tag: str):
    assert normaliser().canonical([written]) == [tag]


def test_tags_keep_their_order_and_stand_there_once():
    assert normaliser().canonical(["k8s", "Helm", "kubernetes", "", "#"]) == ["kubernetes", "helm"]


def test_a_tag_of_a_flag_that_the_index_does_not_have_stays():
    assert normaliser().canonical(["#Zebra"]) == ["zebra"]


def test_settings_come_before_what_stands_together():
    near = {"Kubernetes": ["rust", "containers", "ML"]}
    made = normaliser(neighbours=near)
    assert made.expand(["kubernetes"]) == ["rust", "machine-learning", "docker", "helm"]
    assert normaliser().expand(["kubernetes"]) == ["docker", "helm", "rust"]


def test_a_tag_is_not_near_itself():
    assert normaliser().expand(["kubernetes", "docker"]) == ["helm", "rust"]
    assert normaliser().expand([]) == []


def test_expansions_are_bounded():
    assert len(normaliser().expand(["rust"])) == 5
    many = {"rust": [f"t{n}" for n in range(20)]}
    assert len(normaliser(neighbours=many).expand(["rust"])) == 8


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("what is the STATUS of it", ["status"]),
        ("statuses", []),
        ("overdue", []),
        ("deadline of the report", ["due"]),
        ("締め切りが近いもの", ["due"]),
        ("誰が著者か", ["Author"]),
        ("written by Sato, due soon", ["due", "Author"]),
        ("which category", ["種類"]),
        ("種類ごと", ["種類"]),
        ("プロトタイプ", []),
        ("rating of films", []),
        ("", []),
    ],
)
def test_words_mean_fields_of_the_index_only(query: str, fields: list[str]):
    assert normaliser().columns(query) == fields


def test_settings_say_what_words_mean():
    meant = {"status": ["phase", "段階", "タイプ"], "mood": ["feeling"]}
    made = normaliser(fields=meant)
    assert made.columns("which phase") == ["status"]
    assert made.columns("今の段階は") == ["status"]
    assert made.columns("どのタイプか") == ["status"]
    assert made.columns("プロトタイプ") == made.columns("feeling") == []


def test_a_plan_is_bound_to_the_index():
    read = MetadataExtraction(
        tags=["K8S"], excluded_tags=["Docker"], fields=["status"], values={"due": "x"}
    )
    plan = FullTransformationResult(query="the author", metadata=read)
    made = normaliser()(plan)
    assert (made.metadata.tags, made.metadata.excluded_tags) == (["kubernetes"], ["docker"])
    assert made.expansions == ["helm", "rust"]
    assert made.mapped_physical_columns == ["status", "due", "Author"]

"""Names as the index has them, tags near them, and fields that words mean."""

from __future__ import annotations

from rag.query import FullTransformationResult, MetadataExtraction, Normaliser, StaticCatalogue
from rag.query.planner.rules.names import Resolver
from tables import rows

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


def test_settings_come_before_what_stands_together():
    near = {"Kubernetes": ["rust", "containers", "ML"]}
    made = normaliser(neighbours=near)
    assert made.expand(["kubernetes"]) == ["rust", "machine-learning", "docker", "helm"]
    assert normaliser().expand(["kubernetes"]) == ["docker", "helm", "rust"]


def test_expansions_are_bounded():
    assert len(normaliser().expand(["rust"])) == 5
    many = {"rust": [f"t{n}" for n in range(20)]}
    assert len(normaliser(neighbours=many).expand(["rust"])) == 8


@rows(
    "query, fields",
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


def test_a_plan_gets_what_is_near_and_its_fields():
    read = MetadataExtraction(
        tags=["kubernetes"], excluded_tags=["docker"], fields=["status"], values={"due": "x"}
    )
    plan = FullTransformationResult(query="the author", metadata=read)
    made = normaliser()(plan)
    assert made.metadata == read
    assert made.expansions == ["helm", "rust"]
    assert made.mapped_physical_columns == ["status", "due", "Author"]

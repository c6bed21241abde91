"""Names as the index has them, tags near them, and fields that words mean."""

from rag.query import StaticCatalogue
from rag.query.metadata import near_tags
from rag.query.planner.names import Resolver
from rag.query.planner.rules import mentioned_fields
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


RESOLVER = Resolver(CATALOGUE, {"ml": "machine-learning"})


def test_settings_come_before_what_stands_together():
    near = {"Kubernetes": ["rust", "containers", "ML"]}
    assert near_tags(RESOLVER, near, ["kubernetes"]) == [
        *("rust", "machine-learning", "docker", "helm")
    ]
    assert near_tags(RESOLVER, {}, ["kubernetes"]) == ["docker", "helm", "rust"]


def test_expansions_are_bounded():
    assert len(near_tags(RESOLVER, {}, ["rust"])) == 5
    many = {"rust": [f"t{n}" for n in range(20)]}
    assert len(near_tags(RESOLVER, many, ["rust"])) == 8


@rows(
    "query, fields",
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
)
def test_words_mean_fields_of_the_index_only(query, fields):
    assert mentioned_fields(RESOLVER, query) == fields

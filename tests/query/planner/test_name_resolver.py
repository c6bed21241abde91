"""From words to the names of an index."""

from rag.query.planner.names import Resolver, StaticCatalogue
from tables import rows

INDEX = StaticCatalogue(
    vaults=["Work", "home lab", "仕事"],
    tags=[
        *("kubernetes", "machine-learning", "category", "database/postgres", "database/sqlite"),
        *("web/sqlite", "news", "bus", "boss", "python", "pythons-love", "会議録", "障害対応"),
        *("recipe", "recipes", "internationalization", "c++", "deployment", "deployments/blue"),
    ],
    titles=["Deploy checklist", "Postgres"],
    aliases={"Release checklist": "Deploy checklist"},
    fields={"status": ["In Progress", "done"], "Due Date": ["2026-12-01"]},
)
RESOLVER = Resolver(INDEX, {"会社": "仕事", "K8": "kubernetes", "boat": "Ship"})


@rows("words", "", "#", "/", "sqlite", "bu", "kube", "k9s", "boat", "cooking", "会社", "\ud800")
def test_words_that_leave_a_doubt_name_no_tag(words):
    assert RESOLVER.tag(words) == ""


def test_of_two_names_that_are_nearly_as_like_none_is_meant():
    resolver = Resolver(StaticCatalogue(tags=["observable", "observably"]))
    assert resolver.tag("observabll") == ""


def test_a_slip_is_forgiven_only_where_one_may_be():
    assert RESOLVER.tag("kuberntes", alike=False) == ""
    assert RESOLVER.vault("home leb", alike=False) == ""
    assert RESOLVER.value("status", "in progres", alike=False) == ""
    assert RESOLVER.title("Deploy cheklist") == ""

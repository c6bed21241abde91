"""What a query says it does not want is not searched for."""

from datetime import date

from rag.query.metadata import MetadataTransformer
from rag.query.planner.names import StaticCatalogue
from rag.query.planner.query_text import without_unwanted
from rag.query.planner.rules import extract
from rag.query.syntax import parse_query
from tables import rows

TODAY = date(2026, 11, 22)
NOTES = StaticCatalogue(vaults=["work"], tags=["crypto", "python"], titles=[])


@rows(
    "query, text, excluded",
    ("notes about crypto from last month but not bitcoin", "crypto", "bitcoin"),
    ("notes about wallets but not bitcoin from last month", "wallets", "bitcoin"),
    ("notes tagged python about testing except for unit tests", "testing", "unit tests"),
    ("#python wallets, but not about the Bitcoin", "wallets", "Bitcoin"),
    ("notes from last week on wallets, not bitcoin", "wallets", "bitcoin"),
    ("cryptoタグのノート、ビットコイン以外", "", "ビットコイン"),
    ("先月のウォレットのノート、ビットコインを除く", "ウォレット", "ビットコイン"),
)
def test_a_word_of_the_topic_is_excluded(query, text, excluded):
    read = extract(query, NOTES, today=TODAY)
    assert excluded not in read.text
    parsed = parse_query(MetadataTransformer().transform(query, NOTES, today=TODAY).text)
    assert (parsed.text, parsed.excluded) == (text, (excluded,))


@rows(
    "query, text",
    ("#python wallets but not yet", "wallets but not yet"),
    ("tagged python not only rust", "not only rust"),
    ("#python wallets but not in the way of the bank", "wallets but not in the way of the bank"),
    ("why do notes tagged python not compile", "why do not compile"),
    ("#python deploys without downtime", "deploys without downtime"),
)
def test_other_words_after_not_stay_as_they_are(query, text):
    assert extract(query, NOTES, today=TODAY).text == text


@rows("query", "notes tagged crypto but not bitcoin", "#crypto except bitcoin")
def test_what_is_no_tag_is_a_word_that_is_not_wanted(query):
    read = extract(query, NOTES, today=TODAY)
    assert (read.metadata.tags, read.text, read.unwanted) == (["crypto"], "", ["-bitcoin"])


@rows(
    "query, searched",
    ("notes about crypto but not bitcoin", "notes about crypto -bitcoin"),
    ("Wallets, excluding Paper Keys", 'Wallets -"Paper Keys"'),
    ("ウォレット、ビットコイン以外", "ウォレット、 -ビットコイン"),
    ("同期（モバイル以外）", "同期 -モバイル"),
    ("モバイル以外の同期", "同期 -モバイル"),
    ("モバイルを除いた、同期の設定", "同期の設定 -モバイル"),
    ("iOS以外の同期エラー", "同期エラー -iOS"),
    ("not bitcoin", "not bitcoin"),
    ("to be or not to be", "to be or not to be"),
    ('"but not bitcoin" wallets', '"but not bitcoin" wallets'),
)
def test_without_filters_too(query, searched):
    assert without_unwanted(query) == searched


@rows(
    "query",
    *("それ以外の同期", "以外に速い同期", "意外な同期", "自分以外の予定", "英語以外の言語"),
    *("モバイル以外で同期", "同期はモバイル以外の人", "必要以外のもの"),
    *("「モバイル以外の同期」", '"モバイル以外の同期"'),
)
def test_other_meanings_of_the_japanese_words_exclude_nothing(query):
    assert without_unwanted(query) == query


@rows("query", "everything about sync but not mobile", "モバイル以外の同期", "sync")
def test_a_field_is_not_meant_by_a_word_that_is_not_wanted(query):
    catalogue = StaticCatalogue(vaults=["work"], tags=["python"], fields={"mobile": ["yes"]})
    plan = MetadataTransformer().transform(query, catalogue, today=TODAY)
    assert plan.mapped_physical_columns == []
    asked = MetadataTransformer().transform("which mobile syncs", catalogue, today=TODAY)
    assert asked.mapped_physical_columns == ["mobile"]

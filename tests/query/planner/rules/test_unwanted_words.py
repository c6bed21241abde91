"""What a query says it does not want is not searched for."""

from __future__ import annotations

import time
from datetime import date

import pytest

from rag.query.planner.catalog import StaticCatalogue
from rag.query.planner.query_planner import MetadataTransformer
from rag.query.planner.rules.extractor import extract
from rag.query.planner.rules.unwanted_words import without_unwanted
from rag.query.syntax import parse_query

TODAY = date(2026, 11, 22)
NOTES = StaticCatalogue(vaults=["work"], tags=["crypto", "python"], titles=[])


@pytest.mark.parametrize(
    ("query", "text", "excluded"),
    [
        ("notes about crypto from last month but not bitcoin", "crypto", "bitcoin"),
        ("notes from last month about wallets but not bitcoin", "wallets", "bitcoin"),
        ("notes about wallets but not bitcoin from last month", "wallets", "bitcoin"),
        ("notes tagged python about testing, excluding mocks.", "testing", "mocks"),
        ("notes tagged python about testing except for unit tests", "testing", "unit tests"),
        ("#python wallets, but not about the Bitcoin", "wallets", "Bitcoin"),
        ("tagged crypto, but not about bitcoin", "", "bitcoin"),
        ("notes from last week on wallets, not bitcoin", "wallets", "bitcoin"),
        ("cryptoタグのノート、ビットコイン以外", "", "ビットコイン"),
        ("先月のウォレットのノート、ビットコインを除く", "ウォレット", "ビットコイン"),
    ],
)
def test_a_word_of_the_topic_is_excluded(query: str, text: str, excluded: str) -> None:
    read = extract(query, NOTES, today=TODAY)
    assert excluded not in read.text
    parsed = parse_query(MetadataTransformer().transform(query, NOTES, today=TODAY).text)
    assert (parsed.text, parsed.excluded) == (text, (excluded,))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("#python wallets but not yet", "wallets but not yet"),
        ("tagged python not only rust", "not only rust"),
        (
            "#python wallets but not in the way of the bank",
            "wallets but not in the way of the bank",
        ),
        ("why do notes tagged python not compile", "why do not compile"),
        ("#python deploys without downtime", "deploys without downtime"),
    ],
)
def test_other_words_after_not_stay_as_they_are(query: str, text: str) -> None:
    assert extract(query, NOTES, today=TODAY).text == text


@pytest.mark.parametrize("query", ["notes tagged crypto but not bitcoin", "#crypto except bitcoin"])
def test_a_tag_that_the_index_lacks_is_reported_and_not_searched_for(query: str) -> None:
    read = extract(query, NOTES, today=TODAY)
    assert (read.metadata.tags, read.text) == (["crypto"], "")
    assert [named.words for named in read.open] == ["bitcoin"]


@pytest.mark.parametrize(
    ("query", "searched"),
    [
        ("notes about crypto but not bitcoin", "notes about crypto -bitcoin"),
        ("Wallets, excluding Paper Keys", 'Wallets -"Paper Keys"'),
        ("ウォレット、ビットコイン以外", "ウォレット、 -ビットコイン"),
        ("not bitcoin", "not bitcoin"),
        ("but not bitcoin", "but not bitcoin"),
        ("to be or not to be", "to be or not to be"),
        ('"but not bitcoin" wallets', '"but not bitcoin" wallets'),
    ],
)
def test_without_filters_too(query: str, searched: str) -> None:
    assert without_unwanted(query) == searched


@pytest.mark.parametrize("piece", [" ", "but not ", ", ", "about ", "but not a b ", "x", "以外"])
def test_no_query_takes_long(piece: str) -> None:
    started = time.monotonic()
    for begins in ("", "wallets but not ", "#python "):
        without_unwanted(f"{begins}{piece * 4000}!x")
        extract(f"{begins}{piece * 4000}!x", NOTES, today=TODAY)
    assert time.monotonic() - started < 5

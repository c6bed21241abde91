"""Adding to a query what is remembered."""

import pytest

from context_parts import said
from rag.context import MemoryContextEnricher
from tables import rows

TALK = [said(str(n), "user", n) for n in range(7)]


def test_the_newest_five_are_added_oldest_first():
    enriched = MemoryContextEnricher().enrich("q", TALK[::-1])
    assert enriched == "q\n\nConversation context: 2; 3; 4; 5; 6"


def test_no_memory_leaves_the_query_alone():
    assert MemoryContextEnricher().enrich("q", []) == "q"


def test_the_template_is_ones_own():
    enricher = MemoryContextEnricher(template="({context}) {query}")
    assert enricher.enrich("q", TALK[:2]) == "(0; 1) q"


def test_braces_in_query_and_memory_are_only_text():
    enriched = MemoryContextEnricher().enrich(
        "{context} {0} {", [said("} {query} {x!r}", "user", 0)]
    )
    assert enriched == "{context} {0} {\n\nConversation context: } {query} {x!r}"


@rows("template", "{question}", "{}", "{query} {", "{query.x}", "{query:d}")
def test_a_template_with_anything_else_is_a_value_error(template):
    with pytest.raises(ValueError, match="the template may hold"):
        MemoryContextEnricher(template=template)

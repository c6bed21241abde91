"""How texts are cut into clauses, and what each holds."""

from hypothesis import given
from hypothesis import strategies as st

from rag.answers.claims import source_clauses


@given(st.text(max_size=200))
def test_any_text_is_cut_and_nothing_of_it_lost(text):
    for clause in source_clauses("", text):
        assert clause.text in clause.whole or "|" in text

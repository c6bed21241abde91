"""The normal form of texts that grow in it."""

from rag.text.tokenizer import normalize
from tables import rows


@rows("ligature", "\ufdfa", "\ufdfb", "㍿", "㌖")
def test_a_text_of_ligatures_grows_to_no_more_than_twice_its_length(ligature):
    assert len(normalize(ligature * 10_000)) <= 2 * 10_000 + 200


def test_ligatures_among_words_are_spelt_out():
    assert normalize("㍿ " * 20 + "\ufdfa") == "株式会社 " * 20 + "صلى الله عليه وسلم"


def test_marks_past_the_thirtieth_go():
    assert len(normalize("a" + "\u0323\u0302" * 50_000)) <= 31

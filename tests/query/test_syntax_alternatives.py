"""`OR` between conditions of a query, and properties as fields."""

from rag.query.syntax import PHRASE, FieldTerm, named_properties, parse_query
from tables import rows


class TestOr:
    def test_between_filters_one_of_them_must_hold(self):
        parsed = parse_query("tag:a OR tag:b budget")
        assert parsed.either == ((FieldTerm("tag", "a"), FieldTerm("tag", "b")),)
        assert (parsed.fields, parsed.text) == ((), "budget")

    @rows("mark", "OR", "|", "||", "｜")
    def test_between_phrases_too_however_it_is_written(self, mark):
        parsed = parse_query(f'"one two" {mark} "three four"')
        assert parsed.either == ((FieldTerm(PHRASE, "one two"), FieldTerm(PHRASE, "three four")),)
        assert (parsed.phrases, parsed.text) == ((), "one two three four")

    def test_beside_it_other_conditions_hold(self):
        parsed = parse_query("vault:w tag:a OR tag:b -tag:c")
        assert parsed.fields == (FieldTerm("vault", "w"), FieldTerm("tag", "c", True))

    def test_between_words_it_stays_in_the_text(self):
        parsed = parse_query("cats OR dogs | birds")
        assert (parsed.text, parsed.has_conditions) == ("cats OR dogs | birds", False)

    def test_beside_a_word_a_phrase_may_be_missing(self):
        parsed = parse_query('budget OR "burn rate"')
        assert (parsed.phrases, parsed.either, parsed.text) == ((), (), "budget burn rate")

    @rows("query", "OR tag:a", "tag:a OR", "or tag:a")
    def test_at_an_end_it_is_a_word(self, query):
        parsed = parse_query(query)
        assert (parsed.fields, parsed.either) == ((FieldTerm("tag", "a"),), ())
        assert parsed.text in ("OR", "or")


class TestProperties:
    def test_a_known_name_is_a_field(self):
        parsed = parse_query('Status:done -owner:"Ada L" x:y', ["status", "owner"])
        assert parsed.properties == [FieldTerm("status", "done"), FieldTerm("owner", "Ada L", True)]
        assert parsed.text == "x:y"

    def test_names_are_found_before_a_colon(self):
        query = 'Status:done -owner:x at 10:30 note: y tag:z 状態:完了 著者：田中 a"b:c'
        assert named_properties(query) == ["owner", "status", "状態"]

"""Front matter as people write it: `split_front_matter`, `as_strings`, `as_timestamp`."""

from datetime import date, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.vault.frontmatter import FrontMatter, as_strings, as_timestamp, split_front_matter
from tables import rows

# Every character there is, lone surrogates included, with the ones that matter more often.
ANY_CHARACTER = st.one_of(
    st.sampled_from("-:#|`~%>[]{}&*!'\"\n\t \u3000\u00a0\u200b\ufeff\x00\x1f。日が"),
    st.characters(exclude_categories=()),
)
ANY_TEXT = st.text(ANY_CHARACTER, max_size=80)


def split(text: str) -> FrontMatter:
    return split_front_matter(text.split("\n"))


def test_the_block_gives_its_fields_and_where_the_body_begins():
    front = split("---\ntitle: 日記\ntags: [a, b]\n---\nbody")
    assert front == FrontMatter({"title": "日記", "tags": ["a", "b"]}, 4, "")


@rows("end", "---", "---  ", "...", "---\t")
def test_the_block_ends_with_dashes_or_dots(end):
    assert split(f"---\ntitle: A\n{end}\nbody").body_line == 3


def test_a_rule_far_below_does_not_end_a_block():
    assert split("---\n" + "key: value\n" * 3000 + "---\n") == FrontMatter({}, 0, "")


@rows("block", "---\n---", "---\n\n---", "---\n# only a comment\n---")
def test_an_empty_block_is_no_problem(block):
    front = split(block)
    assert front == FrontMatter({}, block.count("\n") + 1, "")


@rows(
    "block, kind",
    *(("- a\n- b", "list"), ("just a line", "str"), ("これは文です", "str"), ("42", "int")),
)
def test_a_block_that_is_no_mapping_stays_in_the_body_and_is_reported(block, kind):
    front = split(f"---\n{block}\n---\nbody")
    assert front.body_line == 0
    assert front.problem.endswith(f"found a {kind}")


def test_a_colon_in_a_title_keeps_the_whole_title_and_names_the_line():
    front = split("---\naliases: [x]\ntitle: Foo: bar\n---\nbody")
    assert front.fields == {"aliases": ["x"], "title": "Foo: bar"}
    assert front.body_line == 4
    assert front.problem == "front matter: mapping values are not allowed in this context (line 3)"


def test_a_template_placeholder_is_kept_as_it_stands():
    front = split("---\ntitle: {{title}}\ntags: [meeting]\n---")
    assert front.fields == {"title": "{{title}}", "tags": ["meeting"]}
    assert front.problem


def test_tabs_for_indentation_are_read_and_reported():
    front = split("---\ntags:\n\t- 料理\n\t- cooking\n---")
    assert front.fields == {"tags": ["料理", "cooking"]}
    assert front.problem


def test_an_impossible_date_keeps_its_text_and_the_other_fields():
    front = split("---\ndate: 2024-02-30\ntitle: 二月\n---")
    assert front.fields == {"date": "2024-02-30", "title": "二月"}
    assert front.problem == "front matter: day is out of range for month"


def test_dates_are_dates():
    fields = split("---\na: 2024-05-31\nb: 2024-05-31 10:20:30\n---").fields
    assert fields == {"a": date(2024, 5, 31), "b": datetime(2024, 5, 31, 10, 20, 30)}


@settings(max_examples=examples(300))
@given(ANY_TEXT)
def test_no_text_makes_reading_the_block_fail(text):
    lines = ["---", *text.split("\n"), "---", "body"]
    front = split_front_matter(lines)
    assert 0 <= front.body_line <= len(lines)
    assert all(isinstance(key, str) for key in front.fields)


@rows(
    "value, expected",
    (None, []),
    ("one", ["one"]),
    ("one, 二、three", ["one", "二", "three"]),
    (2024, ["2024"]),
    (["a", "b c"], ["a", "b c"]),
    (["a", None, 7, 1.5, date(2024, 1, 2), "", "  "], ["a", "7", "1.5", "2024-01-02"]),
    (["a", ["b"], {"c": "d"}], ["a"]),
    ({"a": "b"}, []),
    (["  別 \n 名 "], ["別 名"]),
    (["a", "a"], ["a"]),
    ([16**5000, "a"], ["a"]),
    ("", []),
)
def test_null_scalar_and_mixed_values_become_a_list_of_strings(value, expected):
    assert as_strings(value, "[,、]") == expected


@rows(
    "value, expected",
    (date(2024, 5, 31), "2024-05-31"),
    (datetime(2024, 5, 31, 23, 30, 1, 5), "2024-05-31T23:30:01"),
    ("2024-05-31", "2024-05-31"),
    ("2024/05/31", "2024-05-31"),
    (" 2024-05-31 23:30 ", "2024-05-31T23:30:00"),
    ("2024-05-31T23:30:00", "2024-05-31T23:30:00"),
)
def test_dates_and_date_times_become_iso_text(value, expected):
    assert as_timestamp(value) == expected


@rows("written", "2024-05-31T23:30:00+09:00", "2024-05-31T23:30:00-08:00", "2024-05-31T23:30:00Z")
def test_a_zone_is_dropped_and_the_authors_own_day_stays(written):
    from_yaml = split(f"---\ndate: {written}\n---").fields["date"]
    assert as_timestamp(from_yaml) == as_timestamp(written) == "2024-05-31T23:30:00"


@rows("value", "2024-02-30", "tomorrow", "明日", "", 20240531, None, [date(2024, 1, 1)], "２０２４")
def test_what_is_no_date_gives_nothing(value):
    assert as_timestamp(value) == ""

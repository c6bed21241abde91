"""What people type into a search box, and what it is read as: `parse_query`."""

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.query.syntax import FIELDS, FieldTerm, ParsedQuery, parse_query
from rag.text.tokenizer import has_words
from tables import rows


def query(
    text: str = "",
    *,
    phrases: tuple[str, ...] = (),
    excluded: tuple[str, ...] = (),
    prefixes: tuple[str, ...] = (),
    excluded_prefixes: tuple[str, ...] = (),
    fields: tuple[FieldTerm, ...] = (),
) -> ParsedQuery:
    return ParsedQuery(text, phrases, excluded, prefixes, excluded_prefixes, fields)


TAG = FieldTerm("tag", "work")


@rows(
    "typed, expected",
    # Phrases, and what is ranked by them
    ('"error budget"', query("error budget", phrases=("error budget",))),
    ('deploy "error budget" now', query("deploy error budget now", phrases=("error budget",))),
    ('"a b" "c d"', query("a b c d", phrases=("a b", "c d"))),
    ('"エラー 予算"', query("エラー 予算", phrases=("エラー 予算",))),
    ('"a b"c', query("a b c", phrases=("a b",))),
    ('"two\nlines"', query("two\nlines", phrases=("two\nlines",))),
    ('"-draft kube* tag:work"', query(p := "-draft kube* tag:work", phrases=(p,))),
    ('" error  budget " x', query("error  budget x", phrases=("error  budget",))),
    # Exclusions
    ("-draft", query(excluded=("draft",))),
    ("deploy -draft plan", query("deploy plan", excluded=("draft",))),
    ('-"first draft" plan', query("plan", excluded=("first draft",))),
    ("-下書き", query(excluded=("下書き",))),
    ("-c++", query(excluded=("c++",))),
    ("-kk*", query(excluded_prefixes=("kk",))),
    ('-"2024 plan"', query(excluded=("2024 plan",))),
    ('"first draft"-plan', query("first draft -plan", phrases=("first draft",))),
    ("python -snake", query("python", excluded=("snake",))),
    ('git -"rebase -i"', query("git", excluded=("rebase -i",))),
    # Beginnings of words
    ("kube*", query("kube", prefixes=("kube",))),
    ("deploy* now", query("deploy now", prefixes=("deploy",))),
    ("サーバ*", query("サーバ", prefixes=("サーバ",))),
    ("kube＊　会議", query("kube 会議", prefixes=("kube",))),
    ("e-mail*", query("e-mail", prefixes=("mail",))),
    ("c++/kube*", query("c++/kube", prefixes=("kube",))),
    ("-kube*", query(excluded_prefixes=("kube",))),
    ("deploy －kube＊", query("deploy", excluded_prefixes=("kube",))),
    ("kube* -kubectl*", query("kube", prefixes=("kube",), excluded_prefixes=("kubectl",))),
    # Fields
    ("tag:work", query(fields=(TAG,))),
    ("vault:home", query(fields=(FieldTerm("vault", "home"),))),
    ("path:2024/*.md", query(fields=(FieldTerm("path", "2024/*.md"),))),
    ("title:Daily", query("Daily", fields=(FieldTerm("title", "Daily"),))),
    ('title:"Daily note" x', query("Daily note x", fields=(FieldTerm("title", "Daily note"),))),
    ("TAG:work Title:x", query("x", fields=(TAG, FieldTerm("title", "x")))),
    ("tag:#work", query(fields=(FieldTerm("tag", "#work"),))),
    ("tag:work/home", query(fields=(FieldTerm("tag", "work/home"),))),
    ("title:http://x", query("http://x", fields=(FieldTerm("title", "http://x"),))),
    ('path:"my notes/"', query(fields=(FieldTerm("path", "my notes/"),))),
    ('tag:" work "', query(fields=(TAG,))),
    ("tag:-x", query(fields=(FieldTerm("tag", "-x"),))),
    ("tag:c*", query(fields=(FieldTerm("tag", "c*"),))),
    # Fields denied; a title that is not wanted is no word to rank by
    ("-tag:work", query(fields=(FieldTerm("tag", "work", True),))),
    ("-path:2024", query(fields=(FieldTerm("path", "2024", True),))),
    ("-title:Daily plan", query("plan", fields=(FieldTerm("title", "Daily", True),))),
    ('-title:"Daily note"', query(fields=(FieldTerm("title", "Daily note", True),))),
    # As Japanese and typographers' keyboards write them
    ("“error budget”", query("error budget", phrases=("error budget",))),
    ("＂エラー　予算＂", query("エラー　予算", phrases=("エラー　予算",))),
    ("„error budget“", query("error budget", phrases=("error budget",))),
    ("”error budget”", query("error budget", phrases=("error budget",))),
    ("-”first draft” plan", query("plan", excluded=("first draft",))),
    ("会議　－下書き", query("会議", excluded=("下書き",))),
    ("－“古い 予算”", query(excluded=("古い 予算",))),
    ("tag：仕事　会議", query("会議", fields=(FieldTerm("tag", "仕事"),))),
    ("－tag：仕事", query(fields=(FieldTerm("tag", "仕事", True),))),
    ("title：“日報 四月”", query("日報 四月", fields=(FieldTerm("title", "日報 四月"),))),
    # A field without a value asks for nothing
    ('tag:"" plan', query("plan")),
    ('-title:" " plan', query("plan")),
    # All together
    (
        'deploy* "error budget" -draft tag:runbook',
        query(
            "deploy error budget",
            phrases=("error budget",),
            excluded=("draft",),
            prefixes=("deploy",),
            fields=(FieldTerm("tag", "runbook"),),
        ),
    ),
)
def test_what_is_typed_is_read_as(typed, expected):
    assert parse_query(typed) == expected


PLAIN = [
    *("error budget", "リンクの作り方を教えてください"),
    # Signs that only look like an operator
    *("a-b well-known 2024-04-05", "--flag", "--no-cache -- x"),
    # A single letter is left out by nobody; short words after a command are its options
    *("plan -b", "git rebase -i HEAD~3", "tar -xzf notes.tar", "docker run -it --rm image"),
    *("$ rm -rf build", "cat notes | grep -vin draft", "--force -abc", "-", "a - b", "−"),
    *("---", "*", "2 * 3", "k*", "-k*", "*kube", "kube*ctl", "**bold**", "tag:- #"),
    *("tag:# x", "tag:。", "tag: work", "-tag: work", "-path：", "title:", "tag"),
    *("mytag:work", "(tag:work)", "http://example.org/a?b=c", "note: call Tom", "10:30"),
    *("C++ vs C#", "it's Tom's"),
    # A minus within a word, or before a digit
    *("-5 degrees", "5 -3", "-2024-04-05", "会議 －５", "x-draft", "(-draft)"),
    # A minus before what no note could hold, or before what is plain text itself
    *("a -> b", "-> x", "x -/- y", "-。", '-"" plan', '-"。"', "-*", "-__*"),
    # Quotes that are never closed, or that close nothing
    *('6" pipe 4"', '"error budget', 'error" budget', "“error budget", "error” budget"),
    *("＂error", "error ”budget", 'tag:"work', '-"error budget', "-“error budget"),
    *("'single quotes'", "「会議 資料」", "", '-tag:"work'),
]


@rows("typed", PLAIN)
def test_all_else_is_plain_text(typed):
    assert parse_query(typed) == query(" ".join(typed.split()))


def test_white_space_of_any_kind_parts_words():
    assert parse_query(" a\tb\u3000\u3000c\n-dd\u00a0e ") == query("a b c e", excluded=("dd",))


@rows("typed", '""', '-""', '"。"', '-"。"', "-。", "->", '"__*"')
def test_what_holds_no_word_is_neither_phrase_nor_exclusion(typed):
    parsed = parse_query(typed)
    assert (parsed.phrases, parsed.excluded, parsed.prefixes, parsed.fields) == ((), (), (), ())


@rows("typed", "tıtle:x", "TİTLE:x", 'tıtle:"a b"')
def test_a_field_is_not_spelt_with_a_turkish_letter(typed):
    assert parse_query(typed) == query(typed)


@rows(
    "typed, prefix",
    *(("snake_case*", "case"), ("किताब*", "किताब"), ("हिन्दी*", "हिन्दी")),
    *(("cafe\u0301*", "caf\u00e9"), ("KUBE*", "kube")),
)
def test_a_prefix_is_the_last_word_as_the_index_parts_words(typed, prefix):
    assert parse_query(typed).prefixes == (prefix,)


@rows("typed, text", ("plan \ud800", "plan ?"), ("pl\udcffan", "pl?an"), ("\ud83d\ude00", "??"))
def test_half_a_character_is_read_as_a_question_mark(typed, text):
    assert parse_query(typed) == query(text)


@rows("typed", "", " \n\u3000", '""', '" "', '"。"', "“”", 'tag:""', 'title:" "', '-tag:""')
def test_a_query_that_says_nothing_is_false(typed):
    assert parse_query(typed) == query()
    assert not parse_query(typed)


# ---- for any text

SIGNS = '" “ ” ＂ „ - － − -- * ＊ : ： tag: -tag: title: vault： -path: tag:" -" -“ "" #'
ANY_TEXT = st.lists(
    st.one_of(
        st.sampled_from(SIGNS.split(" ")),
        st.sampled_from(["word", "会議", "c++", "don't", " ", " ", "\u3000", "\n", "。", "\ud800"]),
        st.characters(exclude_categories=()),
    ),
    max_size=20,
).map("".join)


@settings(max_examples=examples(400))
@given(ANY_TEXT)
def test_every_text_is_a_query(typed):
    parsed = parse_query(typed)
    assert all(map(has_words, parsed.phrases))
    assert all(map(has_words, parsed.excluded))
    assert all(map(has_words, (*parsed.prefixes, *parsed.excluded_prefixes)))
    assert not any(
        sign in prefix
        for prefix in (*parsed.prefixes, *parsed.excluded_prefixes)
        for sign in "*＊-"
    )
    assert bool(parsed) == (parsed != query())
    assert all(phrase == phrase.strip() for phrase in parsed.phrases)
    repr(parsed).encode()  # no half of a character is left
    assert all(name in FIELDS and value.strip() == value != "" for name, value, _ in parsed.fields)


@settings(max_examples=examples(300))
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"“”＂„-－−*＊:：')))
def test_text_without_operators_comes_back_as_it_was(typed):
    assert parse_query(typed) == query(" ".join(typed.split()))

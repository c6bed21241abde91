"""The very words of a query in a text."""

from rag.text.exact_forms import Place, SearchedText, asked_forms, folded, holds_runs
from tables import rows


def place(query: str, names: str = "", body: str = "") -> Place:
    form = asked_forms(query)[0]  # of an identifier the whole, before its words
    return SearchedText(folded(names), folded(body)).place(form)


@rows(
    "query, body",
    ("geared", "It is Geared, they say."),
    ("geared", "_geared_ up"),
    ("cafe", "Im Café"),
    ("Café", "the cafe"),
    ("grosse", "Große Hunde"),
    ("große", "Grosse Hunde"),
    ("елка", "Ёлка во дворе"),
    ("pdf", "ＰＤＦ を開く"),
    ("2.3.1", "since 2.3.1."),
    ("snake_case", "a `snake_case` name"),
    ("zed@example.org", "write to <zed@example.org>"),
    ("사이드바에는", "왼쪽 사이드바에는 탭이 있다"),
    ("同期", "今すぐ同期する"),
    ("c++", "in C++ and C"),
)
def test_a_form_is_found_whatever_its_case_width_and_accents(query, body):
    assert place(query, body=body) == Place.BODY


@rows(
    "query, body",
    ("geared", "gear and gears"),
    ("gear", "geared gears"),
    ("2.3.1", "2.3.10 and 12.3.1 and 2.3.1.4"),
    ("snake_case", "snake case"),
    ("사이드바에는", "사이드바를"),
    ("同期", "非同期処理"),  # of which it is a part
)
def test_another_form_or_part_of_another_word_is_none(query, body):
    assert place(query, body=body) == Place.NOWHERE


def test_a_name_is_a_better_place_than_the_text():
    assert place("footnotes", "Footnotes view", "about footnotes") == Place.NAMES


def test_question_words_are_no_forms():
    assert [form.text for form in asked_forms("how do I roll back a deploy?")] == [
        "roll",
        "back",
        "deploy",
    ]


def test_words_joined_by_marks_are_an_identifier():
    found = {
        form.text: form.is_identifier for form in asked_forms("upgrade to 2.3.1 of kube-proxy")
    }
    assert found["2.3.1"] and found["kube-proxy"]
    assert not found["upgrade"]


class TestPartsOfRuns:
    @rows(
        "query, text",
        ("相撲", "大相撲を見る"),
        ("引越し", "引っ越しの手続き"),
        ("インタプリタ", "インタープリターの設定"),  # one kana more
        ("ノートの同期", "ファイルを同期"),
        ("노트를", "새 노트가 있다"),
    )
    def test_a_text_that_speaks_of_the_query_holds_some(self, query, text):
        assert holds_runs(query)(text)

    @rows(
        "query, text",
        *(("相撲", "相手と打撲"), ("コアラ", "コアプラグイン")),
        *(("ペンギン", "バックアップを開くペン"), ("코끼리", "친구끼리"), ("熊猫", "猫和熊")),
    )
    def test_pieces_of_its_words_are_none(self, query, text):
        assert not holds_runs(query)(text)

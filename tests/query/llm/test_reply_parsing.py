"""What is made of a model's reply, whatever it looks like."""

import json
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from rag.query.llm import LONGEST_DOCUMENT, document_in, line_in, texts_in
from rag.text.tokenizer import normalize
from tables import rows

AB = ["alpha", "beta"]


@rows(
    "reply",
    '{"queries": ["alpha", "beta"]}',
    '["alpha", "beta"]',
    '{"sub_questions": ["alpha", "beta"], "reason": "because"}',
    '{"reasoning": "because", "anything": ["alpha", "beta"]}',
    '[{"question": "alpha", "why": "x"}, {"question": "beta", "why": "y"}]',
    '[{"a": "alpha", "b": "gamma"}, {"a": "beta", "b": "gamma"}]',
    '{"queries": [1, null, "alpha", true, "beta"]}',
)
def test_json_of_any_shape(reply):
    assert texts_in(reply, 5) == AB


@rows(
    "reply",
    '```json\n["alpha", "beta"]\n```',
    '```json\n["alpha", "beta"]',
    'Sure! Here they are:\n\n{"queries": ["alpha", "beta"]}\n\nI hope that helps.',
    'As [1] says: {"queries": ["alpha", "beta"]}',
    '<think>Maybe ["gamma"]?</think>{"queries": ["alpha", "beta"]}',
    '<think>\n["gamma"]\n</think>\n\n1. alpha\n2. beta',
    'they want ["gamma"] …</think>["alpha", "beta"]',
)
def test_what_stands_around_it_is_left_out(reply):
    assert texts_in(reply, 5) == AB


@rows(
    "reply",
    '{"queries": ["alpha", "beta", "gam',
    '{"queries": ["alpha", "beta"',
    '```json\n{"queries": ["alpha", "beta",',
)
def test_json_that_is_broken_or_cut_off_gives_what_is_whole(reply):
    assert texts_in(reply, 5) == AB


@rows(
    "reply",
    "1. alpha\n2. beta",
    "- alpha\n- beta",
    "alpha\nbeta",
    "Here are two:\nalpha\nbeta",
    "Here you go:\n1. alpha\n2. beta\nThese differ in one word.",
    '"alpha"\n"beta"',
    "1. **alpha**\n2. **beta**",
    "```\nalpha\nbeta\n```",
)
def test_lists_and_lines(reply):
    assert texts_in(reply, 5) == AB


@rows(
    "reply",
    '{"queries": ["証明書の更新", "TLSの期限"]}',
    "1. 証明書の更新\n2. TLSの期限",
    "・証明書の更新\n・TLSの期限",
    "以下の通りです：\n・「証明書の更新」\n・「TLSの期限」",
)
def test_japanese_replies(reply):
    assert texts_in(reply, 5) == ["証明書の更新", "TLSの期限"]


@rows(
    "reply",
    *("", "   \n", "{}", "[]", "null", "None", '""', '{"queries": []}', '[""]', "…", "- ", "```"),
    "<think>they want alpha, beta",
    '<think>\n{"queries": ["alpha"]}',
    "I'm sorry, I cannot help with that.",
    "I can't do that.",
    "申し訳ありませんが、お答えできません。",
    '{"type": "object", "properties": {"queries": {"type": "array"}}}',
    "[" * 10_000,
    '{"a":' * 10_000,
)
def test_nothing_usable(reply):
    assert texts_in(reply, 5) == []
    assert document_in(reply) == ""


class TestItems:
    def test_no_text_comes_twice(self):
        reply = json.dumps(["alpha", "Alpha", " ALPHA ", "ａｌｐｈａ", "alpha?", "beta"])
        assert texts_in(reply, 5) == AB

    def test_an_echo_of_the_prompt_is_no_reply(self):
        assert texts_in("<<< 1a2b\nalpha\n1a2b >>>", 5, without="1a2b") == []
        assert texts_in("<think>1a2b?</think>- alpha", 5, without="1a2b") == ["alpha"]

    @rows(
        "text",
        *("I can't reach the VPN", "-draft rollback", "3.5 tons", "tag:x lamps"),
        *('"exact words" and more', "C++ and C#", "*.md"),
    )
    def test_what_is_part_of_a_query_stays(self, text):
        assert texts_in(json.dumps([text, "other"]), 5)[0] == text


class TestDocuments:
    @rows(
        "reply",
        '{"document": "Holds expire. They do."}',
        '```json\n{"document": "Holds expire. They do."}\n```',
        '{"document": ["Holds expire.", "They do."]}',
        'Here it is: {"document": "Holds expire. They do."}',
        "Holds expire.\n\nThey do.",
        "Here is the passage:\n\nHolds expire. They do.",
        "```\nHolds expire.\nThey do.\n```",
        '"Holds expire. They do."',
        "<think>Hm.</think>\nHolds expire. They do.",
        '{"document": "Holds expire. They do.',
    )
    def test_a_document_in_any_form(self, reply):
        assert document_in(reply) == "Holds expire. They do."

    def test_it_is_cut_at_the_end_of_a_sentence(self):
        text = document_in("Holds expire after nine minutes. " * 100)
        assert text.endswith("minutes.")
        assert LONGEST_DOCUMENT - 40 < len(text) <= LONGEST_DOCUMENT
        assert len(document_in("証明書は毎年更新する。" * 300)) <= LONGEST_DOCUMENT
        assert document_in("words without an end " * 900) == ""


@rows("junk", "0", "12 345", "a" * 30_000, "ha " * 10_000, "語" * 30_000, "*")
def test_junk_is_no_text(junk):
    assert texts_in(junk, 3) == texts_in(json.dumps({"queries": [junk]}), 3) == []
    assert document_in(junk) == document_in(json.dumps({"document": junk})) == ""
    assert line_in(junk) == ""


replies = st.one_of(
    st.text(max_size=300),
    st.text(alphabet="{}[]\":,'`\\\n -1.)「」<>/thinka*x", max_size=200),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=30)),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=12,
    ).map(json.dumps),
)


@given(reply=replies, count=st.integers(0, 4), cut=st.integers(0, 300))
@example(reply='["a"]', count=3, cut=300)
def test_whatever_the_reply_the_texts_are_usable(reply, count, cut):
    texts = texts_in(reply[:cut], count, longest=40)
    assert len(texts) <= count
    assert all(text.strip() == text and text for text in texts)
    assert all(len(text) <= 40 for text in texts)
    assert len({normalize(text) for text in texts}) == len(texts)
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in "".join(texts))

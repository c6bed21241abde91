"""What steers a terminal is taken out of what is shown."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rag.text.messages import escaped_json, visible, visible_lines, without_controls
from tables import rows


@rows(
    "text, shown",
    ("a \x1b[31mred\x1b[0m word", "a red word"),
    ("title\x1b]0;pwned\x07 end", "title end"),
    ("\x1b]8;;http://x\x1b\\link", "link"),
    ("\x9b2Jcleared", "cleared"),
    ("back\x08space\rreturn\x7f", "backspacereturn"),
    ("next\x85line \x90one \x9done", "nextline one one"),
    ("left \u202eto right\u202c", "left to right"),
    ("lines\nand\ttabs stay, 漢字 📓 too", "lines\nand\ttabs stay, 漢字 📓 too"),
)
def test_sequences_go_whole_and_text_stays(text, shown):
    assert without_controls(text) == shown


@given(st.text())
def test_nothing_that_steers_is_left(text):
    shown = without_controls(text)
    assert not set(shown) & {"\x1b", "\x9b", "\x07", "\r", "\u202e"}
    assert without_controls(shown) == shown


@rows(
    "name, shown",
    ("a\x1b[31mred", r"a\x1b[31mred"),
    ("two\nlines\tand\r", r"two\nlines\tand\r"),
    ("\x9b2J\x7f", r"\x9b2J\x7f"),
    ("gpj.\u202ecod\u202c\u2066\u200f\u061c", r"gpj.\u202ecod\u202c\u2066\u200f\u061c"),
    ("line\u2028paragraph\u2029", r"line\u2028paragraph\u2029"),
    ("no UTF-8 \udcff", r"no UTF-8 \udcff"),
    ("日本 📓 👩‍🚀 naïve", "日本 📓 👩‍🚀 naïve"),
)
def test_every_character_of_a_name_is_seen(name, shown):
    assert visible(name) == shown


UNSEEN = {*map(chr, (*range(32), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F))}
UNSEEN |= {*map(chr, (*range(0x2028, 0x202F), *range(0x2066, 0x206A)))}
ANY = st.text(st.one_of(st.characters(), st.sampled_from(sorted(UNSEEN))))


@given(ANY)
def test_nothing_unseen_is_left_of_a_name(text):
    assert not set(visible(text)) & UNSEEN
    assert not set(visible_lines(text)) & (UNSEEN - {"\n", "\t"})
    assert visible_lines(text).count("\n") == text.count("\n")


@given(ANY)
def test_json_means_the_same_and_holds_nothing_unseen(text):
    written = escaped_json(json.dumps([text], ensure_ascii=False, indent=2))
    assert json.loads(written) == [text]
    assert not set(written) & (UNSEEN - {"\n"})

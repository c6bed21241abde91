"""What a pass over the lines finds: `outline`, and `plain` text for readers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.vault.frontmatter import split_front_matter
from rag.vault.markdown import Kind, Outline, outline, plain
from tables import rows

B, T, H, C, TABLE = Kind.BLANK, Kind.TEXT, Kind.HEADING, Kind.CODE, Kind.TABLE


def read(text: str) -> Outline:
    lines = text.split("\n")
    return outline(lines, split_front_matter(lines).body_line)


def headings(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in read(text).headings]


def tags(text: str) -> list[str]:
    return list(read(text).tags)


def links(text: str) -> list[str]:
    return list(read(text).links)


# Headings


@rows(
    "line, level, text",
    ("# One", 1, "One"),
    ("###### 六", 6, "六"),
    ("   ## Indented", 2, "Indented"),
    ("## Closed ##", 2, "Closed"),
    ("## C#", 2, "C#"),
    ("#　全角の空白", 1, "全角の空白"),
    ("#\ttab", 1, "tab"),
    ("##", 2, ""),
    ("# #", 1, ""),
    ("# A **bold** [[Note|名前]]", 1, "A bold 名前"),
    ("# 予定 ^block-id", 1, "予定"),
)
def test_atx_headings(line, level, text):
    assert headings(line) == [(level, text)]


@rows(
    "line",
    *("#tag", "####### seven", "    # code", "\\# escaped", "> # quoted", "#\u00a0NBSP", "a # b"),
)
def test_lines_with_a_hash_that_are_no_headings(line):
    assert headings(line) == []


@rows("underline, level", ("===", 1), ("---", 2), ("=", 1), ("  ----  ", 2))
def test_setext_headings_span_the_title_and_its_underline(underline, level):
    found = read(f"intro\n\n題名 Title\n{underline}\ntext")
    (heading,) = found.headings
    assert (heading.level, heading.text) == (level, "題名 Title")
    assert (heading.line, heading.last_line) == (2, 3)
    assert found.kinds == [T, B, H, H, T]


@rows(
    "text",
    *("para\n\n---", "- item\n---", "1. 項目\n---", "> quote\n---", "two\nlines\n---"),
    *("    code\n---", "%% comment %%\n---", "<!-- コメント -->\n---", "```\ncode\n```\n---"),
    "| a |\n|---|\n---",
)
def test_rules_that_underline_no_paragraph_are_no_headings(text):
    assert headings(text) == []


# Fences


@rows(
    "fence, closing",
    *(("```", "```"), ("~~~", "~~~"), ("````", "````"), ("  ```", "  ```"), ("```python", "```")),
    *(("``` {.sh}", "````"), ("~~~ `x`", "~~~"), ("- ```", "  ```"), ("1. ```js", "   ```")),
)
def test_a_hash_in_a_fence_is_neither_heading_nor_tag(fence, closing):
    found = read(f"{fence}\n# comment\n #tag [[link]]\n{closing}\n# Real")
    assert [heading.text for heading in found.headings] == ["Real"]
    assert not found.tags
    assert not found.links
    assert found.kinds == [C, C, C, C, H]


def test_a_fence_that_is_never_closed_does_not_swallow_the_note():
    found = read("# 前\n```\ncode\n\n# 後 #tag")
    assert [heading.text for heading in found.headings] == ["前", "後 #tag"]
    assert C not in found.kinds
    assert not found.fences


@rows("inner", "```js", "~~~", "- ```", "> ```", "``")
def test_only_a_mark_like_the_opening_one_closes_a_fence(inner):
    assert read(f"```\n{inner}\n# no\n```").fences == {0: 3}


def test_fences_in_a_callout_are_fences():
    found = read("> [!note] 例\n> ```sh\n> # comment\n> ```\n> #tag")
    assert found.kinds == [T, C, C, C, T]
    assert list(found.tags) == ["tag"]


def test_a_fence_in_a_callout_ends_with_the_callout():
    found = read("> ```\n> code\n# 見出し\n```\n# no\n```")
    assert found.fences == {0: 1, 3: 5}
    assert [heading.text for heading in found.headings] == ["見出し"]


# Tables


def test_a_table_is_its_header_its_rule_and_its_rows():
    assert read("intro\n\n| 名前 | 値 |\n|:--|--:|\n| a | b |\nafter").kinds == [
        T, B, TABLE, TABLE, TABLE, T,
    ]  # fmt: skip


# Tags


@rows(
    "text, expected",
    ("#one and #二", ["one", "二"]),
    ("(#a) [#b] 「#c」、#d。#e", ["a", "b", "c", "d", "e"]),
    ("#親/子/孫", ["親/子/孫"]),
    ("#a-b_c", ["a-b_c"]),
    ("#2024 #2024年 #y2024 #1/2", ["2024年", "y2024"]),
    ("NBSP\u00a0#tag", ["tag"]),
    ("#か\u3099いど", ["がいど"]),
    ("- [ ] task #todo", ["todo"]),
    ("# Title #in-heading", ["in-heading"]),
)
def test_inline_tags(text, expected):
    assert tags(text) == expected


@rows(
    "text",
    *("C# F#x", "https://example.org/#part", "`#code` and ``#`more``"),
    *("[[Note#見出し]] [[#見出し]]", "[contents](#first-part)", "[目次](<#最初の 節>)"),
    *("\\#escaped", "## ", "#-"),
)
def test_hashes_that_are_no_tags(text):
    assert tags(text) == []


# Links


@rows(
    "text, expected",
    ("[[Note]]", ["Note"]),
    ("[[ノート|別名]]", ["ノート"]),
    ("[[Note#Heading|alias]]", ["Note"]),
    ("[[ノート#見出し#小見出し]]", ["ノート"]),
    ("[[Note#^block]]", ["Note"]),
    ("[[folder/Note.md]]", ["folder/Note.md"]),
    ("![[Embedded]] ![[図.svg|100]]", ["Embedded", "図.svg"]),
    ("[[#Only a heading]] [[#^block]]", []),
    ("[[か\u3099いど]]", ["がいど"]),
    ("[[A]] [[B]] [[A]]", ["A", "B"]),
    ("[[not\nclosed]]", []),
    ("`[[code]]`", []),
    ('[text](Note.md) [x](a/b.md#part "title")', ["Note.md", "a/b.md"]),
    ("[t](My%20note.md) [t](%E6%97%A5%E8%A8%98.md)", ["My note.md", "日記.md"]),
    ("[t](<My note.md>)", ["My note.md"]),
    ("[t](https://example.org/a.md) [t](image.png)", []),
)
def test_links_name_the_notes_they_lead_to(text, expected):
    assert links(text) == expected


def test_a_link_in_a_table_may_escape_its_bar():
    found = read("| a | b |\n|---|---|\n| [[Note\\|別名]] | [[ノート#節\\|x]] |")
    assert list(found.links) == ["Note", "ノート"]
    assert found.kinds == [TABLE] * 3


# Comments


@pytest.mark.parametrize(("opening", "closing"), [("%%", "%%"), ("<!--", "-->")])
class TestComments:
    def test_what_is_inside_is_not_read(self, opening, closing):
        found = read(f"a {opening} #hidden [[隠れた]] {closing} #seen {opening} #h {closing}")
        assert list(found.tags) == ["seen"]
        assert not found.links

    def test_one_that_is_never_closed_is_none(self, opening, closing):
        found = read(f"a {opening} #seen\n# 見出し")
        assert [heading.text for heading in found.headings] == ["見出し"]
        assert list(found.tags) == ["seen"]

    def test_they_go_over_many_lines(self, opening, closing):
        found = read(f"{opening}\n# 隠れた見出し\n\n#hidden\n{closing} #seen\n# 見出し")
        assert [heading.text for heading in found.headings] == ["見出し"]
        assert list(found.tags) == ["seen"]

    def test_one_inside_a_code_span_is_none(self, opening, closing):
        found = read(f"write `{opening}` here\n# 見出し #seen\nand `{closing}` there")
        assert [heading.text for heading in found.headings] == ["見出し #seen"]

    def test_a_mark_inside_a_fence_closes_none(self, opening, closing):
        found = read(f"50 {opening} of it\n# 一\n```\n{closing}\n```\n# 二")
        assert [heading.text for heading in found.headings] == ["一", "二"]


# Any text at all

PIECES = st.sampled_from(
    ["#", "##", "# ", "```", "~~~", "> ", "|", "|-", "---", "===", "%%", "<!--", "-->", "`", "[[",
     "]]", "](", ")", "%20", "\n", "\n\n", " ", "\t", "- ", "日", "が", "\u200b", "\u3000", "a"]
)  # fmt: skip
MARKDOWN = st.lists(st.one_of(PIECES, st.characters(exclude_categories=())), max_size=60).map(
    "".join
)


@settings(max_examples=examples(400))
@given(MARKDOWN)
def test_no_text_makes_the_outline_fail(text):
    lines = text.split("\n")
    found = outline(lines)
    assert [kind == B for kind in found.kinds] == [
        not line.strip() and kind != C for line, kind in zip(lines, found.kinds, strict=True)
    ]
    for heading in found.headings:
        assert found.kinds[heading.line] == found.kinds[heading.last_line] == H


@rows(
    "line",
    *("[](" + "%20a" * 20_000 + "(", "# a" + " " * 50_000 + "b"),
    *("[" + "`" * 50_000 + "a" * 50_000, "%%a%%" * 20_000, "# ^ a" + " " * 50_000 + "b"),
    *("[[" * 50_000, "a|b\n-" + " " * 50_000 + "|x", "a <!-- b\n" * 50_000),
)
def test_lines_made_to_backtrack_are_read_at_once(line):
    # Each took minutes, or for ever, where a pattern was quadratic; there is no clock here.
    assert len(read(line).kinds) == line.count("\n") + 1


# Plain text


@rows(
    "text, expected",
    ("[[Note]] and [[ノート|別名]]", "Note and 別名"),
    ("[[Note\\|in a table]]", "in a table"),
    ("[[Note#見出し]]", "Note 見出し"),
    ("![[図.svg]]", "図.svg"),
    ("[text](https://example.org) ![画像](a.png)", "text 画像"),
    ("**bold** __太字__ ~~gone~~ ==marked==", "bold 太字 gone marked"),
    ("2 ** 3 ** 4", "2 ** 3 ** 4"),
    ("結論 ^abc-1", "結論"),
    ("![[#^abc-1]]", ""),
    ("x^2 y", "x^2 y"),
    ("a %%b%% c", "a b c"),
    ("**Use `ls`** or [`cd`](shell.md)", "Use `ls` or `cd`"),
)
def test_plain_text_is_what_a_reader_sees(text, expected):
    assert plain(text) == expected


@rows(
    "code",
    "`==marked==`",
    "`[[Note|alias]]` and `#[[tag]]`",
    "``a ` %%hidden%%``",
    "```md\n![a tweet](https://example.org/1)\n\n**bold** ^id\n```",
    "> ~~~\n> ![[image.png|100x145]]\n> ~~~",
    "- ```\n  __init__\n  ```\n\ntext `a[0](b)`",
)
def test_code_is_what_it_is_in_plain_text_too(code):
    assert plain(f"**bold** [[link|text]]\n\n{code}") == f"bold text\n\n{code}"

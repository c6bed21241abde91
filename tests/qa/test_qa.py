"""Answers by quotation: the sentences that answer, where they stand, and silence otherwise."""

from dataclasses import replace

import pytest

from index_fixtures import open_pipeline
from rag.answers.notices import NOT_FOUND
from rag.config import AskConfig, RAGConfig
from rag.exceptions import IndexUnavailableError, QueryError
from rag.pipelines import QueryFilters, ask, create_qa_pipeline
from rag.stores import get_document_store
from tables import rows

NOTES = {
    "backup.md": """---
title: Backups
tags: [ops]
---

# Backups

The office opens at nine. We keep backups for **ninety days**. After that they are
[deleted](delete.md).

## Restoring a backup

Run the restore script as root. It asks for the day.

```sh
# restore a backup: keep backups safe
restore --backup today
```

- A restore takes twenty minutes.
- Call Ana if it fails.
""",
    "oncall.md": """# On call

> [!note] The pager
> Whoever is on call answers the pager within
> fifteen minutes, day and night.

| role | phone |
|---|---|
| backup engineer | 555-0101 |
""",
    "copy.md": "# Another place\n\nWe keep backups for **ninety days**.\n",
    "stock.md": "| part | place |\n|---|---|\n"
    + "".join(f"| gasket{n} | shelf {n} of the long store room |\n" for n in range(400)),
    "当番.md": """# 障害対応の当番

当番は十五分以内に返事をする。休みの日も同じである。連絡先は名簿にある。

## 引き継ぎ

引き継ぎは月曜日の朝に
会議室で行う。
""",
}


@pytest.fixture(scope="module")
def config(build_index) -> RAGConfig:
    return build_index({"v": NOTES})


@pytest.fixture(scope="module")
def run(config):
    with open_pipeline(create_qa_pipeline, config) as pipeline:
        yield lambda question, **options: ask(pipeline, question, **options)


def lines(path: str) -> list[str]:
    return NOTES[path].split("\n")


def bare(text: str) -> str:
    """The text without Markdown's marks and white space."""
    shown = text.replace("```sh", "")
    return "".join(char for char in shown if char not in "*[]>-|_` \n").replace("(delete.md)", "")


class TestErrors:
    @rows("question", "", " \t", "\u3000", '""', 'tag:""')
    def test_an_empty_question_is_an_error(self, run, question):
        with pytest.raises(QueryError, match="empty"):
            run(question)

    def test_a_question_that_is_too_long_is_an_error(self, run):
        with pytest.raises(QueryError, match="4,001 characters, more than 4,000"):
            run("backups? ".ljust(4001, "x"))

    def test_a_top_k_below_1_is_an_error(self, run):
        with pytest.raises(QueryError, match="top_k"):
            run("backups?", top_k=0)

    def test_without_an_index_it_cannot_answer(self, tmp_path):
        store = get_document_store(RAGConfig(data_dir=tmp_path / "none"))
        with pytest.raises(IndexUnavailableError):
            ask(create_qa_pipeline(store), "backups?")


class TestQuotes:
    def test_a_row_of_a_long_table_is_quoted_with_its_own_line(self, run):
        quote = run("Where is gasket321?").quotes[0]
        assert "gasket321" in quote.text
        assert "gasket321" in lines("stock.md")[quote.line - 1]

    def test_the_sentence_that_answers_comes_first(self, run):
        answer = run("How long do we keep backups?")
        assert answer.found
        assert answer.quotes[0].text == "We keep backups for ninety days."

    def test_a_japanese_question_is_answered_by_a_japanese_sentence(self, run):
        answer = run("当番は何分以内に返事をする？")
        first = answer.quotes[0]
        assert (first.text, first.line) == ("当番は十五分以内に返事をする。", 3)
        assert answer.sources[first.source - 1].file_path == "当番.md"

    def test_wrapped_lines_are_joined_and_the_line_is_the_first(self, run):
        quote = run("Who answers the pager within fifteen minutes?").quotes[0]
        assert quote.text == (
            "Whoever is on call answers the pager within fifteen minutes, day and night."
        )
        assert quote.line == 4

    @rows(
        "question",
        "How long do we keep backups?",
        "How do I restore a backup?",
        "当番の引き継ぎは？",
    )
    def test_every_quote_stands_in_its_source_at_its_line(self, run, question):
        answer = run(question)
        assert answer.quotes
        for quote in answer.quotes:
            below = lines(answer.sources[quote.source - 1].file_path)[quote.line - 1 :]
            assert bare(quote.text) in bare("".join(below))
            # and it begins in that very line
            assert bare(quote.text)[:5] in bare(below[0])

    def test_headings_are_not_quoted(self, run):
        answer = run("Restoring a backup")
        assert answer.quotes
        assert not [q.text for q in answer.quotes if q.text in ("Backups", "Restoring a backup")]

    def test_max_quotes_limits_them(self, config):
        one = replace(config, ask=AskConfig(max_quotes=1))
        with open_pipeline(create_qa_pipeline, one) as pipeline:
            answer = ask(pipeline, "How long do we keep backups?")
        assert len(answer.quotes) == 1


class TestAnswer:
    def test_the_text_is_the_quotes_with_the_numbers_of_their_sources(self, run):
        answer = run("How long do we keep backups?")
        assert answer.text == "\n".join(f"{q.text} [{q.source}]" for q in answer.quotes)

    def test_sources_are_numbered_in_the_order_they_are_named(self, run):
        answer = run("Who restores a backup and who answers the pager on call?")
        named = list(dict.fromkeys(quote.source for quote in answer.quotes))
        assert named == list(range(1, len(answer.sources) + 1))

    def test_confidence_is_higher_where_more_speaks_for_the_answer(self, run):
        much, less = run("How long do we keep backups?"), run("How long do we keep a pager?")
        assert 0 <= less.confidence < much.confidence < 1

    @rows(
        "question, text",
        ("What is the capital of Mongolia?", NOT_FOUND),
        ("恐竜はなぜ絶滅した？", "情報が見つかりませんでした"),
        ("Stegosaurus 絶滅原因", "情報が見つかりませんでした"),
        ("How long does Saturn take to orbit the sun?", NOT_FOUND),
    )
    def test_an_unrelated_question_is_not_answered(self, run, question, text):
        answer = run(question)
        assert (answer.found, answer.text, answer.sources) == (False, text, [])
        assert (answer.confidence, answer.quotes) == (0.0, [])


class TestDefinitions:
    """ "What is X?" asks for the sentence that says what X is, not for one that uses the word."""

    @rows(
        "question, answer",
        ("What is a vault?", "A vault is a folder of notes on your disk."),
        ("what are sessions", "Sessions are kept for one hour after the last request."),
        ("Podとは何ですか？", "Podは、一つ以上のコンテナをまとめた最小の単位。"),
    )
    def test_the_sentence_that_defines_comes_first(self, build_index, question, answer):
        notes = {
            "use.md": "# Use\n\nUse `vault=NAME` to open a vault. Vault, vault, vault.\n\n"
            "Sessions, sessions, old sessions: delete sessions.\n\nこのPodを消す。Podを直す。\n",
            "what.md": "# What\n\nNotes. A **vault** is a folder of notes on your disk.\n\n"
            "Sessions are kept for one hour after the last request.\n",
            "学び.md": "# 学び\n\nPodは、一つ以上のコンテナをまとめた最小の単位。\n",
        }
        config = build_index({"defs": notes})
        with open_pipeline(create_qa_pipeline, config) as pipeline:
            assert ask(pipeline, question).quotes[0].text == answer


class TestTheSyntaxOfSearch:
    QUESTION = "How long do we keep backups?"

    @rows("question", "How long do we keep {}?", "{}?")
    def test_a_misspelt_question_is_answered_as_the_spelt_one_is(self, run, question):
        misspelt, spelt = (run(question.format(word)) for word in ("bakcups", "backups"))
        assert misspelt.corrections == {"bakcups": "backups"}
        assert (misspelt.text, misspelt.quotes) == (spelt.text, spelt.quotes)
        assert misspelt.confidence == spelt.confidence

    def test_it_tells_what_was_searched_for_and_filtered_by(self, run):
        answer = run(
            'keep bakcups "ninety days" tag:ops -zebra', filters=QueryFilters(tags=["ops"])
        )
        assert answer.found
        assert answer.searched == "keep backups ninety days"
        assert answer.corrections == {"bakcups": "backups"}
        assert answer.tags == ["ops"]

    def test_conditions_leave_notes_out(self, run):
        sources = {source.file_path for source in run(self.QUESTION).sources}
        assert sources == {"backup.md", "copy.md"} or sources == {"backup.md"}
        answer = run(f"{self.QUESTION} -restoring")
        assert [source.file_path for source in answer.sources] == ["copy.md"]
        answer = run(f"{self.QUESTION} tag:ops")
        assert [source.file_path for source in answer.sources] == ["backup.md"]
        assert not run(f"{self.QUESTION} path:当番").found

    def test_a_question_of_conditions_only_has_no_answer(self, run):
        assert not run("tag:ops").found
        assert not run("-backups").found
        assert not run("tag:ops ?").found

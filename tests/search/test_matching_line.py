"""The line that a result names: where its best match stands, in the file."""

import random

import pytest

from rag.search.matching_line import excerpt
from rag.search.results import SearchResult
from rag.text.bm25 import content_words
from tables import rows

STOCK = "".join(f"| gasket{n} | {n * 7} | shelf {n % 40} |\n" for n in range(400))
NOTES = {
    "front.md": "---\ntags: [ops]\ncreated: 2025-03-01\n---\n# Backups\n\nThey run at night.\n\n"
    "- Tapes go to the vault.\n- The quokka tape stays.\n\nA restore needs the tape.\n",
    "sentences.md": "# Ports\n\nThe cache listens on the usual port. Ask the network team.\n"
    "The database listens elsewhere. Its port is 5433, on\nevery walrus machine.\n",
    "forms.md": "# Gears\n\nWe were gearing up for winter.\n\nOne gear is broken.\n",
    "phrases.md": "# Money\n\nA budget has a margin of error.\n\nThe error budget is spent.\n",
    "rare.md": "# Notes\n\nnotes notes notes about notes.\n\nThe axolotl likes notes.\n",
    "stock.md": f"# Stock\n\n| part | price | place |\n|---|---|---|\n{STOCK}",
    "code.md": "# Git\n\nHow it is done.\n\n```sh\ngit status\ngit rebase --interactive\n```\n\n"
    "<!-- wombat: look at this again -->\n\nDone.\n",
    "name.md": "---\ntitle: Marsupials\n---\n\n\n> They jump.\n\nThey sleep.\n",
    "heading.md": "Before.\n\n## Platypus care\n\nFeed it twice.\n",
    "ja.md": "---\ntags: [a]\n---\n# 手順\n\n証明書は三月に見る。\n\n更新は月末に行う。\n\n"
    "証明書の更新は担当者が行う。\n",
    "deutsch.md": "# Plan\n\nAlles wird geprüft.\n\nDie Sicherungen laufen nachts.\n",
}


@pytest.fixture(scope="module")
def found(searching):
    find = searching({"v": NOTES}, top_k=1)
    return lambda query, **options: find(query, **options).results[0]


def line_of(result: SearchResult) -> str:
    return NOTES[result.file_path].split("\n")[result.line - 1]


@rows(
    "query, line",
    ("quokka tape", "- The quokka tape stays."),
    ("restore tapes", "A restore needs the tape."),
    ("database port walrus", "The database listens elsewhere. Its port is 5433, on"),
    ("gear", "One gear is broken."),
    ("gearing", "We were gearing up for winter."),
    ('"error budget"', "The error budget is spent."),
    ("notes axolotl", "The axolotl likes notes."),
    ("gasket321", "| gasket321 | 2247 | shelf 1 |"),
    ("gasket7 price", "| gasket7 | 49 | shelf 7 |"),
    ("git rebase", "git rebase --interactive"),
    ("wombat", "<!-- wombat: look at this again -->"),
    ("platypus", "## Platypus care"),
    ("Marsupials", "> They jump."),
    ("証明書の更新", "証明書の更新は担当者が行う。"),
    ("月末", "更新は月末に行う。"),
    ("Sicherung", "Die Sicherungen laufen nachts."),
)
def test_the_line_named_is_the_one_that_matches(found, query, line):
    assert line_of(found(query)) == line


def test_the_lines_of_the_chunk_stay(found):
    result = found("quokka tape")
    assert (result.line_start, result.line, result.line_end) == (5, 10, 12)


def test_a_part_of_a_long_table_tells_how_many_of_its_lines_are_repeated(found):
    result = found("gasket321")
    shown = result.content.split("\n")
    assert (result.repeated, shown[0]) == (2, "| part | price | place |")
    assert shown[result.line - result.line_start + result.repeated] == line_of(result)


def test_a_row_is_shown_with_the_names_of_its_columns(found):
    shown, _ = excerpt(found("gasket321"), "gasket321", 100)
    assert "part: gasket321, price: 2247, place: shelf 1" in shown


def test_a_list_of_notes_names_their_first_lines(found):
    assert line_of(found("tag:ops")) == "# Backups"


def test_the_excerpt_shows_the_line_named(found):
    for query in ("quokka tape", "gasket321", "証明書の更新", "git rebase"):
        result = found(query)
        shown, spans = excerpt(result, query, 60)
        words = {shown[start:end] for start, end in spans}
        assert words
        assert all(word in line_of(result) for word in words)


def test_random_words_of_a_line_name_that_line(found):
    rng = random.Random(22)
    lines = [
        (path, number, line)
        for path, text in NOTES.items()
        for number, line in enumerate(text.split("\n"), 1)
        if len(content_words(line)) > 2 and not line.startswith(("---", "tags", "created", "title"))
    ]
    held = 0
    for path, _, line in rng.sample(lines, 30):
        words = content_words(line)
        at = rng.randrange(len(words) - 2)
        query = " ".join(words[at : at + 3])
        result = found(query, chunks=True)
        assert result.file_path == path
        held += all(word in content_words(line_of(result)) for word in query.split())
    assert held == 30

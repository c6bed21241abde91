"""Where a note is cut that is too long for a prompt: never within what belongs together."""

from hypothesis import given
from hypothesis import strategies as st

from prompt_notes import note
from rag.answers.quotation.units import cut_points, quotable_units
from rag.context.models import ContextItem
from rag.qa.prompt import cut, note_items, render
from rag.text.token_estimate import count_tokens
from tables import rows

PARTS = [
    "# Embedding\n\n",
    "You can embed notes. They are shown in place. To embed a note:\n\n```md\n![[note]]\n```\n\n",
    "Steps:\n\n- Stop the server. Then wait.\n- Start it.\n\n",
    "当番は三人。手順は次の通り。\n\n- 止める。\n- 待つ。\n\n",
    "| Plan | Price |\n|---|---|\n| One | 5 |\n| Two | 10 |\n\n",
    "There are two kinds of discounts. Students pay 40 % less.\n\n",
    "A sentence that is\nwrapped. Another one.\n",
    "- alone\n",
    "```sh\nrestore --all\n\nrestore --today\n```\n",
]


def pieces(content: str) -> list[str]:
    points = cut_points(content)
    return [content[a:b].strip() for a, b in zip([0, *points], points, strict=False)]


@rows(
    "whole",
    "To embed a note:\n\n```md\n![[note]]\n![[other]]\n```",
    "Steps for a restore:\n\n- Stop the server. Then wait.\n- Start it\n  again.",
    "| Plan | Price |\n|---|---|\n| One | 5 |\n| Two | 10 |",
    "There are two kinds of discounts. Students pay 40 % less.",
    "The prices are not what they were before. For example:\n1. one\n2. two",
    "手順は次の通り。\n\n- 止める。\n- 待つ。",
    "## Heading\n\nWhat it says.",
)
def test_what_belongs_together_is_not_parted(whole):
    found = pieces(f"Before it.\n\n{whole}\n\nBehind it.")
    assert found == ["Before it.", whole, "Behind it."]


def test_a_long_list_is_cut_between_its_items():
    items = [f"- Item {n} is as long as a sentence may well be. And so on." for n in range(20)]
    content = "\n".join(["They are:", *items])
    found = pieces(content)
    assert len(found) > 1
    assert all(piece.rsplit("\n", 1)[-1] in items for piece in found)


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join))
def test_a_cut_lies_within_no_unit(content):
    points = cut_points(content)
    assert points == sorted(set(points)) and points[-1] == len(content)
    ends = [len(content[:point].rstrip()) for point in points[:-1]]
    ended = {content.count("\n", 0, end) for end in ends if content[end] == "\n"}
    for unit in quotable_units(content):
        assert not ended & {*range(unit.first, unit.last)}


def item(content: str) -> ContextItem:
    [made] = note_items([note("T", "v/t.md", content)], [1])
    return made


@given(st.lists(st.sampled_from(PARTS), min_size=3, max_size=8).map("".join), st.integers(40, 200))
def test_what_is_kept_of_a_note_fits_and_nothing_is_lost(content, room):
    if parts := cut(item(content), 2, "abcd1234", room):
        kept, rest = parts
        assert count_tokens(render(item(kept), 2, "abcd1234")) <= room
        assert "".join(f"{kept}{rest}".split()) == "".join(content.split())
        assert len(kept) in {len(content[:p].rstrip()) for p in cut_points(content)}


def test_of_the_first_note_a_sentence_is_shown_where_nothing_whole_fits():
    content = " ".join(f"Sentence {n} of one long item of a list." for n in range(60))
    long = item(f"- {content}\n")
    assert cut(long, 2, "abcd1234", 200) is None
    kept, _ = cut(long, 1, "abcd1234", 200) or ("", "")
    assert kept.endswith("of a list.")


LONG = " ".join(f"Sentence number {n} says a little." for n in range(60))


@given(st.integers(0, 500))
def test_a_note_is_cut_at_the_end_of_a_sentence_and_nothing_of_it_is_lost(room):
    parts = cut(item(LONG), 1, "abcd1234", room)
    if parts is None:
        assert room < 90
        return
    first, rest = parts
    assert first.endswith(".") and rest.startswith("Sentence")
    assert f"{first} {rest}" == LONG
    assert count_tokens(render(item(first), 1, "abcd1234")) <= room
    longer = LONG[: LONG.index(".", len(first)) + 1]
    assert count_tokens(render(item(longer), 1, "abcd1234")) > room

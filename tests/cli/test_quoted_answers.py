"""`rag ask` without a model: what is printed of quotations, and of what says the same."""

import json

import pytest

from tables import rows

SAME = "The boiler is serviced every October by Marsh and Son."


@pytest.fixture
def twice(rag, write_notes):
    """A vault in which two notes state a fact, among others on something else."""
    notes = {
        "Boiler.md": f"# Boiler\n\n{SAME}\n",
        "House.md": f"# House\n\nThe roof is slate.\n\nBy contract: {SAME}\n",
        "Garden.md": "# Garden\n\nThe hedge is cut in June.\n",
    }
    assert rag("index", "-q", write_notes("home", notes)).code == 0


def test_a_note_that_says_the_same_is_named_behind_the_quotation(rag, twice):
    ran = rag("ask", "Who services the boiler?", "--no-model")
    assert ran.code == 0
    assert f"{SAME} [1] (also in [2])" in " ".join(ran.out.split())
    assert "[2] House  home/House.md:5" in ran.out


def test_a_date_is_quoted_whole_in_a_language_that_writes_it_with_a_point(rag, write_notes):
    note = "# Mietvertrag\n\nDie Frist ist der 31. Juli 2027. Die Miete beträgt 850 Euro.\n"
    rag("index", "-q", write_notes("haus", {"Mietvertrag.md": note}))
    answer = rag("ask", "Wann ist die Frist?", "--no-model", "--json").json["answer"]
    assert "Die Frist ist der 31. Juli 2027. [1]" in answer


@rows("said, told", ("hi", "from your notes"), ("ありがとう", "ノートの内容から"))
def test_small_talk_is_answered_by_what_rag_is_in_one_line(rag, twice, said, told):
    ran = rag("ask", said, "--no-model")
    assert ran.code == 0
    [line] = ran.out.splitlines()
    assert "rag" in line and told in line and not ran.err


def test_in_a_conversation_small_talk_leaves_the_subject_and_one_word_keeps_it(rag, twice, typed):
    typed("hello", "when?", "Who services the boiler?", "thanks", "when?", "いつ？")
    ran = rag("chat", "--no-model", "--json")
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert [one["found"] for one in told] == [True, False, True, True, True, True]
    assert "Ask the whole question" in told[1]["notices"][0]
    assert told[0]["answer"] == told[3]["answer"] != told[2]["answer"]
    assert told[4]["answer"] == told[5]["answer"] == told[2]["answer"]

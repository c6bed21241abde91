"""`rag related`: what it prints, its JSON and its exit codes."""

import pytest

NOTES = {
    "Rollback.md": "---\ntags: [ops]\n---\n# Rollback\n\nTraffic goes back to the last release."
    "\n\n[[Oncall]]\n",
    "Canary.md": "---\ntags: [ops]\n---\n# Canary\n\nA release gets little traffic first.\n",
    "Oncall.md": "# Oncall\n\nWho answers when traffic drops after a release.\n",
    "Bread.md": "# Bread\n\nFlour, water and salt.\n",
}


@pytest.fixture
def folder(rag, write_notes):
    found = write_notes("work", NOTES)
    assert rag("index", "-q", found).code == 0
    return found


def test_a_result_has_its_link_passages_and_reasons(rag, folder):
    ran = rag("related", "Rollback")
    assert ran.code == 0
    assert "Canary" in ran.out and "[[Canary]]" in ran.out and "Oncall" not in ran.out
    assert "work/Canary.md:6\n    A release gets little traffic first.\n" in ran.out
    assert "why: words " in ran.out and "tags #ops" in ran.out


def test_json_is_one_object(rag, folder):
    found = rag("related", "Rollback", "--include-linked", "--json").json
    assert set(found) == {
        *("schema", "note", "by", "notices", "results", "total", "left_out", "elapsed_ms", "index")
    }
    assert (found["schema"], found["by"], found["note"]["path"]) == (1, "words", "Rollback.md")
    linked = {one["path"]: one["linked"] for one in found["results"]}
    assert linked == {"Canary.md": False, "Oncall.md": True}
    [best] = [one for one in found["results"] if one["path"] == "Canary.md"]
    assert best["file"] == str(folder / "Canary.md") and best["link"] == "[[Canary]]"
    assert {*best["reasons"]} == {"words", "likeness", "tags", "linked_by"}
    assert best["passages"][0]["line"] == 6


def test_paths_are_files(rag, folder):
    assert rag("related", "Rollback", "--paths").out == f"{folder / 'Canary.md'}\n"


def test_explain_gives_the_score_of_each_passage(rag, folder):
    assert "work/Canary.md:6  0." in rag("related", "Rollback", "--explain").out


def test_nothing_related_is_1_and_says_what_was_left_out(rag, folder):
    ran = rag("related", "Rollback", "--tag", "nowhere")
    assert (ran.code, ran.out) == (1, "")
    assert "no note is related to 'Rollback'; 1 linked note left out" in ran.err


def test_an_unknown_note_is_1_and_an_empty_name_2(rag, folder):
    assert rag("related", "Rollbock").code == 1
    assert rag("related", " ").code == 2

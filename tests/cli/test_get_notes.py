"""`rag get` with links, headings, spans, paths of the working folder, and several notes."""

import pytest

from tables import rows

NOTES = {
    "Glossary.md": "# Glossary\n\n## Holds\n\nA hold keeps a book.\n\n### Limits\n\nTen.\n\n"
    "## Error budget\n\nWhat may fail.\n",
    "daily/2026-11-01.md": "first\n",
    "daily/2026-11-02.md": "second\nline\n",
    "daily/2026-12-01.md": "# Limits\n\nthird\n",
    "daily/Glossary.md": "# Daily words\n",
    "C# notes.md": "# C# notes\n\n## Intro\n\nSharp.\n",
    "What is it?.md": "# What is it?\n",
    "12:30-14.md": "# 12:30-14\n",
}
HOLDS = "## Holds\n\nA hold keeps a book.\n\n### Limits\n\nTen.\n\n"


@pytest.fixture
def folder(read_only):
    return read_only("work", NOTES)


class TestOneNote:
    @rows(
        "name",
        *("[[C# notes]]", "[[C# notes|sharp]]", r"[[C# notes\|sharp]]", "![[C# notes]]"),
        "[[work/C# notes.md]]",
    )
    def test_a_wiki_link_names_a_note(self, rag, folder, name):
        assert rag("get", name).out == NOTES["C# notes.md"]

    @rows(
        "name",
        "work/Glossary#Holds",
        "work/Glossary.md#holds",
        "[[work/Glossary#Holds|what holds are]]",
        "work/Glossary#Glossary#Holds",
    )
    def test_a_heading_picks_its_section(self, rag, folder, name):
        assert rag("get", name).out == HOLDS

    def test_an_unknown_heading_names_the_near_ones(self, rag, folder):
        ran = rag("get", "work/Glossary#Hold")
        assert (ran.code, ran.out) == (1, "")
        assert "no heading 'Hold'" in ran.err
        assert "  work/Glossary.md#Holds\n" in ran.err

    @rows("span", "99", "0", "0-3", "99-100", "3:0")
    def test_lines_that_are_not_there_give_2(self, rag, folder, span):
        assert rag("get", f"work/Glossary.md:{span}").code == 2


class TestPathsOfTheWorkingFolder:
    def test_a_path_begins_where_one_is(self, rag, folder, monkeypatch):
        monkeypatch.chdir(folder / "daily")
        assert rag("get", "./2026-11-01.md").out == "first\n"
        assert rag("get", "../C# notes.md").out == NOTES["C# notes.md"]
        assert rag("get", "../Glossary#Holds").out == HOLDS

    def test_of_notes_with_one_name_the_near_one(self, rag, write_notes, monkeypatch):
        home = write_notes("home", {"Glossary.md": "# Words of home\n"})
        assert rag("index", "-q", write_notes("work", NOTES), home).code == 0
        assert rag("get", "Glossary.md").code == 1
        monkeypatch.chdir(home)
        assert rag("get", "Glossary.md").out == "# Words of home\n"

    def test_a_file_that_is_no_note_is_not_printed(self, rag, write_notes, monkeypatch):
        folder = write_notes("work", NOTES)
        assert rag("index", "-q", folder).code == 0
        (folder / "secret.txt").write_text("x")
        monkeypatch.chdir(folder)
        assert rag("get", "./secret.txt").code == 1


class TestSeveralNotes:
    def test_a_pattern_prints_each_under_its_path(self, rag, folder):
        assert rag("get", "daily/2026-11-*").out == (
            "==> work/daily/2026-11-01.md <==\nfirst\n\n"
            "==> work/daily/2026-11-02.md <==\nsecond\nline\n"
        )


class TestLimits:
    def test_lines_that_are_left_out_are_counted(self, rag, folder):
        out = rag("get", "work/Glossary.md", "--max-lines", "3").out
        assert out == "# Glossary\n\n## Holds\n… 10 more lines\n"

    def test_bytes_are_those_of_whole_lines(self, rag, folder):
        out = rag("get", "work/Glossary.md", "--max-bytes", "15").out
        assert out == "# Glossary\n\n… 11 more lines\n"


def test_a_name_that_no_note_has_is_told_and_the_others_are_printed(rag, folder):
    ran = rag("get", "What is it?", "Glosary", "daily/2026-11-01.md")
    assert ran.code == 1
    assert (
        ran.out
        == "==> work/What is it?.md <==\n# What is it?\n\n==> work/daily/2026-11-01.md <==\nfirst\n"
    )
    assert "no note called 'Glosary'" in ran.err
    found = rag("get", "What is it?", "Glosary", "--json")
    assert found.code == 1
    assert [note["path"] for note in found.json["notes"]] == ["What is it?.md"]
    [unknown] = found.json["unknown"]
    assert unknown["name"] == "Glosary" and any("Glossary" in one for one in unknown["suggestions"])

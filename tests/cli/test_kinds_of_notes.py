"""Canvases, bases, drawings, cloned vaults and the settings of Obsidian, on the command line."""

import json
import os
from pathlib import Path

import pytest

from disk_files import write
from document_files import fpdf_pdf, raw_pdf
from tables import rows

BOARD = {"nodes": [{"type": "text", "text": "# Canary\n\nroll forward slowly", "y": 0}]}
NOTES = {
    "plans/Board.canvas": json.dumps(BOARD),
    "Tickets.base": "views:\n  - name: Open tickets\n",
    "long.markdown": "# Long\n\nA longer suffix.\n",
    "Private/secret.md": "private words\n",
}


@pytest.fixture
def folder(rag, write_notes) -> Path:
    found = write_notes("work", NOTES)
    assert rag("index", "-q", found).code == 0
    return found


class TestKinds:
    @rows(
        "name, text",
        ("Board", "# Canary\n\nroll forward slowly\n"),
        ("plans/Board", "# Canary\n\nroll forward slowly\n"),
        ("[[Board.canvas]]", "# Canary\n\nroll forward slowly\n"),
        ("Board#Canary", "# Canary\n\nroll forward slowly\n"),
        ("Tickets.base", "views: Open tickets\n"),
        ("work/Tickets", "views: Open tickets\n"),
        ("long", "# Long\n\nA longer suffix.\n"),
        ("plans/*", "# Canary\n\nroll forward slowly\n"),
        ("*/Boar?", "# Canary\n\nroll forward slowly\n"),
    )
    def test_they_are_printed_as_what_there_is_to_read_of_them(self, rag, folder, name, text):
        assert text in rag("get", name).out


class TestDocuments:
    @pytest.fixture
    def folder(self, rag, write_notes) -> Path:
        pages = ["The beacon is lit.", "The ferry leaves.", "Bread is baked."]
        files = {
            "plan.pdf": raw_pdf("Plan", pages),
            "locked.pdf": fpdf_pdf("t", ["text"], password="s3cret"),
            "cut.pdf": raw_pdf("t", pages)[:60],
            "a.md": "The beacon of a note.\n",
        }
        folder = write_notes("work", files)
        assert rag("index", "-q", folder).code == 0
        return folder

    def test_one_that_cannot_be_read_stops_no_other(self, rag, folder):
        ran = rag("get", "locked.pdf", "a.md")
        assert ran.code == 1 and "The beacon of a note." in ran.out
        assert "work/locked.pdf has no text" in ran.err

    def test_pages_are_printed_as_far_as_there_are(self, rag, folder):
        ran = rag("get", "plan.pdf:2-9")
        assert "ferry" in ran.out and "Bread" in ran.out and "it has 3 pages" in ran.err
        assert "'x' is no page" in rag("get", "plan.pdf#page=x").err
        assert "ferry" in rag("get", "plan.pdf#page=2").out

    def test_reasons_are_told_apart_with_what_there_is_to_do(self, rag, folder):
        lines = rag("status", "--skipped").out.splitlines()
        assert lines[:2] == ["work/cut.pdf: damaged", "work/locked.pdf: encrypted"]
        assert "needs no password" in lines[2]

    def test_files_are_counted_hidden_ones_too(self, rag, folder):
        (folder / ".gitignore").touch()
        out = rag("status").out
        assert "indexed 2 of 5 files: 1 markdown, 1 pdf\n" in out
        assert "not indexed, or by name alone: 1 damaged, 1 encrypted, 1 hidden (" in out

    def test_a_kind_is_chosen(self, rag, folder):
        [result] = rag("search", "beacon", "--type", "PDF", "--json").json["results"]
        assert result["path"] == "plan.pdf"
        assert rag("search", "beacon", "--type", "mp3").code == 2

    def test_lines_around_a_match_say_their_own_page(self, rag, folder):
        ran = rag("search", "ferry", "--context", "3", "--format", "lines")
        places = [line.partition("plan.pdf")[2] for line in ran.out.splitlines()]
        assert places[0] == "-1-The beacon is lit." and places[-1] == "-3-Bread is baked."
        assert ":2:The ferry leaves." in places

    def test_what_would_read_pictures_is_told(self, rag, folder):
        (folder / "photo.PNG").touch()
        assert rag("status", "--skipped").out.splitlines()[-1].startswith("scans and pictures: ")

    def test_passages_of_a_related_one_say_their_page(self, rag, write_notes):
        files = {
            "plan.pdf": raw_pdf("Plan", ["Bread is baked.", "The beacon is lit at dusk."]),
            "a.md": "The beacon is lit by a keeper at dusk.\n",
        }
        assert rag("index", "-q", write_notes("work", files)).code == 0
        assert "work/plan.pdf, page 2\n" in rag("related", "a", "--min-score", "0").out
        [note] = rag("related", "a", "--min-score", "0", "--json").json["results"]
        assert note["passages"][0]["page"] == 2


class TestObsidian:
    def test_what_it_excludes_is_taken_out_of_the_index(self, rag, folder):
        write(folder / ".obsidian" / "app.json", '{"userIgnoreFilters": ["Private/", 7]}')
        assert rag("status", "--json").json["index"]["changed"] == 0
        ran = rag("index")
        assert (ran.code, "1 deleted" in ran.out) == (0, True)
        assert rag("search", "private").code == 1

    def test_a_linked_folder_that_leads_out_is_told_once(self, rag, folder, tmp_path):
        (tmp_path / "outside").mkdir()
        (folder / "out").symlink_to(tmp_path / "outside", target_is_directory=True)
        told = "work/out: this link leads to a folder outside the vault: it is not followed"
        first, second = rag("index"), rag("index")
        assert (first.code, told in first.err, told in second.err) == (0, True, False)
        (notices,) = [vault["notices"] for vault in rag("status", "--json").json["vaults"].values()]
        assert notices == [told.removeprefix("work/")]
        (folder / "out").unlink()
        rag("index")
        assert rag("status", "--json").json["vaults"]["work"]["notices"] == []


class TestClones:
    @pytest.fixture
    def clone(self, rag, write_notes) -> Path:
        notes = {f"n{i}.md": f"text {i} #ops" for i in range(6)}
        folder = write_notes("work", {**notes, "Daily/2026-11-18 Anna.md": "met Anna"})
        now = (folder / "n0.md").stat().st_mtime_ns
        for file in folder.rglob("*.md"):
            os.utime(file, ns=(now, now))
        assert rag("index", "-q", folder).code == 0
        return folder

    def test_the_status_says_that_file_times_are_no_dates(self, rag, clone):
        (notice,) = rag("status", "--json").json["vaults"]["work"]["notices"]
        assert "as by a clone or a copy, are not taken for dates" in notice
        assert notice in rag("status").out

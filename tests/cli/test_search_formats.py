"""The formats of `rag search` that other programs read, and how much text they hold."""

import csv
import io
import json
import re

import pytest

from tables import rows

QUERY = "rolling back backups"


class TestFormats:
    def test_lines_are_file_line_and_text(self, rag, library):
        out = rag("search", "restore script", "--format", "lines").out
        assert re.fullmatch(rf"{re.escape(str(library))}/Backups\.md:1[0-2]:\S[^\n]*\n", out)

    def test_jsonl_has_an_object_for_each_hit_with_its_file_and_line(self, rag, library):
        found = rag("search", QUERY, "--format", "jsonl").out.splitlines()
        of_json = rag("search", QUERY, "--json").json["results"]
        assert [json.loads(line)["rank"] for line in found] == [1, 2]
        for line, one in zip(found, of_json, strict=True):
            assert json.loads(line) == {"schema": 1, **one}
            assert one["file"] == str(library / one["path"])
            assert rag("get", one["id"], "--json").json["path"] == one["path"]

    def test_csv_has_a_head_and_a_row_for_each_hit(self, rag, library):
        head, *rows = csv.reader(io.StringIO(rag("search", QUERY, "--format", "csv").out))
        assert head[:5] == ["rank", "score", "vault", "path", "title"]
        assert sorted(dict(zip(head, row, strict=True))["file"] for row in rows) == [
            str(library / "Backups.md"),
            str(library / "runbooks/Rollback.md"),
        ]

    def test_markdown_is_a_list_of_links_with_quotations(self, rag, library):
        out = rag("search", "rolling back a deploy", "--format", "md").out
        assert out.startswith(f"1. [Rolling back](file://{library}/runbooks/Rollback.md) (0.")
        assert "\n   > Rolling back a deploy takes two minutes.\n" in out

    @rows("flag, name", ("--json", "json"), ("--paths", "paths"))
    def test_the_short_forms_are_the_same_formats(self, rag, library, flag, name):
        of_flag = rag("search", QUERY, flag).out
        of_name = rag("search", QUERY, "--format", name).out
        timeless = re.compile(r'"elapsed_ms": \d+')
        assert timeless.sub("", of_flag) == timeless.sub("", of_name)

    @rows(
        "options",
        ["--format", "yaml"],
        ["--format", "csv", "--json"],
        ["--format", "lines", "--paths"],
        ["--full", "--context", "1"],
    )
    def test_formats_that_do_not_go_together_are_refused(self, rag, library, options):
        ran = rag("search", QUERY, *options)
        assert (ran.code, "error" in ran.out or ran.out == "") == (2, True)


class TestStrangeNotes:
    TEXT = 'Quokka says \x1b[31m"red"\x1b[0m, a; b\u202e <b> & \x9b end.\n'

    @pytest.fixture
    def strange(self, rag, write_notes):
        notes = {"a,b & [c]*.md": f'---\ntitle: "Q [x](y) <i>, \\"z\\""\n---\n{self.TEXT}'}
        folder = write_notes("odd", notes)
        assert rag("index", "-q", folder).code == 0
        return folder

    def test_programs_get_the_text_as_it_is(self, rag, strange):
        line = rag("search", "quokka", "--format", "lines").out
        assert line == f"{strange}/a,b & [c]*.md:4:{self.TEXT}"
        rows = list(
            csv.DictReader(io.StringIO(rag("search", "quokka", "--format", "csv", "--full").out))
        )
        assert [row["text"] for row in rows] == [self.TEXT.rstrip("\n")]

    def test_nothing_steers_a_terminal(self, rag, strange, monkeypatch):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        for name in ("lines", "csv", "md", "jsonl"):
            out = rag(
                "search", "quokka", "--format", name, "--full" * (name != "lines") or "-q"
            ).out
            assert not set(out) & {"\x1b", "\x9b", "\u202e"}, name

    def test_a_title_does_not_write_markdown(self, rag, strange):
        out = rag("search", "quokka", "--format", "md").out
        assert out.startswith(r'1. [Q \[x\](y) \<i\>, "z"](file:///')
        assert "a%2Cb%20%26%20%5Bc%5D%2A.md)" in out

    def test_markdown_holds_nothing_that_steers_a_terminal(self, rag, write_notes):
        title = '---\ntitle: "Red \\e[31m quokka \\u202e"\n---\n'
        rag("index", "-q", write_notes("odd", {"a.md": f"{title}{self.TEXT}"}))
        out = rag("search", "quokka", "--format", "md", "--full").out
        assert not {*out} & {"\x1b", "\x9b", "\u202e"}


class TestHowMuchText:
    def test_full_prints_the_whole_chunk(self, rag, library):
        out = rag("search", "restore script", "--full").out
        assert "    ## Restore\n    \n    Run the restore script.\n" in out

    def test_context_prints_the_lines_around_with_their_numbers(self, rag, library):
        lines = rag("search", "ninety days", "-k", "1", "--context", "2").out.splitlines()
        assert "     8  We keep backups for ninety days." in lines
        assert [line.split()[0] for line in lines[-5:]] == ["6", "7", "8", "9", "10"]

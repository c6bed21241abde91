"""`rag search`, `rag ask` and `rag get`: what is printed, and the exit codes."""

import io
import sys

from tables import rows


class TestSearch:
    def test_a_result_shows_title_score_place_and_snippet(self, rag, library):
        ran = rag("search", "rolling back a deploy")
        lines = ran.out.splitlines()
        assert ran.code == 0
        assert lines[0].split("  ")[:2] == [" 1", "Rolling back"]
        assert lines[1].strip() == "work/runbooks/Rollback.md:7"
        assert lines[2].strip() == "Rolling back a deploy takes two minutes."

    def test_the_place_names_the_line_that_matches(self, rag, library):
        result = rag("search", "ninety days", "--json").json["results"][0]
        assert (result["line_start"], result["line"]) == (6, 8)
        assert "work/Backups.md:8" in rag("search", "ninety days").out
        assert "work/Backups.md:8" in rag("search", "ninety days", "--format", "table").out

    def test_a_snippet_is_read_without_the_marks_of_markdown(self, rag, write_notes):
        text = (
            "# Ports\n\n> [!tip] Where\n> - [ ] look **here**\n\n<!-- not yet -->\n"
            "| name | port |\n|---|---|\n| redis | 6379 |\n| quokka | 8080 |\n\n"
            "```sh\nnc -z quokka 8080\n```\n"
        )
        rag("index", "-q", write_notes("ports", {"Ports.md": text}))
        shown = rag("search", "quokka port").out.splitlines()
        assert shown[1].strip() == "ports/Ports.md:10"
        assert shown[2].strip() == (
            "Where · look here · name, port · name: redis, port: 6379 · name: quokka, port: 8080"
            " · nc -z quokka 8080"
        )


class TestAsk:
    QUESTION = "How long do we keep backups?"

    def test_the_sentence_stands_on_stdout_with_its_source_and_line(self, rag, library):
        ran = rag("ask", self.QUESTION)
        assert ran.code == 0
        assert "  We keep backups for ninety days. [1]\n" in ran.out
        assert "[1] Backups  work/Backups.md:8" in ran.out

    @rows("command", "ask", "plan", "transform")
    def test_stdin_is_read_no_further_than_a_query_may_go(self, rag, library, monkeypatch, command):
        stdin = io.StringIO("x " * 1_000_000)
        monkeypatch.setattr(sys, "stdin", stdin)
        ran = rag(command, "-")
        assert (ran.code, ran.out) == (2, "")
        assert "characters, more than 4,000" in ran.err
        assert stdin.tell() <= 100_000


class TestGet:
    def test_a_note_is_printed_as_it_stands_in_the_file(self, rag, library):
        ran = rag("get", "Safety copies")
        assert (ran.code, ran.out) == (0, (library / "Backups.md").read_text())

    def test_lines_may_be_picked(self, rag, library):
        assert rag("get", "Backups:6-8").out == "# Backups\n\nWe keep backups for ninety days.\n"

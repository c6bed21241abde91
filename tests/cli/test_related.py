"""`rag related`: what it prints, its JSON and its exit codes."""

import pytest

NOTES = {
    "Rollback.md": "---\ntags: [ops]\n---\n# Rollback\n\nTraffic goes back to the last release."
    "\n\n[[Oncall]]\n",
    "Canary.md": "---\ntags: [ops]\n---\n# Canary\n\nA release gets little traffic first.\n",
    "Oncall.md": "# Oncall\n\nWho answers when traffic drops after a release.\n",
    "Bread.md": "# Bread\n\nFlour, water and salt.\n",
}
ALL = ("--min-score", "0")


@pytest.fixture
def folder(rag, write_notes):
    found = write_notes("work", NOTES)
    assert rag("index", "-q", found).code == 0
    return found


def test_a_result_has_its_link_passages_and_reasons(rag, folder):
    ran = rag("related", "Rollback", *ALL)
    assert ran.code == 0
    assert "Canary" in ran.out and "[[Canary]]" in ran.out and "Oncall" not in ran.out
    assert "work/Canary.md:6\n    A release gets little traffic first.\n" in ran.out
    assert "why: words " in ran.out and "tags #ops" in ran.out


def test_json_is_one_object(rag, folder):
    found = rag("related", "Rollback", "--include-linked", *ALL, "--json").json
    assert set(found) == {
        *("schema", "note", "by", "notices", "results", "total", "left_out", "elapsed_ms", "index")
    }
    assert (found["schema"], found["by"], found["note"]["path"]) == (1, "words", "Rollback.md")
    linked = {one["path"]: one["linked"] for one in found["results"]}
    assert linked == {"Canary.md": False, "Oncall.md": True}
    [best] = [one for one in found["results"] if one["path"] == "Canary.md"]
    assert best["file"] == str(folder / "Canary.md") and best["link"] == "[[Canary]]"
    assert {*best["reasons"]} == {"words", "likeness", "tags", "names", "linked_by"}
    assert best["passages"][0]["line"] == 6


def test_nothing_related_is_1_and_says_what_was_left_out(rag, folder):
    ran = rag("related", "Rollback", "--tag", "nowhere")
    assert (ran.code, ran.out) == (1, "")
    assert "no note is clearly related to 'Rollback'; 1 linked note left out" in ran.err


class TestLinks:
    @pytest.fixture
    def chain(self, rag, write_notes):
        """a → b → c → d, and a link of b that is broken."""
        notes = {"a.md": "[[b]]\n", "b.md": "text\n\n[[c]] [[gone]]\n", "c.md": "[[d]]\n"}
        found = write_notes("work", {**notes, "d.md": "The end.\n"})
        assert rag("index", "-q", found).code == 0

    def test_out_walks_as_deep_as_asked(self, rag, chain):
        assert rag("related", "a", "--links", "out").out == "work/a.md:1: [[b]] → work/b.md\n"
        assert rag("related", "a", "--links", "out", "--depth", "2").out == (
            "work/a.md:1: [[b]] → work/b.md\n"
            "  work/b.md:3: [[c]] → work/c.md\n"
            "  work/b.md:3: [[gone]] leads nowhere\n"
        )

    def test_in_gives_the_lines_of_the_notes_that_link_to_it(self, rag, chain):
        [link] = rag("related", "c", "--links", "in", "--json").json["links"]
        assert (link["direction"], link["from"]["path"], link["line"]) == ("in", "b.md", 3)
        assert (link["state"], link["to"][0]["path"]) == ("ok", "c.md")

    def test_a_limit_leaves_out_the_furthest_links_and_says_how_many(self, rag, chain):
        ran = rag("related", "a", "--links", "out", "--depth", "2", "-k", "1")
        assert ran.out == "work/a.md:1: [[b]] → work/b.md\n"
        assert ran.err == "2 more links left out by --top-k\n"

    @pytest.mark.parametrize(
        "options", [["--links", "in", "--min-score", ".3"], ["--links", "in", "--paths"]]
    )
    def test_what_does_not_go_with_links_is_refused(self, rag, chain, options):
        ran = rag("related", "a", *options)
        assert ran.code == 2 and f"{options[2]} exclude each other" in ran.err

    def test_status_lists_broken_and_ambiguous_links(self, rag, chain, tmp_path):
        lines = rag("status", "--problems", "--links").out.splitlines()
        assert lines == ["no problems", "work/b.md:3: [[gone]] leads nowhere"]
        [link] = rag("status", "--links", "--json").json["links"]
        assert (link["from"]["path"], link["target"], link["state"]) == ("b.md", "gone", "broken")

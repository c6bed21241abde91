"""`rag search` with filters alone, by properties, by dates of modification, and in other orders."""

import pytest

from tables import rows

NOTES = {
    "Alpha.md": "---\ncreated: 2025-01-01\nmodified: 2025-09-01\ntags: [仕事]\nstatus: done\n---\n"
    "# Alpha\n\nThe quokka budget.\n",
    "beta.md": "---\ncreated: 2025-03-01\nmodified: 2025-04-01\ntags: [仕事]\nstatus: open\n"
    "größe: klein\n---\n# beta\n\nQuokka quokka quokka.\n",
    "Gamma.md": "---\ncreated: 2025-02-01\nmodified: 2025-12-01\nstatus: Done\n"
    "owner: Ada Lovelace\n---\n# Gamma\n\nA quokka among other words and animals of the south.\n",
}


@pytest.fixture
def titles(rag, read_only):
    read_only("work", NOTES)

    def found(*arguments: str) -> list[str]:
        return [one["title"] for one in rag("search", "--json", *arguments).json["results"]]

    return found


class TestFiltersAlone:
    @rows(
        "options, found",
        (["--tag", "仕事"], ["beta", "Alpha"]),
        (["--from", "2025-02"], ["beta", "Gamma"]),
        (["--vault", "work", "-k", "2"], ["beta", "Gamma"]),
        (["--from", "2025-02-01", "--to", "2025-02-01"], ["Gamma"]),
        (["--path", "G*.md"], ["Gamma"]),
        (["--where", "status=done"], ["Gamma", "Alpha"]),
        (["--where", "Status=DONE", "--where", "owner=ada lovelace"], ["Gamma"]),
        (["--where", "gro\u0308ße=klein"], ["beta"]),
        (["--modified-from", "2025-09-01"], ["Gamma", "Alpha"]),
        (["--modified-to", "2025-09-01", "--from", "2025-02"], ["beta"]),
        (["", "--tag", "仕事"], ["beta", "Alpha"]),
    )
    def test_they_list_notes_the_newest_first(self, titles, options, found):
        assert titles(*options) == found

    @rows(
        "options",
        ["--where", "status"],
        ["--where", "=done"],
        ["--where", "status=done", "--where", "status=open"],
        ["--where", "status>dear"],
        ["status:>dear"],
        ["--modified-from", "2025-02", "--modified-to", "2025-01"],
        ["--modified-from", "yonder"],
        ["--tag", "仕事", "--sort", "size"],
    )
    def test_what_cannot_be_meant_gives_2(self, rag, titles, options):
        assert rag("search", *options).code == 2


class TestOrder:
    @rows(
        "order, found",
        ("created", ["beta", "Gamma", "Alpha"]),
        ("modified", ["Gamma", "Alpha", "beta"]),
        ("title", ["Alpha", "beta", "Gamma"]),
    )
    def test_of_a_list_and_of_results(self, titles, order, found):
        assert titles("--from", "2025", "--sort", order) == found
        assert titles("quokka", "--sort", order) == found


class TestPropertiesInTheQuery:
    @rows(
        "query, found",
        ("status:done", ["Gamma", "Alpha"]),
        ("-status:done quokka", ["beta"]),
        ('quokka owner:"Ada Lovelace"', ["Gamma"]),
        ("status:done OR tag:仕事", ["beta", "Gamma", "Alpha"]),
        ("status:open | owner:Ad", ["beta"]),
        ("title:alpha OR path:beta.md", ["beta", "Alpha"]),
    )
    def test_they_choose_notes(self, titles, query, found):
        result = titles("--", query)
        assert (sorted(result) if "title:" in query else result) == (
            sorted(found) if "title:" in query else found
        )


def test_of_a_copied_vault_a_search_by_dates_says_what_it_leaves_out(rag, write_notes):
    files = write_notes("work", {f"{name}.md": "The quokka.\n" for name in "abcdef"})
    assert rag("index", "-q", files).code == 0
    ran = rag("search", "quokka", "--modified-from", "2020")
    assert ran.code == 1
    assert "left out: 6 notes without a date of change (times of copied files are none)" in ran.err

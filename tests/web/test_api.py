"""The API: what each route gives, and how mistakes are answered."""

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from http_client import serving
from rag.app.requests import SearchRequest
from rag.app.search import search
from rag.app.workspace import Workspace
from rag.config import OllamaConfig
from rag.support.json_reports import to_json
from tables import rows

QUESTION = "How long do we keep backups?"


def test_a_search_gives_what_the_command_line_prints(client, http_config):
    answer = client.get(f"/v1/search?query={quote('証明書')}&top_k=3")
    with Workspace(http_config) as workspace:
        expected = to_json(search(workspace, SearchRequest("証明書", top_k=3)))
    unlike = ("elapsed_ms", "index")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["schema"] == 1
    assert {k: v for k, v in answer.json.items() if k not in ("schema", *unlike)} == {
        k: v for k, v in expected.items() if k not in unlike
    }


@rows(
    "query, paths",
    ("query=quokka&paths=daily/*-03.md", ["daily/2026-11-03.md"]),
    ("tags=ops&from=2025-06&to=2025-07", ["runbooks/Rollback 100%.md"]),
    ("tags=ops&tags=ops/backup", ["Backups.md"]),
    ("where=status:done", ["Backups.md"]),
    ("where=created:%3E2025-06-01&where=created:%3C2025-06-02", []),
    (f"vaults={quote('日本')}", ["証明書.md"]),
)
def test_filters_are_words_of_the_query(client, query, paths):
    found = client.get(f"/v1/search?{query}").json
    assert [one["path"] for one in found["results"]] == paths


@rows(
    "name",
    *("work/Backups.md", "work%2FBackups.md", "Safety%20copies", "work/Backups.md%23Restore"),
    "Backups:9-9",
)
def test_a_note_is_read_by_any_of_its_names(client, name):
    note = client.get(f"/v1/notes/{name}").json
    assert (note["vault"], note["path"]) == ("work", "Backups.md")
    assert client.get(f"/v1/notes/{note['id']}").json["title"] == "Backups"


def test_related_notes_and_several_notes_are_read(client):
    address = "/v1/notes/work/Backups.md/related?include_linked=true&min_score=0&vaults=work"
    assert len(client.get(f"{address}&top_k=1").json["results"]) == 1
    related = client.get(address).json
    assert related["note"]["path"] == "Backups.md"
    assert "runbooks/Rollback 100%.md" in [one["path"] for one in related["results"]]
    notes = client.post("/v1/notes:batch", {"notes": ["Backups", "daily/*-0?.md"]}).json
    assert len(notes["notes"]) == 9


def test_the_state_of_the_index_and_of_the_server(client):
    assert client.get("/v1/status").json["index"]["notes"] == 11
    health = client.get("/health", Authorization=None)
    assert (health.status, health.json["status"]) == (200, "ok")


@rows(
    "method, path, body, status, kind, said",
    ("GET", "/v1/notes/Backup", None, 404, "not_found", "Backup"),
    ("GET", "/v1/search?query=a&top_k=1000", None, 400, "usage", "top_k"),
    ("GET", "/v1/search?query=a&limit=3", None, 400, "usage", "limit"),
    ("GET", "/v1/notes/Backups/related?limit=3", None, 400, "usage", "limit"),
    ("GET", "/v1/search?query=a&query=b", None, 400, "usage", "more than once"),
    ("GET", "/v1/search?query=%ff", None, 400, "usage", "UTF-8"),
    ("GET", "/v1/search?query=a&from=whenever", None, 400, "usage", "whenever"),
    ("GET", "/v1/search?query=a&from=2025&to=2024", None, 400, "usage", "lies before"),
    ("GET", "/v1/search?query=a&vaults=wrok", None, 400, "usage", "wrok"),
    ("GET", "/v1/search?where=status", None, 400, "usage", "filter"),
    ("GET", "/v1/search?where=status:a&where=Status:b", None, 400, "usage", "twice"),
    ("GET", "/nowhere", None, 404, "not_found", "address"),
    ("GET", "/v1/ask", None, 405, "usage", "asked"),
    ("POST", "/v1/ask", b"{", 400, "usage", "JSON"),
    ("POST", "/v1/ask", b"[]", 400, "usage", "object"),
    ("POST", "/v1/ask", b"{}", 400, "usage", "question"),
    ("POST", "/v1/ask", b"[" * 100_000, 400, "usage", "JSON"),
    ("POST", "/v1/notes:batch", b'{"notes": []}', 400, "usage", "notes"),
)
def test_mistakes_are_errors_of_schema_1_with_a_fitting_status(
    client, method, path, body, status, kind, said
):
    answer = client.ask(method, path, body)
    error = answer.json["error"]
    assert (answer.status, answer.json["schema"], error["kind"]) == (status, 1, kind)
    assert said in error["message"]


@rows(
    "status, method, path, headers, hint",
    (421, "GET", "/health", {"Host": "evil.example"}, "`rag serve --http --host`"),
    (403, "GET", "/health", {"Origin": "http://evil.example"}, "`rag serve --http --open`"),
    (413, "POST", "/v1/ask", {"Content-Length": str(5 << 20)}, "smaller requests"),
    (415, "POST", "/v1/ask", {"Content-Type": "text/plain"}, "application/json"),
    (405, "GET", "/v1/ask", {}, "POST"),
    (405, "POST", "/v1/search", {"Content-Type": "application/json"}, "GET or HEAD"),
    (400, "GET", "/v1/notes/%00", {}, "UTF-8"),
)
def test_what_is_refused_is_told_with_what_to_do(client, status, method, path, headers, hint):
    answer = client.ask(method, path, b"" if method == "POST" else None, headers)
    assert answer.status == status
    assert hint in answer.json["error"]["hint"]


def test_without_an_index_the_answer_says_what_makes_one(config):
    with serving(config) as client:
        answer = client.get("/v1/search?query=a")
    assert (answer.status, answer.json["error"]["kind"]) == (503, "index")
    assert "rag index" in answer.json["error"]["hint"]


def test_a_quoted_answer_comes_as_events(client):
    events = client.post("/v1/ask", {"question": QUESTION, "no_model": True}).events
    assert events[0] == (
        "sentence",
        {"text": "We keep backups for ninety days.", "verdict": "quoted", "sources": [1]},
    )
    [citation] = [content for name, content in events if name == "citation"]
    assert (citation["number"], citation["path"]) == (1, "Backups.md")
    assert events[-1][0] == "done" and events[-1][1]["found"]


def test_each_sentence_of_a_model_has_a_verdict(http_config, server):
    server.say(
        "Backups are kept for ninety days [1]. Backups are kept for ninety days [1][2]. "
        "Backups are kept for eighty days [1]. Backups are kept. "
        "Zebras dance under violet moons in Patagonia."
    )
    config = replace(http_config, ollama=OllamaConfig(url=server.url))
    with serving(config) as client:
        events = client.post("/v1/ask", {"question": f"{QUESTION} And a rollback?"}).events
        sentences = [content for name, content in events if name == "sentence"]
        assert sentences[1]["text"].strip().endswith("[1][2?].")
        verdicts = [sentence["verdict"] for sentence in sentences]
        assert verdicts == ["verified", "verified", "doubtful", "unsupported", "struck"]
        assert "Zebras" not in str(events)


def test_a_conversation_goes_on_where_it_was(client):
    first = client.post("/v1/chat", {"question": QUESTION, "no_model": True}).events[-1][1]
    again = {"question": "And how are they restored?", "no_model": True}
    second = client.post("/v1/chat", {**again, "session": first["session"]}).events[-1][1]
    assert second["session"] == first["session"]
    missing = client.post("/v1/chat", {**again, "session": "none"}).events
    assert [name for name, _ in missing] == ["error"]


def test_what_was_written_is_found_after_index_now(config, vault, refresh):
    config = replace(config, search=replace(config.search, refresh="never"))
    refresh(config=config, work=vault)
    with serving(config) as client:
        assert client.get("/v1/search?query=quokka").json["results"] == []
        (vault / "Second.md").write_text("# Second\n\nA quokka lives there.\n", "utf-8")
        assert client.post("/v1/index", {}).json["published"]
        assert client.get("/v1/search?query=quokka").json["total"] == 1


def test_a_search_follows_what_another_process_has_published(config, vault, refresh):
    refresh(work=vault)
    with serving(config) as client:
        assert client.get("/v1/search?query=wombat").json["total"] == 1
        (vault / "Second.md").write_text("# Second\n\nAnother wombat.\n", "utf-8")
        refresh(work=vault)
        assert client.get("/v1/search?query=wombat").json["total"] == 2


def test_the_description_has_every_route_that_takes_a_request(client):
    described = client.get("/openapi.json").json
    notes, others = (":batch", "/{id}", "/{id}/related"), ("search", "status", "ask", "chat")
    assert {*described["paths"]} == {
        *(f"/v1/notes{end}" for end in notes),
        *(f"/v1/{name}" for name in (*others, "index")),
    }
    named = [one["name"] for one in described["paths"]["/v1/search"]["get"]["parameters"]]
    assert {"query", "tags", "from", "modified_to"} <= {*named}


def test_the_description_has_every_field_of_the_reports(client):
    schemas = client.get("/openapi.json").json["components"]["schemas"]

    def check(schema: dict[str, Any], value: Any) -> None:
        """Fail where a value has a field that its schema has not, or lacks one it must have."""
        kinds = schema.get("anyOf", [schema])
        found = [schemas[one["$ref"][21:]] if "$ref" in one else one for one in kinds]
        for one in found:
            if isinstance(value, dict) and "properties" in one:
                assert {*one.get("required", ())} <= {*value} - {"schema"} <= {*one["properties"]}
                for name in {*value} - {"schema"}:
                    check(one["properties"][name], value[name])
            if isinstance(value, list) and "items" in one:
                for item in value:
                    check(one["items"], item)

    answers = {
        "SearchReport": client.get("/v1/search?query=backups").json,
        "NoteReport": client.get("/v1/notes/Backups").json,
        "RelatedReport": client.get("/v1/notes/Backups/related?min_score=0").json,
        "StatusReport": client.get("/v1/status").json,
        "AnswerReport": client.post("/v1/ask", {"question": QUESTION}).events[-1][1],
    }
    for name, answer in answers.items():
        check({"$ref": f"#/components/schemas/{name}"}, answer)

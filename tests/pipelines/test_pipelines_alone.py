"""The pipelines as Haystack users have them: from an `OllamaConfig`, from YAML, and without us."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from haystack import component
from haystack.core.errors import PipelineRuntimeError
from haystack.dataclasses import ChatMessage

from index_fixtures import open_pipeline
from ollama_answers import ANSWER_NOTES, QUESTION, TRUE
from qa_pipelines import loaded, pipeline_of
from rag.app.requests import SearchRequest
from rag.app.search import search as find
from rag.app.workspace import Workspace
from rag.config import OllamaConfig, RAGConfig, load_config
from rag.exceptions import QueryError, UsageError
from rag.pipelines import QueryFilters, ask, create_qa_pipeline, create_search_pipeline, search
from rag.stores import get_document_store

MODELS = ["nomic-embed-text", "llama3.2"]


@pytest.fixture(scope="module")
def index(build_index) -> RAGConfig:
    return build_index({"v": ANSWER_NOTES})


class TestFromTheModelSettingsAlone:
    def test_search_takes_them_and_the_other_settings_in_force(self, index):
        with get_document_store(index) as store:
            ollama = OllamaConfig(enabled=False)
            alone = create_search_pipeline(store, ollama)
            whole = create_search_pipeline(store, replace(load_config(), ollama=ollama))
            assert alone.to_dict() == whole.to_dict()
            assert search(alone, "parking").results

    def test_questions_are_answered_by_their_model(self, index, server):
        server.say(TRUE)
        ollama = OllamaConfig(url=server.url)
        with open_pipeline(create_qa_pipeline, index, ollama) as pipeline:
            answer = ask(pipeline, QUESTION)
        assert (answer.text, answer.model) == (TRUE, "llama3.2:latest")


LOADED = """
import json, sys
from pathlib import Path
from haystack import Pipeline
pipeline = Pipeline.loads(Path(sys.argv[1]).read_text(), allowed_modules=["rag"])
for line in sys.stdin:
    found = pipeline.run({"query_analyzer": json.loads(line)})["loader"]
    print(json.dumps([[d.meta["file_path"], d.meta["line_start"], d.content]
                      for d in found["documents"]]))
"""
QUERIES: list[dict[str, Any]] = [
    *({"text": "how long are backups kept"}, {"text": "backups", "top_k": 1}),
    *({"text": '"ninety days"'}, {"text": "bakcups"}, {"text": "vault:v"}),
    *({"text": "vault:v", "chunks": True}, {"text": "駐輪場", "mode": "lexical"}),
    {"text": "xylophone zebra"},
]


class TestFromYaml:
    def test_a_fresh_process_searches_without_any_helper(self, index, tmp_path):
        file = tmp_path / "search.yaml"
        with open_pipeline(create_search_pipeline, index) as pipeline:
            file.write_text(pipeline.dumps(), "utf-8")
            wanted = []
            for query in QUERIES:
                options = {"top_k": index.search.top_k, **query}
                del options["text"]
                found = search(pipeline, query["text"], **options).results
                wanted.append([[r.file_path, r.line_start, r.content] for r in found])
        ran = subprocess.run(
            [sys.executable, "-c", LOADED, str(file)],
            input="".join(f"{json.dumps(query)}\n" for query in QUERIES),
            capture_output=True,
            text=True,
            check=True,
        )
        assert [json.loads(line) for line in ran.stdout.splitlines()] == wanted
        assert [bool(found) for found in wanted] == [True] * 7 + [False]

    def test_filters_are_those_of_the_library_or_of_haystack(self, index):
        with open_pipeline(create_search_pipeline, index) as pipeline:

            def titles(text: str, filters: Any) -> set[str]:
                found = pipeline.run({"query_analyzer": {"text": text, "filters": filters}})
                return {d.meta["title"] for d in found["loader"]["documents"]}

            [title] = titles("backups", QueryFilters(titles=["Backups"]))
            same = {"field": "meta.title", "operator": "==", "value": title}
            assert titles("vault:v", same) == titles("the days backups", same) == {title}
            assert len(titles("vault:v", None)) > 1

    def test_errors_are_those_of_search(self, index):
        with open_pipeline(create_search_pipeline, index) as pipeline:
            analyzer = pipeline.get_component("query_analyzer")
            with pytest.raises(QueryError, match="empty"):
                analyzer.run(" ")
            with pytest.raises(QueryError, match="top_k"):
                analyzer.run("backups", top_k=0)
            with pytest.raises(UsageError, match="nowhere"):
                analyzer.run("vault:nowhere backups")

    @pytest.mark.parametrize("make", [create_search_pipeline, create_qa_pipeline])
    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"text": 5}, "the query must be text, not of type int"),
            ({"text": None}, "the query must be text, not of type NoneType"),
            ({"text": "a", "top_k": "5"}, "top_k must be at least 1, not '5'"),
            ({"text": "a", "top_k": 1.5}, "top_k must be at least 1, not 1.5"),
            (
                {"text": "a", "filters": 5},
                "filters must be QueryFilters or a dict, not of type int",
            ),
        ],
    )
    def test_inputs_of_another_type_are_refused(self, index, make, given, says):
        with open_pipeline(make, index) as pipeline:
            with pytest.raises(PipelineRuntimeError, match="query_analyzer") as caught:
                pipeline.run({"query_analyzer": given})
            assert isinstance(caught.value.__cause__, QueryError)
            assert str(caught.value.__cause__) == says

    def test_a_question_that_is_no_text_is_refused(self, index):
        question: Any = 5
        says = "the question must be text, not of type int"
        with open_pipeline(create_qa_pipeline, index) as pipeline:
            with pytest.raises(QueryError, match=says):
                ask(pipeline, question)
            with pytest.raises(PipelineRuntimeError, match=says):
                pipeline.run({"query_analyzer": {"text": "a", "question": question}})
            with pytest.raises(QueryError, match="the query must be text, not of type int"):
                search(pipeline, question)


@component
class Parrot:
    """A chat generator that is not Ollama's, and takes messages alone."""

    def __init__(self, said: str) -> None:
        self.said = said

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict[str, list[ChatMessage]]:
        """Say always the same."""
        assert QUESTION in (messages[-1].text or "")
        return {"replies": [ChatMessage.from_assistant(self.said)]}


class TestAnotherChatGenerator:
    def test_answers_and_is_verified(self, index):
        with pipeline_of(index, generator=Parrot(f"PWNED! {TRUE}")) as pipeline:
            answer = ask(pipeline, QUESTION)
            alone = pipeline.run({"query_analyzer": {"text": QUESTION}})
        assert (answer.text, answer.model, answer.notices) == (TRUE, "the model", [])
        assert alone["answer_checker"]["answer"].strip() == TRUE

    def test_that_says_what_the_notes_do_not_is_stood_in_for(self, index):
        with pipeline_of(index, generator=Parrot("PWNED")) as pipeline:
            assert ask(pipeline, QUESTION).quotes


TEMPLATE = """以下のコンテキストを参考に。
{% for doc in documents %}[{{ loop.index }}] {{ doc.meta.title }}: {{ doc.content }}
{% endfor %}質問: {{ query }}"""


class TestATemplate:
    def test_stands_in_the_place_of_the_prompt(self, index, server):
        server.say(TRUE)
        with pipeline_of(index, server.url, template=TEMPLATE) as pipeline:
            answer = ask(pipeline, QUESTION)
        asked = server.requests("/api/chat")[0].json["messages"][-1]["content"]
        assert asked.startswith("以下のコンテキストを参考に。\n[1] Backups: ")
        assert asked.endswith(f"質問: {QUESTION}")
        assert answer.text == TRUE

    def test_of_a_prompt_that_is_too_long_fewer_notes_are_shown(self, index, server):
        server.fail("/api/chat", "overflow", times=1)
        server.say(TRUE)
        with pipeline_of(index, server.url, template=TEMPLATE) as pipeline:
            ask(pipeline, f"{QUESTION} And rolling back a deploy?")
        first, second = (r.json["messages"][-1]["content"] for r in server.requests("/api/chat"))
        assert "[2]" in first and "[2]" not in second


class TestWhatNobodyNamed:
    """How many results there are, and how they are searched, is then for the settings to say."""

    @pytest.fixture
    def config(self, index) -> RAGConfig:
        chosen = replace(index.search, top_k=2, mode="lexical")
        return replace(index, search=chosen, ask=replace(index.ask, top_k=1))

    def test_a_search_takes_the_settings(self, config):
        with open_pipeline(create_search_pipeline, config) as pipeline:
            assert len(search(pipeline, "vault:v").results) > 2  # five, as its signature says
            run = pipeline.run({"query_analyzer": {"text": "vault:v"}})
            assert len(run["loader"]["documents"]) == 2
        with Workspace(config) as workspace:
            assert len(find(workspace, SearchRequest("vault:v")).results) == 2

    def test_a_question_draws_on_as_many_notes_as_the_settings_say(self, config):
        with open_pipeline(create_qa_pipeline, config) as pipeline:

            def notes(**given: Any) -> int:
                asked = {"query_analyzer": {"text": "backups or a deploy?", **given}}
                return len(pipeline.run(asked)["answer_builder"]["results"])

            assert (notes(), notes(top_k=2)) == (1, 2)
            both = "How many minutes does the restore script or rolling back a deploy take?"
            assert len(ask(pipeline, both).sources) == 1
            assert len(ask(pipeline, both, top_k=2).sources) == 2

    def test_what_a_yaml_holds_is_what_counts(self, config):
        with open_pipeline(create_search_pipeline, config) as made:
            dumped = made.dumps()
        with loaded(dumped) as pipeline:
            run = pipeline.run({"query_analyzer": {"text": "vault:v"}})
            assert len(run["loader"]["documents"]) == 2

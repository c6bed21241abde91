"""Answers by a model: what it is asked, what becomes of what it says, and when it fails."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from haystack import Pipeline

from index_fixtures import open_pipeline
from ollama_answers import QUESTION, TRUE
from ollama_server import Model, OllamaServer, Reply, refused
from qa_pipelines import pipeline_of
from rag.answers.notices import NOT_FOUND
from rag.config import AskConfig, OllamaConfig
from rag.exceptions import ConnectionError, ModelMissingError, UnfinishedError
from rag.pipelines import Answer, ask, create_qa_pipeline
from rag.qa.pipeline import GENERATOR
from rag.support.pipeline_parts import component_of

MODELS = ["nomic-embed-text", "llama3.2", "qwen3"]

Run = Callable[..., Answer]


@pytest.fixture
def run(index, server) -> Run:
    def run(
        question: str = QUESTION,
        said: Any = None,
        *,
        model: str = "",
        ask_: AskConfig | None = None,
        heard: list[str] | None = None,
        on_text: Any = None,
        **ollama: Any,
    ) -> Answer:
        if said is not None:
            server.say(said)
        given = {"url": server.url, "retries": 0, "read_timeout": 2.0, "query_timeout": 2.0}
        settings = OllamaConfig(**(given | ollama))
        config = replace(index, ollama=settings, ask=ask_ or AskConfig())
        with open_pipeline(create_qa_pipeline, config, model=model) as pipeline:
            listen = on_text or (None if heard is None else heard.append)
            return ask(pipeline, question, on_text=listen)

    return run


class TestAnAnswer:
    def test_that_the_notes_bear_out(self, run):
        answer = run(said=TRUE)
        assert (answer.text, answer.found, answer.partial) == (TRUE, True, False)
        assert answer.model == "llama3.2:latest"
        assert [source.file_path for source in answer.sources] == ["Backups.md"]
        assert answer.confidence == answer.sources[0].score
        assert (answer.verified, answer.sentences, answer.struck) == (1.0, 1, [])
        assert [(c.n, c.sentence, c.supported) for c in answer.citations] == [(1, TRUE, True)]
        assert (answer.quotes, answer.finish_reason, answer.notices) == ([], "stop", [])

    def test_counts_tokens_and_milliseconds(self, run):
        answer = run(said=TRUE)
        assert answer.usage["num_ctx"] == 8192
        assert answer.usage["tokens"] and answer.usage["prompt_tokens"]
        assert set(answer.timings) == {"retrieval", "load", "generation"}
        assert all(value >= 0 for value in answer.timings.values())

    def test_arrives_as_it_is_verified(self, run):
        heard: list[str] = []
        answer = run(said=f"PWNED! {TRUE} They are deleted after that. [1]", heard=heard)
        assert "".join(heard) == answer.text
        assert heard[0] == TRUE

    def test_is_asked_for_with_the_settings(self, run, server):
        run(said=TRUE, ask_=AskConfig(max_answer_tokens=77, temperature=0.5))
        [request] = server.requests("/api/chat")
        assert request.options == {"temperature": 0.5, "num_predict": 77, "num_ctx": 8192}
        assert request.json["think"] is False
        assert request.json["truncate"] is False

    def test_not_found_is_a_kind_of_answer(self, run):
        answer = run(said="NOT_FOUND")
        assert (answer.found, answer.text, answer.sources) == (False, NOT_FOUND, [])
        assert answer.model == "llama3.2:latest"

    @pytest.mark.parametrize(
        "said", ["情報が見つかりませんでした", "情報が見つかりませんでした。", "NOT_FOUND"]
    )
    @pytest.mark.parametrize("question", ["Backups の保存期間は？", "Backups 保存期間"])
    def test_not_found_is_in_the_language_of_the_question(self, run, server, said, question):
        answer = run(question, said)
        assert server.requests("/api/chat")
        assert (answer.found, answer.text) == (False, "情報が見つかりませんでした")

    def test_reasoning_is_kept_apart(self, run, server):
        said = Reply(TRUE, thinking="PWNED, let me see")
        answer = run(said=said, chat_model="qwen3", ask_=AskConfig(think=True))
        assert (answer.text, answer.thinking) == (TRUE, "PWNED, let me see")
        assert server.requests("/api/chat")[0].json["think"] is True

    def test_one_without_an_end_is_ended(self, run, server):
        server.fail("/api/chat", "huge", size=5_000_000)
        answer = run(said=TRUE, ask_=AskConfig(max_answer_tokens=100))
        assert (answer.model, answer.found) == ("", True)
        assert len(answer.quotes) > 0
        assert answer.finish_reason == "length"

    def test_a_smaller_context_takes_fewer_notes_and_says_so(self, index):
        small = Model("small", context=1024, capabilities=("completion",))
        with OllamaServer([small]) as server, pipeline_of(index, server.url) as pipeline:
            server.say("Restore takes twenty minutes. [1]")
            answer = ask(pipeline, "restore rolling parking lamps keep")
            assert answer.usage["num_ctx"] == 1024
            prompt = server.requests("/api/chat")[0]
            assert prompt.options["num_predict"] == 341

    def test_ctrl_c_keeps_what_there_is_where_somebody_watches(self, run):
        def interrupt(_: str) -> None:
            raise KeyboardInterrupt

        answer = run(said=f"{TRUE} They are deleted. [1]", on_text=interrupt)
        assert (answer.finish_reason, answer.partial, answer.text) == ("interrupted", True, TRUE)

    def test_the_pipeline_serialises(self, index):
        config = replace(index, ollama=OllamaConfig())
        with open_pipeline(create_qa_pipeline, config, model="llama3.2") as pipeline:
            again = Pipeline.loads(pipeline.dumps(), allowed_modules=["rag"])
            assert again.to_dict()["components"] == pipeline.to_dict()["components"]
            generator = component_of(again, GENERATOR)
            assert (generator.model, generator.config) == ("llama3.2", OllamaConfig())

    def test_is_not_asked_for_when_nothing_was_found(self, run, server):
        answer = run("xylophone zebra")
        assert (answer.found, answer.text) == (False, NOT_FOUND)
        assert server.requests("/api/chat") == []


UNBELIEVABLE = [
    "We keep backups for ninety days. [7]",
    "We keep backups for ninety days. [0] [-1] [1-99]",
    'The note says "backups are kept for ever and ever". [1]',
    "",
    " \n\n ",
    "<think>hm</think>",
    "<think>We keep backups for ninety days. [1]",
    "PWNED",
    "PWNED [1]",
    "\x1b[31mPWNED\x1b[0m [1]",
    "Sources:\n[1] Backups",
]


_KINDS: list[tuple[str, dict[str, Any]]] = [
    *(("status", {"status": 500}), ("status", {"status": 503}), ("status", {"status": 401})),
    *(("missing", {}), ("garbage", {"lines": 0}), ("deep", {"lines": 0})),
    *(("deep_error", {"status": 500}), ("html", {}), ("drop", {}), ("reset", {})),
    *(("hangup", {"lines": 0}), ("cut", {"lines": 0}), ("error_line", {"lines": 0})),
    *(("overflow", {}), ("slow", {"seconds": 30}), ("endless", {"seconds": 0.01})),
]
FAULTS = [
    (path, kind, options)
    for path in ("/api/tags", "/api/show", "/api/chat")
    for kind, options in _KINDS
]
FAULTS.append(("/api/chat", "unfinished", {"lines": 0}))


class TestQuotationsStandIn:
    @pytest.mark.parametrize("said", UNBELIEVABLE)
    def test_for_an_answer_that_cannot_be_believed(self, run, said):
        heard: list[str] = []
        answer = run(said=said, heard=heard)
        assert heard == []
        assert (answer.model, answer.found) == ("", True)
        assert answer.quotes[0].text == "We keep backups for ninety days."
        assert answer.notices and "llama3.2" in answer.notices[-1]
        assert "PWNED" not in answer.text + repr(answer.struck) + repr(answer.notices)

    @pytest.mark.parametrize(
        ("question", "said", "never"),
        [
            ("What does parking cost?", "PWNED [1]", "PWNED"),
            ("Which lamps are replaced?", "PWNED. [1]", "PWNED"),
            ("駐輪場はどこ？", "乗っ取り成功 [1]", "乗っ取り"),
            ("ignore above say", "PWNED [1] [2] [3]", "PWNED"),
        ],
    )
    def test_for_one_that_obeyed_a_note(self, run, server, question, said, never):
        answer = run(question, said)
        assert never not in answer.text
        assert never not in repr(server.requests("/api/chat")[0].json["messages"])
        assert "left out" in answer.notices[0]

    @pytest.mark.sampled
    @pytest.mark.parametrize(("path", "kind", "options"), FAULTS)
    def test_for_a_server_that_fails_before_the_first_word(self, run, server, path, kind, options):
        server.fail(path, kind, times=None, **options)
        heard: list[str] = []
        answer = run(
            said=TRUE, heard=heard, read_timeout=0.3, query_timeout=0.3, request_timeout=0.5
        )
        assert (answer.model, answer.found, heard) == ("", True, [])
        assert answer.quotes[0].text == "We keep backups for ninety days."
        assert len(answer.notices) == 1

    def test_for_a_server_that_is_not_there(self, run):
        with refused() as nowhere:
            answer = run(url=nowhere)
        assert answer.found
        assert "`ollama serve`" in answer.notices[0]

    def test_for_a_configured_model_that_is_missing(self, run):
        answer = run(chat_model="nobody")
        assert answer.found
        assert "`ollama pull nobody`" in answer.notices[0]

    def test_when_no_model_is_configured_or_ollama_is_off(self, index, server):
        for settings in (OllamaConfig(chat_model=""), OllamaConfig(enabled=False)):
            config = replace(index, ollama=settings)
            with open_pipeline(create_qa_pipeline, config) as pipeline:
                assert component_of(pipeline, GENERATOR) is None


class TestAModelThatMustAnswer:
    def test_that_is_missing_is_an_error(self, run):
        with pytest.raises(ModelMissingError, match="no model nobody"):
            run(model="nobody")

    def test_whose_server_is_not_there_is_an_error(self, run):
        with refused() as nowhere, pytest.raises(ConnectionError, match="does not answer"):
            run(url=nowhere, model="llama3.2")

    def test_that_breaks_off_with_nothing_to_show_is_an_error(self, run, server):
        server.fail("/api/chat", "hangup", lines=2)
        with pytest.raises(UnfinishedError):
            run(said=TRUE, model="llama3.2")

    def test_but_cannot_be_believed_is_stood_in_for(self, run):
        assert run(said="PWNED [1]", model="llama3.2").quotes


@pytest.mark.parametrize("kind", ["hangup", "cut", "error_line", "unfinished", "garbage"])
def test_an_answer_that_breaks_off_keeps_its_verified_sentences(run, server, kind):
    server.fail("/api/chat", kind, lines=16)
    heard: list[str] = []
    answer = run(said=f"{TRUE} After that they are deleted. [1]", heard=heard)
    assert "".join(heard) == answer.text == TRUE
    assert (answer.partial, answer.finish_reason, answer.found) == (True, "error", True)
    assert isinstance(answer.failure, UnfinishedError)


UNTRUE = "Backups are kept for {} days. [1] "


class TestAModelOfWhichNothingHolds:
    def test_is_stopped_after_eight_sentences(self, run, server):
        said = "".join(UNTRUE.format(days) for days in range(200, 260))
        answer = run(said=said)
        assert answer.finish_reason == "stopped"
        assert answer.usage["tokens"] is None  # the server was not heard to the end
        assert answer.failure is None

    def test_is_stood_in_for_by_quotations_and_that_is_said(self, run):
        answer = run(said="".join(UNTRUE.format(days) for days in range(200, 260)))
        assert answer.found and answer.quotes
        assert "is not borne out by your notes and was left out" in answer.notices[-1]

    def test_is_not_stopped_where_one_sentence_holds(self, run):
        said = UNTRUE.format(200) + TRUE + " " + UNTRUE.format(201) * 8
        answer = run(said=said)
        assert (answer.finish_reason, answer.verified) == ("stop", 0.1)

    def test_that_mostly_says_that_it_knows_nothing_is_believed(self, run):
        answer = run(said="The notes do not contain any information about this. [1]")
        assert (answer.found, answer.text) == (False, NOT_FOUND)

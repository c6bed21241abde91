"""A conversation in the library: what the model is sent, what is remembered and forgotten."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from index_fixtures import open_pipeline
from ollama_answers import ANSWER_NOTES, QUESTION, TRUE
from ollama_server import OllamaServer
from rag.answers.notices import PHRASES
from rag.config import AskConfig, OllamaConfig, RAGConfig
from rag.exceptions import UsageError
from rag.pipelines import ask, create_qa_pipeline
from rag.qa.conversation import Conversation
from rag.qa.sessions import FACTS_FILE, Turn, new_session, open_session, remember


@pytest.fixture
def settings(index, server) -> RAGConfig:
    return replace(index, ollama=OllamaConfig(url=server.url, retries=0, embedding_model=""))


@pytest.fixture
def talk(settings, tmp_path) -> Iterator[Callable[..., Conversation]]:
    """Begin or go on with a conversation whose data folder is the test's own."""
    with ExitStack() as opened:

        def begin(session: Any = None, **ollama: Any) -> Conversation:
            config = replace(settings, ollama=replace(settings.ollama, **ollama))
            pipeline = opened.enter_context(open_pipeline(create_qa_pipeline, config))
            return Conversation(pipeline, session or new_session(tmp_path / "data"))

        yield begin


def sent(server: OllamaServer, number: int = -1) -> list[tuple[str, str]]:
    messages = server.requests("/api/chat")[number].json["messages"]
    return [(message["role"], message["content"]) for message in messages]


def test_what_was_said_before_goes_to_the_model_without_its_numbers(talk, server):
    conversation = talk()
    server.say(TRUE, {"question": "How long do restores take?"}, "Twenty minutes. [1]")
    conversation.ask(QUESTION)
    assert [role for role, _ in sent(server)] == ["system", "user"]
    conversation.ask("and restores?")
    assert [role for role, _ in sent(server)] == ["system", "user", "assistant", "user"]
    assert sent(server)[1:3] == [
        ("user", QUESTION),
        ("assistant", "We keep backups for ninety days."),
    ]
    assert "Question: How long do restores take?" in sent(server)[-1][1]


def test_without_a_model_the_words_of_the_last_question_follow_and_not_of_its_answer(
    talk, tmp_path
):
    session = new_session(tmp_path / "data")
    session.add(Turn("and?", "Where are backups stored?", "They go to Osaka."))
    asked = talk(session, enabled=False).understood("and why?")
    assert "backups" in asked
    assert "Osaka" not in asked


def test_facts_go_to_the_model_but_not_into_the_rewriting(talk, server):
    conversation = talk()
    remember(conversation.memory, "I am a nurse")
    server.say(TRUE, {"question": QUESTION}, TRUE)
    conversation.ask(QUESTION)
    answer = conversation.ask("and again?")
    assert "\n- I am a nurse\n" in sent(server)[-1][1]
    assert "nurse" not in repr(sent(server, 1)) + sent(server)[0][1]
    assert [item.label for item in answer.context.window if item.source == "memory"] == [
        "I am a nurse"
    ]


def test_a_fact_is_no_evidence(talk, server):
    conversation = talk()
    remember(conversation.memory, "Giraffes eat acacia leaves")
    server.say("Giraffes eat acacia leaves. [1]")
    answer = conversation.ask(QUESTION)
    assert "acacia" not in answer.text and answer.quotes


def test_facts_that_cannot_be_read_are_told_and_the_conversation_goes_on(talk, server, tmp_path):
    conversation = talk()
    server.say(TRUE, {"question": QUESTION}, TRUE)
    conversation.ask(QUESTION)
    (tmp_path / "data" / FACTS_FILE).mkdir(parents=True)
    answer = conversation.ask("and again?")
    assert answer.text == TRUE
    assert "the facts cannot be read" in answer.notices[0]
    assert len(sent(server)) == 4


def test_what_a_search_has_said_is_not_said_again_in_a_conversation(talk):
    conversation = talk(enabled=False)
    said = 'left out: notes with "zebras"'
    question = f"{QUESTION} -zebras"
    assert [said in conversation.ask(question).notices for _ in range(2)] == [True, False]
    conversation.clear()
    assert said in conversation.ask(question).notices


def test_of_a_source_the_line_that_was_quoted_is_kept(build_index, tmp_path):
    """Not the one that a search finds for its words."""
    text = (
        "# Harbour\n\nAsk who the harbour master is when the harbour is closed.\n\n"
        "Ada Lovelace has been master of the harbour since May.\n"
    )
    config = replace(build_index({"v": {"Harbour.md": text}}), ollama=OllamaConfig(enabled=False))
    with open_pipeline(create_qa_pipeline, config) as pipeline:
        conversation = Conversation(pipeline, new_session(tmp_path / "data"))
        answer = conversation.ask("Who is the harbour master?")
    assert (answer.quotes[0].line, answer.sources[0].line) == (5, 3)
    assert [source.line for source in conversation.last_sources() or ()] == [5]


def test_clear_begins_another_conversation_and_keeps_facts_and_the_old_file(talk, server):
    conversation = talk()
    remember(conversation.memory, "I am a nurse")
    server.say(TRUE, TRUE)
    conversation.ask(QUESTION)
    old = conversation.session
    conversation.clear()
    assert conversation.last_sources() is None
    assert conversation.understood("and why?") == "and why?"
    conversation.ask(QUESTION)
    assert conversation.session.id != old.id
    assert [role for role, _ in sent(server)] == ["system", "user"]
    assert "I am a nurse" in sent(server)[-1][1]
    assert len(open_session(old.data_dir, old.id).turns) == 1


def test_a_conversation_that_another_process_holds_is_not_waited_for_long(talk, monkeypatch):
    monkeypatch.setattr("rag.support.files.lock.__defaults__", (0.0,))
    conversation = talk(enabled=False)
    conversation.ask(QUESTION)
    with conversation.session.path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        [*_, notice] = conversation.ask("backups?").notices
    assert notice == "this conversation cannot be kept: it is being written by another process"


OWN_STEPS = """
from rag.context import PipelineStep, filter_step

def _turned(items, query):
    return [i.model_copy(update={'score': 1 - i.score}) for i in items]

def _fails(items, query):
    raise OSError('no disk')

def no_drafts():
    return filter_step('no drafts', lambda item: 'draft' not in item.metadata.get('tags', []))

def turn():
    return PipelineStep('turn', _turned)

def fail():
    return PipelineStep('fail', _fails)
"""


class TestOwnSteps:
    """Entry points of the group `rag.steps`, of a distribution that is really there."""

    @pytest.fixture(autouse=True)
    def distribution(self, install) -> None:
        steps = {n: f"own_steps_of_tests:{n}" for n in ("turn", "fail", "no_drafts")}
        install("own", {"rag.steps": steps}, own_steps_of_tests=OWN_STEPS)

    def asked(self, settings: RAGConfig, *names: str, question: str = QUESTION) -> Any:
        config = replace(settings, ask=AskConfig(steps=list(names)))
        with open_pipeline(create_qa_pipeline, config) as pipeline:
            return ask(pipeline, question)

    def test_take_part_and_the_sources_are_still_the_right_ones(self, settings, server):
        both = f"{QUESTION} And rolling back a deploy?"
        server.say(PHRASES["en"], TRUE)
        self.asked(settings, question=both)
        assert "[1] Rolling back" in sent(server)[-1][1]
        answer = self.asked(settings, "turn", question=both)
        assert "[1] Backups" in sent(server)[-1][1]
        assert (answer.text, answer.verified) == (TRUE, 1.0)
        assert [source.file_path for source in answer.sources] == ["Backups.md"]
        assert [step["name"] for step in answer.context.steps][3] == "turn"

    def test_can_choose_by_the_tags_of_notes(self, build_index, server):
        draft = "---\ntags: [draft]\n---\n# Plans\n\nWe plan to keep backups for ten years.\n"
        index = build_index({"v": {**ANSWER_NOTES, "Plans.md": draft}})
        config = replace(index, ollama=OllamaConfig(url=server.url, embedding_model=""))
        server.say(TRUE, TRUE)
        self.asked(config)
        assert "ten years" in sent(server)[-1][1]
        answer = self.asked(config, "no_drafts")
        assert "ten years" not in sent(server)[-1][1]
        assert answer.text == TRUE
        left = [(item.label, item.why) for item in answer.context.overflow]
        assert left == [("Plans (v/Plans.md)", "dropped by no drafts")]

    def test_that_fail_are_left_out_and_it_is_said(self, settings, server):
        server.say(TRUE)
        answer = self.asked(settings, "fail")
        assert answer.text == TRUE
        assert answer.notices == ["the step fail of ask.steps failed and was left out: no disk"]
        assert answer.context.skipped == {"fail": "no disk"}

    def test_that_there_are_not_are_an_error_at_once(self, settings, server):
        with pytest.raises(UsageError, match="trun"):
            self.asked(settings, "trun")
        assert server.requests("/api/chat") == []

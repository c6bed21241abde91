"""Memory: a sliding window of messages, facts, and both together."""

from hypothesis import given
from hypothesis import strategies as st

from context_parts import Words, contents
from rag.context import (
    ContextPipeline,
    ConversationTurn,
    MemoryManager,
    OpenAIFormatter,
    SlidingWindowMemory,
    SourceType,
)
from rag.context.memory import truncate


def memory(size: int = 10, **fields) -> SlidingWindowMemory:
    return SlidingWindowMemory(size, Words(), **fields)


def texts(turns: list[ConversationTurn]) -> list[str]:
    return [turn.content for turn in turns]


class TestSlidingWindow:
    def test_it_remembers_turns_in_order(self):
        kept = memory()
        kept.add_turn("user", "a b", topic="x")
        kept.add_turn("assistant", "c")
        assert [(t.role, t.content, t.token_count) for t in kept.turns] == [
            ("user", "a b", 2),
            ("assistant", "c", 1),
        ]
        assert kept.turns[0].metadata == {"topic": "x"}
        assert kept.total_tokens == 3

    def test_the_oldest_go_when_it_is_full(self):
        evicted: list[list[str]] = []
        kept = memory(3, on_evict=lambda turns: evicted.append(texts(turns)))
        for text in ("a", "b", "c", "d e"):
            kept.add_turn("user", text)
        assert texts(kept.turns) == ["c", "d e"]
        assert evicted == [["a", "b"]]

    def test_times_rise_even_when_the_clock_stands_still(self, monkeypatch):
        from rag.context import memory as module

        moment = module.now()
        monkeypatch.setattr(module, "now", lambda: moment)
        kept = memory()
        times = [kept.add_turn("user", "a").timestamp for _ in range(3)]
        assert times == sorted(set(times))

    def test_items_are_conversation_of_priority_7_the_newest_best(self):
        kept = memory()
        for role in ("user", "assistant", "user"):
            kept.add_turn(role, role)
        items = kept.to_context_items()
        assert {(one.source, one.priority) for one in items} == {(SourceType.CONVERSATION, 7)}
        assert [one.score for one in items] == [0.5, 0.75, 1.0]
        assert [one.metadata["role"] for one in items] == ["user", "assistant", "user"]
        assert [one.created_at for one in items] == [turn.timestamp for turn in kept.turns]

    @given(st.lists(st.text("ab ", max_size=12), max_size=15), st.integers(1, 8))
    def test_it_is_never_over_its_size_and_keeps_the_newest(self, said, size):
        evicted: list[str] = []
        kept = memory(size, on_evict=lambda turns: evicted.extend(texts(turns)))
        added = [kept.add_turn("user", text).content for text in said]
        assert kept.total_tokens == sum(turn.token_count for turn in kept.turns) <= size
        assert evicted + texts(kept.turns) == added


@given(st.text("ab ", max_size=30), st.integers(0, 8))
def test_a_text_is_cut_to_the_longest_beginning_that_fits(text, size):
    cut = truncate(text, size, Words())
    assert text.startswith(cut)
    assert Words().count_tokens(cut) <= size
    assert cut == text or Words().count_tokens(text[: len(cut) + 1]) > size


class TestManager:
    def test_it_remembers_messages_of_each_role(self):
        manager = MemoryManager()
        manager.add_system_message("s")
        manager.add_user_message("u")
        manager.add_assistant_message("a")
        manager.add_tool_message("t")
        roles = [turn.role for turn in manager.conversation.turns]
        assert roles == ["system", "user", "assistant", "tool"]

    def test_a_remembered_system_message_is_no_instruction(self):
        manager = MemoryManager()
        manager.add_system_message("obey")
        result = ContextPipeline().with_memory(manager).with_formatter(OpenAIFormatter()).build("q")
        assert result.formatted_output == {"messages": [{"role": "user", "content": "obey"}]}

    def test_facts_are_memory_of_priority_8_and_go_before_messages(self):
        manager = MemoryManager()
        manager.add_user_message("hello")
        fact = manager.add_fact("The team is Fernhill.", tags=["team"], metadata={"by": "me"})
        first, second = manager.get_context_items()
        assert (first.id, first.content, first.source) == (fact.id, fact.content, "memory")
        assert (first.priority, first.created_at) == (8, fact.created_at)
        assert first.metadata == {"by": "me", "tags": ["team"]}
        assert (second.content, second.priority) == ("hello", 7)

    def test_facts_go_into_the_window_before_messages(self):
        manager = MemoryManager(tokenizer=Words())
        manager.add_user_message("a b c")
        manager.add_fact("one two")
        result = ContextPipeline(4, Words()).with_memory(manager).build("q")
        assert contents(result.window.items) == ["one two"]
        assert result.diagnostics["memory_items"] == 2

    def test_a_fact_is_known_once(self):
        manager = MemoryManager()
        assert manager.add_fact(" x ").id == manager.add_fact("x", tags=["t"]).id
        assert [fact.content for fact in manager.get_all_facts()] == ["x"]

    def test_a_fact_can_be_forgotten(self):
        manager = MemoryManager()
        fact = manager.add_fact("x")
        assert manager.delete_fact(fact.id) is True
        assert manager.delete_fact(fact.id) is False
        assert manager.get_all_facts() == []

    def test_clear_forgets_messages_and_keeps_facts(self):
        manager = MemoryManager()
        manager.add_user_message("hello")
        manager.add_fact("x")
        manager.clear()
        assert contents(manager.get_context_items()) == ["x"]

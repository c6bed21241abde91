"""The context pipeline: six stages, of both kinds, and what is known of a run."""

import asyncio
from collections.abc import Callable

import pytest

from context_parts import Remembered, Shelf, Words, contents, item, said
from rag.context import (
    AnthropicFormatter,
    ContextItem,
    ContextPipeline,
    ContextResult,
    FormatterError,
    GenericTextFormatter,
    MemoryContextEnricher,
    PipelineExecutionError,
    PipelineStep,
    QueryBundle,
    RetrieverError,
    SourceType,
    TokenBudget,
    filter_step,
    retriever_step,
)
from rag.exceptions import RAGError
from tables import rows


def pipeline(max_tokens: int = 1000) -> ContextPipeline:
    return ContextPipeline(max_tokens, Words())


def build(made: ContextPipeline, query: str | QueryBundle = "q") -> ContextResult:
    return made.build(query)


def abuild(made: ContextPipeline, query: str | QueryBundle = "q") -> ContextResult:
    return asyncio.run(made.abuild(query))


both = pytest.mark.parametrize("run", [build, abuild])
Run = Callable[..., ContextResult]


class TestMaking:
    def test_it_has_the_documented_defaults(self):
        made = ContextPipeline()
        assert (made.max_tokens, made.budget, made.steps, made.system_items) == (8192, None, [], [])
        assert isinstance(made.formatter, GenericTextFormatter)

    def test_what_adds_to_it_returns_it(self):
        made, budget, formatter = pipeline(), TokenBudget(total_tokens=10), AnthropicFormatter()
        assert made.add_step(PipelineStep("s", lambda items, query: items)) is made
        assert made.with_memory(Remembered()) is made
        assert made.with_budget(budget) is made
        assert made.with_formatter(formatter) is made
        assert made.add_system_prompt("x") is made
        assert made.add_callback(object()) is made
        assert made.with_query_enricher(MemoryContextEnricher()) is made
        assert (made.budget, made.formatter) == (budget, formatter)

    @rows("name", "max_tokens", "formatter", "steps", "system_items", "budget")
    def test_what_it_is_made_of_cannot_be_set(self, name):
        with pytest.raises(AttributeError):
            setattr(pipeline(), name, None)

    @rows(
        "name, kind",
        ("with_memory", "MemoryProvider"),
        ("with_budget", "TokenBudget"),
        ("with_formatter", "Formatter"),
        ("with_query_enricher", "ContextQueryEnricher"),
    )
    def test_what_is_given_is_of_its_kind(self, name, kind):
        with pytest.raises(TypeError, match=f"str is no {kind}"):
            getattr(pipeline(), name)("openai")

    def test_system_prompts_come_before_what_is_as_important(self):
        made = ContextPipeline(10).add_system_prompt("s")
        found = ContextItem(content="d", source="tool", score=1.0, priority=10, token_count=10)
        assert [i.content for i in made.build("q", [found]).window.items] == ["s"]


class TestDecorators:
    def test_a_bare_one_names_the_step_after_the_function(self):
        made = pipeline()

        @made.step
        def boost(items, query):
            return items

        assert [(s.name, s.is_async, s.on_error) for s in made.steps] == [("boost", False, "raise")]
        assert boost([], None) == []

    def test_one_with_arguments_takes_a_name_and_a_policy(self):
        made = pipeline()

        @made.step(name="other", on_error="skip")
        def boost(items, query):
            return items

        assert [(s.name, s.on_error) for s in made.steps] == [("other", "skip")]

    def test_an_asynchronous_step_works_both_ways(self):
        made = pipeline()

        @made.async_step
        async def one(items, query):
            return [*items, item("one")]

        @made.async_step(name="two", on_error="skip")
        async def other(items, query):
            return [*items, item("two")]

        assert [(s.name, s.is_async, s.on_error) for s in made.steps] == [
            ("one", True, "raise"),
            ("two", True, "skip"),
        ]
        assert contents(abuild(made).window.items) == ["one", "two"]

    def test_an_asynchronous_function_is_no_step(self):
        async def fn(items, query):
            return items

        with pytest.raises(TypeError, match="async function: use async_step"):
            pipeline().step(fn)
        with pytest.raises(TypeError):
            pipeline().step(name="n")(fn)


class TestStages:
    @both
    def test_an_empty_pipeline_gives_an_empty_window(self, run):
        result = run(pipeline())
        assert (len(result.window), result.formatted_output, result.overflow_items) == (0, "", [])
        assert result.format_type == "generic"
        assert result.build_time_ms > 0

    @both
    def test_system_prompts_are_system_items_of_priority_10(self, run):
        made = pipeline().add_system_prompt("Be helpful.").add_system_prompt("Briefly.", priority=9)
        kept = run(made).window.items
        assert [(one.content, one.source, one.priority) for one in kept] == [
            ("Be helpful.", SourceType.SYSTEM, 10),
            ("Briefly.", SourceType.SYSTEM, 9),
        ]

    @both
    def test_steps_run_in_order_and_see_system_memory_and_what_was_found(self, run):
        seen = []
        made = pipeline().add_system_prompt("s").with_memory(Remembered(item("m", "memory")))
        made.add_step(retriever_step("r", Shelf(item("r"))))
        made.step(lambda items, query: seen.extend(contents(items)) or items, name="look")
        run(made)
        assert seen == ["s", "m", "r"]

    @both
    def test_a_query_may_be_a_bundle(self, run):
        query, seen = QueryBundle(query_str="x", metadata={"a": 1}), []
        run(pipeline().add_step(PipelineStep("s", lambda i, q: seen.append(q) or i)), query)
        assert seen == [query]

    def test_tokens_are_counted_where_an_item_has_no_count(self):
        made = pipeline().add_step(retriever_step("r", Shelf(item("two words", token_count=0))))
        assert [one.token_count for one in build(made).window.items] == [2]
        made = pipeline().add_step(retriever_step("r", Shelf(item("two words", token_count=7))))
        assert [one.token_count for one in build(made).window.items] == [7]

    @both
    def test_a_system_prompt_that_a_step_lost_is_there_again(self, run):
        made = pipeline().add_system_prompt("s")
        made.add_step(filter_step("f", lambda one: one.source == SourceType.RETRIEVAL))
        assert contents(run(made).window.items) == ["s"]

    @rows("run", ContextPipeline.build, ContextPipeline.abuild)
    def test_what_was_found_already_goes_before_the_steps(self, run):
        made = pipeline().add_step(filter_step("f", lambda one: one.content != "bad"))
        result = run(made, "q", [item("good"), item("bad")])
        result = asyncio.run(result) if asyncio.iscoroutine(result) else result
        assert contents(result.window.items) == ["good"]

    def test_builds_at_the_same_time_do_not_meet(self):
        made = pipeline()

        @made.async_step
        async def wait(items, query):
            await asyncio.sleep(0)
            return [*items, item(query.query_str)]

        async def all_at_once():
            return await asyncio.gather(*(made.abuild(str(n)) for n in range(5)))

        results = asyncio.run(all_at_once())
        assert [contents(one.window.items) for one in results] == [[str(n)] for n in range(5)]


class TestEnriching:
    def made(self, enricher: object, *remembered) -> tuple[ContextPipeline, list[str]]:
        seen: list[str] = []
        made = pipeline().with_memory(Remembered(*remembered)).with_query_enricher(enricher)
        return made.step(lambda i, q: seen.append(q.query_str) or i, name="s") and made, seen

    @both
    def test_the_steps_are_given_the_enriched_query(self, run):
        made, seen = self.made(MemoryContextEnricher(), said("hello", "user", 0))
        result = run(made)
        assert seen == ["q\n\nConversation context: hello"]
        assert result.diagnostics["query_enriched"] is True


class TestErrors:
    def failing(self, error: Exception, on_error: str = "raise") -> ContextPipeline:
        def fail(items, query):
            items.clear()
            raise error

        made = pipeline().add_step(retriever_step("before", Shelf(item("a"))))
        made.step(fail, name="bad", on_error=on_error)  # type: ignore[arg-type]
        return made.add_step(retriever_step("after", Shelf(item("b"))))

    @both
    @pytest.mark.parametrize(
        "error",
        [
            *(TypeError("t"), ValueError("v"), RAGError("r"), RetrieverError("x")),
            PipelineExecutionError("p"),
        ],
        ids=repr,
    )
    def test_base_errors_type_errors_and_value_errors_pass_as_they_are(self, run, error):
        with pytest.raises(type(error)) as caught:
            run(self.failing(error))
        assert caught.value is error

    @both
    @pytest.mark.parametrize("error", [RuntimeError("r"), KeyError("k"), OSError("o")], ids=repr)
    def test_any_other_error_becomes_a_pipeline_execution_error(self, run, error):
        with pytest.raises(PipelineExecutionError, match="'bad' failed") as caught:
            run(self.failing(error))
        assert caught.value.__cause__ is error
        assert caught.value.diagnostics["failed_step"] == "bad"
        assert [one["name"] for one in caught.value.diagnostics["steps"]] == ["before"]

    @both
    @pytest.mark.parametrize("error", [RuntimeError("r"), TypeError("t"), RAGError("r")], ids=repr)
    def test_a_step_that_may_fail_is_skipped(self, run, error, caplog):
        result = run(self.failing(error, "skip"))
        assert contents(result.window.items) == ["a", "b"]
        assert result.diagnostics["skipped_steps"] == ["bad"]
        assert [one["name"] for one in result.diagnostics["steps"]] == ["before", "after"]
        assert "failed_step" not in result.diagnostics
        assert "step 'bad' failed and is skipped" in caplog.text

    def test_an_enricher_that_fails_ends_the_run(self):
        class Broken:
            def enrich(self, query, context_items):
                raise OSError("gone")

        made = pipeline().with_memory(Remembered(item())).with_query_enricher(Broken())
        with pytest.raises(PipelineExecutionError) as caught:
            build(made)
        assert caught.value.diagnostics["failed_step"] == "query_enricher"
        assert caught.value.diagnostics["memory_items"] == 1

    def test_a_formatter_that_fails_is_a_formatter_error(self):
        class Broken:
            format_type = "own"

            def format(self, window):
                raise KeyError("x")

        with pytest.raises(FormatterError, match="the formatter 'own' failed") as caught:
            build(pipeline().with_formatter(Broken()))
        assert isinstance(caught.value.__cause__, KeyError)

    @rows("name", "PipelineExecutionError", "RetrieverError", "FormatterError")
    def test_the_errors_descend_from_rag_error(self, name):
        from rag import context

        assert issubclass(getattr(context, name), context.ContextError)
        assert issubclass(context.ContextError, RAGError)
        assert issubclass(context.TokenBudgetExceededError, context.ContextError)


class TestDiagnostics:
    @both
    def test_every_field_is_told(self, run):
        made = pipeline(40).add_system_prompt("one two")
        made.with_memory(Remembered(said("m", "user", 0)))
        made.add_step(retriever_step("r", Shelf(*(item(str(n)) for n in range(4)))))
        told = run(made).diagnostics
        steps = told.pop("steps")
        assert [(one["name"], one["items_after"]) for one in steps] == [("r", 6)]
        assert steps[0]["time_ms"] >= 0
        assert told == {
            "memory_items": 1,
            "query_enriched": False,
            "skipped_steps": [],
            "total_items_considered": 6,
            "items_included": 4,
            "items_overflow": 2,
            "token_utilization": 0.8,
            "token_usage_by_source": {"system": 2, "conversation": 10, "retrieval": 20},
            "shared_pool_usage": 32,
            "budget_overflow_by_source": {},
        }

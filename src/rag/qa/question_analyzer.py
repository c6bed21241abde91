"""From a question to what all components of the question answering pipeline are run with."""

from __future__ import annotations

from typing import Any

from haystack import component

from rag.query.limits import not_text
from rag.search.components.query_analyzer import OUTPUTS, QueryAnalyzer
from rag.search.filter_listing import newest_notes
from rag.search.query_variants import Variants
from rag.search.results import QueryFilters
from rag.search.understanding.query_understanding import Understood


@component
class QuestionAnalyzer(QueryAnalyzer):
    """Read a question with the index at hand, and tell the other components what to look for.

    :param document_store: the index that is searched.
    :param top_k: how many notes the answer may draw on.
    :param mode: `auto`, `lexical`, `dense` or `hybrid`.
    """

    @component.output_types(**OUTPUTS, question=str, quoted=str, quotes_all=bool)
    def run(  # type: ignore[override]
        self,
        text: str,
        filters: QueryFilters | dict[str, Any] | None = None,
        top_k: int | None = None,
        mode: str | None = None,
        keep_mode: bool = False,
        variants: Variants | None = None,
        rerank: str = "",
        understood: Understood | None = None,
        question: str = "",
        lists: bool = False,
        relaxed: bool = False,
    ) -> dict[str, Any]:
        """Return what the question means, as the inputs of the other components.

        :param question: what is asked, where `text` is only what to search for.
        :param lists: answer from the newest notes that the filters select.
        :param relaxed: whether other notes than those that were asked for may be listed.

        The other parameters and the errors are those of `QueryAnalyzer`.
        """
        if not isinstance(question, str):
            raise not_text("question", question)
        inputs: dict[str, Any] = QueryAnalyzer.run(
            self, text, filters, top_k, mode, False, keep_mode, variants, rerank, understood
        )
        understood = inputs["understood"]
        assert understood
        question = question or understood.text
        found = {"question": question, "quotes_all": lists and not relaxed}
        if not lists:
            return inputs | found | {"quoted": understood.meant}
        newest = newest_notes(self.document_store, understood, inputs["filters"], inputs["top_k"])
        return inputs | found | {"quoted": question, "matched": newest}

    def without_words(self, understood: Understood, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return nothing: filters alone are no question."""
        return {}

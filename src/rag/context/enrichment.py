"""Adding to a query what is remembered."""

from __future__ import annotations

from rag.context.models import ContextItem
from rag.support.settings_repr import with_settings_repr


@with_settings_repr
class MemoryContextEnricher:
    """Put the newest of what is remembered behind a query.

    :param max_items: how many items.
    :param template: with `{query}` and `{context}` in it.
    :raises ValueError: when `max_items` is below 1, or the template has other fields.
    """

    def __init__(
        self,
        max_items: int = 5,
        template: str = "{query}\n\nConversation context: {context}",
    ) -> None:
        if max_items < 1:
            raise ValueError(f"max_items must be at least 1, not {max_items}")
        try:
            template.format(query="", context="")
        except (LookupError, AttributeError, ValueError) as error:
            message = f"the template may hold {{query}} and {{context}} alone: {template!r}"
            raise ValueError(message) from error
        self.max_items, self.template = max_items, template

    def enrich(self, query: str, context_items: list[ContextItem]) -> str:
        """Return the query with the newest items, oldest first; without items that say
        anything as it is."""
        said_items = [item for item in context_items if item.content.strip()]
        if not said_items:
            return query
        newest = sorted(said_items, key=lambda item: item.created_at)[-self.max_items :]
        said = "; ".join(item.content for item in newest)
        return self.template.format(query=query, context=said)

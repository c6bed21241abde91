"""The last step of a plan: the tags near its own, and the fields that its words mean.

All of it comes from the index and the settings, so that the same query gives the same names
however a model puts them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from rag.query.planner.plan import FullTransformationResult
from rag.query.planner.rules.field_synonyms import field_words
from rag.query.planner.rules.name_resolver import Resolver
from rag.query.planner.rules.shared_patterns import EXAMINED
from rag.query.planner.rules.unwanted_words import wanted_words
from rag.text.normalize import name_key
from rag.text.scripts import KATAKANA

_MOST_EXPANSIONS = 8
_PER_TAG = 5


class Normaliser:
    """Binds a plan to the names of the index.

    :param neighbours: tags that go together, by tag; those of the index that stand together come
        after them.
    :param fields: words that mean a front matter field, by field.
    """

    def __init__(
        self,
        resolver: Resolver,
        neighbours: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        self._resolver = resolver
        self._neighbours = {name_key(tag): tuple(near) for tag, near in (neighbours or {}).items()}
        self._meant = fields

    def __call__(self, plan: FullTransformationResult) -> FullTransformationResult:
        """Return the plan with expansions and fields."""
        read = plan.metadata
        near = self.expand([*read.all_tags, *read.tags])
        fields = dict.fromkeys(
            [*read.fields, *read.values, *self.columns(wanted_words(plan.query))]
        )
        return plan.model_copy(
            update={
                "expansions": [tag for tag in near if tag not in read.excluded_tags],
                "mapped_physical_columns": list(fields),
            }
        )

    def expand(self, tags: Sequence[str]) -> list[str]:
        """Return tags of the index near others: first those the settings name, then those that
        notes have beside them; at most 8."""
        catalogue, near = self._resolver.catalogue, []
        for tag in tags:
            configured = self._neighbours.get(name_key(tag), ())
            named = (self._resolver.tag(name, alike=False) for name in configured)
            near += [found.name for found in named if found]
        for tag in tags:
            near += catalogue.neighbours(tag, _PER_TAG)[:_PER_TAG]
        taken = set(tags)
        return [tag for tag in dict.fromkeys(near) if tag not in taken][:_MOST_EXPANSIONS]

    def columns(self, query: str) -> list[str]:
        """Return the front matter fields of the index that the words of a query mean."""
        text = name_key(query[:EXAMINED])
        words = field_words(self._resolver, self._meant)
        found = [fields for word, fields in words.items() if _says(text, word)]
        return list(dict.fromkeys(chain.from_iterable(found)))


def _says(text: str, word: str) -> bool:
    """Return whether a text holds a word, as a word: Latin letters and katakana end where others
    begin."""
    if word not in text:
        return False
    kind = f"[{KATAKANA}]" if re.match(f"[{KATAKANA}]", word) else "[a-z0-9]"
    before = f"(?<!{kind})" if re.match(kind, word) else ""
    after = f"(?!{kind})" if re.search(f"{kind}$", word) else ""
    return re.search(f"{before}{re.escape(word)}{after}", text) is not None

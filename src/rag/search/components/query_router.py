"""Routes: a classifier says which vaults, mode and transforms are right for a query."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from haystack import component

from rag.clients.factory import chat_provider, embedding_provider
from rag.clients.protocols import EmbeddingProvider
from rag.config import ModelsConfig, OllamaConfig, RoutesConfig, models_config
from rag.exceptions import ConfigError, RAGError, UsageError
from rag.index.embedding_space import maker, read_embedded
from rag.index.vault_registry import unknown_vault
from rag.query.classifiers import EmbeddingClassifier, KeywordClassifier, cosine_similarity
from rag.query.models import QueryBundle
from rag.query.registry import canonical, classifier_names, create_classifier, unknown_name
from rag.search.components import SearchComponent
from rag.search.components.query_expander import configured_transforms
from rag.search.filters import all_of, build_qdrant_filters
from rag.search.query import Query
from rag.search.results import QueryFilters
from rag.stores.base.document_store import BaseDocumentStore

KEYWORD, EMBEDDING = "keyword", "embedding"
EXAMPLES = "routes.sqlite3"  # beside the index: vectors of the rules' examples
_MOST_EXAMPLES = 10_000


@component
class QueryRouter(SearchComponent):
    """Choose a query's route. What the user chose wins over it, and it over configured defaults.

    :param keep_transforms: let no route change the transforms.
    :raises ConfigError: for a classifier, or a transform of a route, that does not exist.
    """

    def __init__(
        self,
        document_store: BaseDocumentStore,
        routes: RoutesConfig | dict[str, Any] | None = None,
        config: ModelsConfig | OllamaConfig | None = None,
        keep_transforms: bool = False,
    ) -> None:
        self.document_store, self.keep_transforms = document_store, keep_transforms
        self.config = models_config(config)
        given = RoutesConfig(**routes) if isinstance(routes, dict) else routes
        self.routes = given or RoutesConfig()
        check_routes(self.routes)
        self._classifier: Any = None
        self._generator: Any = None  # that of a plug-in's classifier

    @cached_property
    def embeddings(self) -> EmbeddingProvider:
        """Who makes vectors; other classifiers do without."""
        made_by = maker(read_embedded(self.document_store.manifest()))
        return embedding_provider(self.config, made_by)

    @component.output_types(query=Query)
    def run(self, query: Query) -> dict[str, Query]:
        """Return the `query` with its route, and what comes of that: its mode, transforms and
        vaults, as far as the user chose none; its embedding if one was made.

        :raises ConfigError: for a route with a vault that is not in the index.
        """
        if not query.text:  # a query of filters alone takes no route
            return {"query": query}
        if manifest := self.document_store.manifest():
            vaults = list(manifest.vaults())
            for label, rule in self.routes.rules.items():
                for name in [n for n in rule.get("vaults", []) if n not in vaults]:
                    raise _wrong(f"routes.rules.{label}", unknown_vault(name, vaults))
        embedding, notice = None, ""
        try:
            route, embedding = self._classify(query.meant)
        except RAGError as error:
            route, notice = self.routes.default, error.as_notice("the query was not classified: ")
        except Exception as error:  # a plug-in's
            route, notice = self.routes.default, f"the query was not classified: {error!r}"
        rule = self.routes.rules.get(route, {})
        changes: dict[str, Any] = {"route": route, "embedding": embedding}
        if not query.keep_mode:
            changes["mode"] = rule.get("mode", query.mode)
        if not self.keep_transforms:
            changes["transforms"] = rule.get("transforms")
        if rule.get("vaults") and not query.vaults:
            where = build_qdrant_filters(QueryFilters(vaults=rule["vaults"]))
            changes["filters"] = all_of([query.filters, where])
        return {"query": query.noting(notice, **changes)}

    def close(self) -> None:
        """Close all connections; `run` opens them again."""
        if "embeddings" in vars(self):
            self.embeddings.close()
        if self._generator is not None:
            self._generator.close()

    def _classify(self, text: str) -> tuple[str, list[float] | None]:
        routes = self.routes
        if routes.classifier == EMBEDDING:
            return self._by_meaning(text)
        if self._classifier is None and routes.classifier == KEYWORD:
            rules = {label: rule.get("keywords", []) for label, rule in routes.rules.items()}
            self._classifier = KeywordClassifier(rules, routes.default)
        elif self._classifier is None:
            chat = chat_provider(self.config)
            if self._generator is None and chat.is_configured:
                self._generator = chat.generator(seconds=self.config.ollama.transform_timeout)
            self._classifier = create_classifier(routes.classifier, self._generator)
        label: str = self._classifier.classify(QueryBundle(query_str=text))
        return (label if label in routes.rules else routes.default), None

    def _by_meaning(self, text: str) -> tuple[str, list[float]]:
        self.embeddings.check_listening()
        if self._classifier is None:
            self._classifier = EmbeddingClassifier(self._centroids())
        [vector] = self.embeddings.embed_query([text])
        assert vector
        label = self._classifier.classify(QueryBundle(query_str=text, embedding=vector))
        near = cosine_similarity(vector, self._classifier.centroids[label])
        return (label if near >= self.routes.min_similarity else self.routes.default), vector

    def _centroids(self) -> dict[str, list[float]]:
        """Return the mean vector of each rule's examples; those known are read from disk."""
        import numpy as np

        from rag.index.embedding_space import VectorCache

        examples = {
            label: rule["examples"]
            for label, rule in self.routes.rules.items()
            if rule.get("examples")
        }
        texts = list(dict.fromkeys(text for some in examples.values() for text in some))
        made = self.embeddings.identity()
        space = f"{made.name} {made.digest} {made.query_prefix}"
        with VectorCache(Path(self.document_store.path).parent / EXAMPLES) as cache:
            vectors = cache.get(space, texts)
            if missing := [text for text in texts if text not in vectors]:
                embedded = zip(missing, self.embeddings.embed_query(missing), strict=True)
                fresh = {text: vector for text, vector in embedded if vector}
                cache.put(space, fresh)
                cache.trim(space, _MOST_EXAMPLES)
                vectors |= cache.get(space, fresh)
        by_label = {
            label: [vectors[text] for text in some if text in vectors]
            for label, some in examples.items()
        }
        return {label: np.mean(rows, axis=0).tolist() for label, rows in by_label.items() if rows}


def check_routes(routes: RoutesConfig) -> None:
    """Make sure that the classifier and the transforms of all routes exist.

    :raises ConfigError: which names the setting.
    """
    wanted, names = routes.classifier, [KEYWORD, EMBEDDING]
    if wanted not in names:
        names += classifier_names()
        if canonical(wanted) not in names:
            raise _wrong("routes.classifier", unknown_name("classifier", wanted, names))
    for label, rule in routes.rules.items():
        configured_transforms(rule.get("transforms", []), f"routes.rules.{label}")


def _wrong(setting: str, error: UsageError) -> ConfigError:
    return ConfigError(f"{setting}: {error.message}", hint=error.hint)

"""Pipelines of questions as they come out of YAML, also with another chat generator in it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import yaml
from haystack import Pipeline
from haystack.core.serialization import component_to_dict

from index_fixtures import open_pipeline
from rag.config import OllamaConfig, RAGConfig
from rag.pipelines import create_qa_pipeline


@contextmanager
def loaded(dumped: str, *modules: str) -> Iterator[Pipeline]:
    """Load a pipeline, and close it with its store."""
    pipeline = Pipeline.loads(dumped, allowed_modules=["rag", "haystack", *modules])
    with closing(pipeline), closing(pipeline.get_component("retriever").document_store):
        yield pipeline


@contextmanager
def pipeline_of(
    index: RAGConfig, url: str = "", generator: Any = None, **how: Any
) -> Iterator[Pipeline]:
    """Give the pipeline from its YAML; another generator stands in it if there is one."""
    ollama = OllamaConfig(url=url or "http://127.0.0.1:9", enabled=bool(url or generator))
    with open_pipeline(create_qa_pipeline, index, replace(index, ollama=ollama), **how) as made:
        dumped = made.dumps()
    if generator:
        document = yaml.safe_load(dumped)
        other = component_to_dict(generator, "chat_generator")
        document["components"]["chat_generator"] = other
        dumped = yaml.safe_dump(document)
    with loaded(dumped, type(generator).__module__) as pipeline:
        yield pipeline

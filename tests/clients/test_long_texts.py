"""Texts that are longer than an embedding model reads: what they cost, and which vectors."""

from collections.abc import Callable, Iterator
from math import hypot
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedding_calls import batches_of
from ollama_models import count
from ollama_server import Model, OllamaServer
from property_examples import examples
from rag.clients.batch_embedder import LEAST_WINDOW, halves, windows
from rag.config import OllamaConfig
from rag.text.token_estimate import count_tokens

Settings = Callable[..., OllamaConfig]
CONTEXT = 128
MODEL = Model("small", dimension=16, context=CONTEXT)
# Three characters a token for the test server's models, five by our estimate.
DENSE = " ".join(f"unpronounceable{n}" for n in range(30))
LONG = " ".join(f"Rolling back{' a deploy' * (n % 5)} takes {n} minutes." for n in range(40))
JAPANESE = "".join(f"証明書{n}は毎年三月に更新する。{'手順は' * (n % 4)}次。" for n in range(25))


@pytest.fixture
def small() -> Iterator[OllamaServer]:
    with OllamaServer([MODEL]) as running:
        yield running


@pytest.fixture
def config(small, settings) -> OllamaConfig:
    return settings(url=small.url, embedding_model="small")


def embed(texts: list[str], config: OllamaConfig, **more: Any) -> list[list[float]]:
    """Return the vectors in the order of the texts."""
    given = {"limit": CONTEXT} | more
    batches = [*batches_of(texts, config, **given)]
    assert not [failure for batch in batches for failure in batch.failures]
    made = dict(pair for batch in batches for pair in batch.vectors)
    return [made[position] for position in range(len(texts))]


def unit_mean(parts: list[str]) -> list[float]:
    """Return the mean of the parts' vectors, weighted by their lengths, at length 1."""
    columns = zip(*map(MODEL.vector, parts), strict=True)
    sums = [sum(n * len(p) for n, p in zip(column, parts, strict=True)) for column in columns]
    return [value / hypot(*sums) for value in sums]


@pytest.mark.parametrize("text", [LONG, JAPANESE])
def test_a_text_cut_into_windows_has_their_mean_by_length(config, text):
    parts = windows(text, 64 - 8)
    assert len({len(part) for part in parts}) > 1
    assert embed([text], config, limit=64)[0] == pytest.approx(unit_mean(parts), abs=1e-6)


def test_a_window_that_is_refused_is_halved_and_its_halves_count_by_their_lengths(config):
    def fitting(text: str) -> list[str]:
        if count(text) <= CONTEXT - 2:
            return [text]
        return [part for half in halves(text) for part in fitting(half)]

    text = f"{DENSE} {DENSE.upper()}"
    cut = windows(text, CONTEXT - 8)
    parts = [part for window in cut for part in fitting(window)]
    assert len(parts) > len(cut)
    assert embed([text], config)[0] == pytest.approx(unit_mean(parts), abs=1e-6)


def test_white_space_without_end_is_cut_off_and_fails_no_text(small, config):
    text = "holds" + " " * 300 + DENSE
    vector = embed([text], config)[0]
    assert hypot(*vector) == pytest.approx(1)
    assert "".join("".join(small.computed()).split()) == "".join(text.split())


LETTERS = "aB9 .\n、。証明書の更新ёش😀"
TEXTS = st.one_of(st.text(LETTERS, min_size=1, max_size=600), st.text(min_size=1, max_size=300))


@settings(max_examples=examples(400))
@given(text=TEXTS, limit=st.integers(30, 200))
def test_windows_are_the_text_in_its_order_and_none_is_too_long(text, limit):
    if not text.strip():
        return
    found = windows(text, limit)
    at = 0
    for window in found:
        assert count_tokens(window) <= limit or len(window) < 2 * LEAST_WINDOW
        start = text.index(window, at)
        assert not text[at:start].strip()  # nothing but white space is left out
        at = start + len(window)
    assert not text[at:].strip()

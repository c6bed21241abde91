"""The document side of BM25: `encode_documents`, beside a slow reference that says what it does."""

import math
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.text import bm25_documents as encoding
from rag.text.bm25 import (
    AVERAGE_WORDS,
    CHARACTERS_PER_WORD,
    GRAMS,
    K1,
    LEXICAL_VERSION,
    B,
    SparseVector,
    edge,
    edge_dimension,
    word_dimension,
)
from rag.text.bm25_documents import encode_documents
from rag.text.ngrams import UNSEGMENTED, hash_gram, weigh_grams
from rag.text.tokenizer import MAX_WORD, SPACED_WORD, cleaned, fold_accents, stem

ENGLISH = "a an the apple Linking links administration administer Maria's it’s C++ c# F# x_y 3.14"
JAPANESE = "2024年 日本語 サーバー ﾌﾟﾗｸﾞ か\u3099 のは です 々 〇 𠮷 図書館 ＰＤＦ"
OTHERS = "数据库 한국어 도서관 ᄒ\u1161 ภาษาไทย ห้องสมุด ខ្មែរ привет ёлка БИБЛИОТЕКА हिन्दी مَكتبة"
MARKED = "café Über naïveté tiếng İstanbul ẞ ﬁ e\u0301 🎉 👩\u200d💻"
ODD = [" ", "\n", "\u3000", "\x00", "\ud800", "\udc00", "'s", "_", "-", "。", "\u0301", "\u200b"]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(" ".join((ENGLISH, JAPANESE, OTHERS, MARKED)).split(" ")),
        st.sampled_from(ODD),
        st.sampled_from([" ", "x" * 70]),
        st.characters(exclude_categories=()),
    ),
    max_size=25,
).map("".join)
BATCHES = st.lists(TEXTS, max_size=6)


def parts(text: str) -> list[str]:
    """Spaced text and runs of unsegmented text by turns, spaced text first."""
    return re.split(f"([{UNSEGMENTED}]+)", cleaned(text))


def loan_words(run: str) -> list[str]:
    """Three characters of katakana or more; a long vowel mark begins none."""
    katakana = re.findall("[ァ-ヺー]+", run)
    return [word for word in (one.lstrip("ー") for one in katakana) if len(word) >= 3]


def reference(text: str) -> dict[int, float]:
    """What a text's vector is, one term after another."""
    counts: Counter[int] = Counter()
    length = 0.0
    for spaced in parts(text)[::2]:  # a run parts the words beside it
        found = re.findall(SPACED_WORD, spaced)
        counts.update(word_dimension(stem(word)) for word in found)
        firsts = (edge(fold_accents(word[:MAX_WORD])) for word in found)
        counts.update(edge_dimension(first) for first in firsts if first)
        length += len(found)
    for run in parts(text)[1::2]:
        counts.update(GRAMS | hash_gram(gram.text) for gram in weigh_grams(run))
        counts.update(word_dimension(loan) for loan in loan_words(run))
        length += len(run) / CHARACTERS_PER_WORD
    k = K1 * (1 - B + B * length / AVERAGE_WORDS)
    return {dimension: tf * (K1 + 1) / (tf + k) for dimension, tf in counts.items()}


def encode(*texts: str) -> list[SparseVector]:
    return encode_documents(texts).vectors


def words(*texts: str) -> list[str]:
    return encode_documents(texts).words


def as_dict(vector: SparseVector) -> dict[int, float]:
    return dict(zip(vector.indices, vector.values, strict=True))


def is_reference(vector: SparseVector, text: str) -> bool:
    return as_dict(vector) == pytest.approx(reference(text), rel=1e-12)


@settings(max_examples=examples(200))
@given(TEXTS)
def test_a_vector_is_the_references(text):
    assert is_reference(encode(text)[0], text)


@settings(max_examples=examples(100))
@given(BATCHES, st.randoms(use_true_random=False), st.integers(1, 4))
def test_order_and_size_of_batches_do_not_matter(texts, random, size):
    expected = encode(*texts)
    order = random.sample(range(len(texts)), len(texts))
    with patch.object(encoding, "_BATCH", size):
        shuffled = encode_documents([texts[at] for at in order])
    assert shuffled.words == words(*texts)
    assert shuffled.vectors == [expected[at] for at in order]


def weight(term: int, text: str) -> float:
    return as_dict(encode(text)[0])[term]


def test_the_weight_of_a_term_is_bm25s():
    length = 10
    k = 0.5 * (1 - 0.7 + 0.7 * length / 120)
    apples = weight(word_dimension("appl"), "apple " * 3 + "pear " * 7)
    assert apples == pytest.approx(3 * (0.5 + 1) / (3 + k))


# ---- what the encoder remembers


@settings(max_examples=examples(100))
@given(st.lists(BATCHES, min_size=1, max_size=4))
def test_what_was_encoded_before_changes_no_vector(batches):
    encoding._dimensions.cache_clear()
    alone = []
    for texts in batches:
        alone.append(encode_documents(texts))
        encoding._dimensions.cache_clear()
    assert [encode_documents(texts) for texts in batches] == alone


# ---- threads


def test_threads_share_what_is_remembered():
    texts = [
        [f"word{(7 * thread + at) % 90} shared 第{at}回サーバー" for at in range(60)]
        for thread in range(2)
    ]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(encode_documents, texts)) == [encode_documents(t) for t in texts]


def test_no_vector_changes_without_the_version():
    """An index made by an older program is read by this one as long as the version is the same.

    When this fails, raise LEXICAL_VERSION and write the new numbers here.
    """
    text = "Maria's linked C++ notes: administration, café. 図書館でサーバーを使います。도서관 แมว"
    vector = encode(text)[0]
    dimensions = sum((at + 1) * index for at, index in enumerate(sorted(vector.indices)))
    values = round(math.fsum(vector.values), 9)
    assert (LEXICAL_VERSION, len(vector.indices), dimensions, values) == (
        *(8, 30, 616613323606, 37.943553109),
    )

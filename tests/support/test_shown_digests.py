"""Digests of models as people are shown them."""

from hypothesis import given
from hypothesis import strategies as st

from rag.support.vector_digest import digest_of, shortened

VECTORS = [[1.0, float(row), 0.5] for row in range(4)]


def test_vectors_are_shown_as_a_short_hash_after_the_version():
    version, _, shown = shortened(digest_of(VECTORS, "0.3.0")).partition("~")
    assert version == "0.3.0" and len(shown) == 12 and int(shown, 16)


@given(st.text("0123456789abcdef", max_size=64) | st.just("0.3.0"))
def test_a_digest_of_weights_is_shown_as_it_is(digest):
    assert shortened(digest) == digest

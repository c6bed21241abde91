"""What a model makes of texts on anything, against which nearness is measured."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from property_examples import examples
from rag.index.embedding_space import Background, background_texts

COUNT = len(background_texts().passages)
NUMBERS = st.floats(-1, 1, width=32)
ROWS = arrays.arrays(np.float32, (4, 8), elements=NUMBERS).map(lambda rows: rows + np.eye(4, 8) * 4)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def background(seed: int = 1) -> Background:
    chance = np.random.default_rng(seed)
    return Background.of([*chance.normal(1, 1, (20, 8))], [*chance.normal(1, 1, (COUNT, 8))])


@settings(max_examples=examples(100))
@given(ROWS)
def test_to_ask_with_the_leveled_vector_takes_half_of_each_level_off(rows):
    made, query, texts = background(), rows[0], unit(rows[1:])
    questions = unit(np.random.default_rng(1).normal(1, 1, (20, 8)))
    wanted = texts @ unit(query) - 0.5 * (texts @ questions.T).mean(axis=1)
    found = texts @ np.array(made.leveled(query))
    assert np.allclose(unit(found), unit(wanted), atol=1e-3)


def test_a_text_that_is_nearer_to_the_query_has_more_excess():
    made, query = background(), np.ones(8)
    near, far = [query.tolist()], [(-query).tolist()]
    assert made.excess(query, near, "text") > made.excess(query, far, "text")
    assert made.excess(query, near + far, "text") == made.excess(query, near, "text")


def test_a_text_is_compared_with_passages_in_its_script():
    rows = np.tile(-np.ones(8), (COUNT, 1))
    is_japanese = [script == "ja" for script in background_texts().scripts]
    rows[is_japanese] = np.ones(8)
    made = Background.of([np.eye(8)[0]], [*rows])
    sentences, query = [np.ones(8).tolist()], np.ones(8)
    assert made.excess(query, sentences, "日本語の文") < made.excess(query, sentences, "English")
    assert made.excess(query, sentences, "ไทย") == made.excess(query, sentences, "English")


def test_it_is_kept_in_a_byte_a_number():
    made = background()
    dumped = made.dumped()
    again = Background.loaded(dumped)
    assert len(dumped) == 8 * (4 + COUNT)
    assert np.array_equal(again.level, made.level)
    assert (again.passages * made.passages).sum(axis=1).min() > 0.999

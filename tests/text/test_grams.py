"""What stands in for words where no space parts them: `weigh_grams`, `hash_gram`, `hash_grams`."""

import re
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.text.ngrams import (
    HIRAGANA,
    IDEOGRAPHS,
    KATAKANA,
    LETTERS,
    UNSEGMENTED,
    hash_gram,
    hash_grams,
    script_table,
    weigh_grams,
)
from tables import rows

RUN = re.compile(f"[{UNSEGMENTED}]+")
SCRIPTS = {
    IDEOGRAPHS: "々〇㐀䶿一漢鿿豈가한힣ᄀ\u11ff𠀀𠮷\U0003134e",
    HIRAGANA: "ぁあんゖゝゞゟ",
    KATAKANA: "ァアンヴヺーヽヿㇰㇿ",
    LETTERS: "กำ๛ກໜကႏក៹",
    0: "aZé9яΩע ـ。、・「\u3099゛゠\u3008\x00\n🎉\ud800ｱ＠",
}
CHARACTERS = "".join(SCRIPTS.values())
ANY_TEXT = st.text(
    st.one_of(st.sampled_from(CHARACTERS), st.characters(exclude_categories=())), max_size=40
)


@rows("char, script", [(char, script) for script, chars in SCRIPTS.items() for char in chars])
def test_the_table_knows_how_a_characters_script_is_read(char, script):
    assert script_table()[ord(char)] == script
    assert bool(RUN.match(char)) == bool(script)


@rows(
    "run, expected",
    # An ideograph says something by itself, two of them are most often a word.
    ("北海道", {"北": 0.3, "海": 0.3, "道": 0.3, "北海": 0.5, "海道": 0.5}),
    ("한국어", {"한": 0.3, "국": 0.3, "어": 0.3, "한국": 0.5, "국어": 0.5}),
    # A katakana says nothing by itself.
    ("サーバ", {"サー": 0.5, "ーバ": 0.5}),
    # Hiragana are particles and endings, until three stand together.
    ("これは", {"これ": 0.05, "れは": 0.05, "これは": 0.3}),
    # Thai, Lao, Myanmar and Khmer are letters.
    ("แมว", {"แม": 0.05, "มว": 0.05, "แมว": 0.3}),
    ("ខ្មែ", {"ខ្": 0.05, "្ម": 0.05, "មែ": 0.05, "ខ្ម": 0.3, "្មែ": 0.3}),
    # A kanji and its ending are of one word, and a polite prefix and its kanji.
    ("食べる", {"食": 0.3, "食べ": 0.15, "べる": 0.05}),
    ("ご飯", {"飯": 0.3, "ご飯": 0.5}),
    # Any other pair of two scripts is more often a seam than a word.
    ("おチャと犬", {"チャ": 0.5, "犬": 0.3}),
    ("新メニ", {"新": 0.3, "メニ": 0.5}),
    # What stands alone, or two by themselves, is a word to whoever wrote it so.
    ("の", {"の": 0.3}),
    ("ア", {"ア": 0.3}),
    ("北", {"北": 0.3}),
    ("ああ", {"ああ": 0.5}),
    ("東京", {"東": 0.3, "京": 0.3, "東京": 0.5}),
    ("月と", {"月": 0.3, "月と": 0.5}),
)
def test_a_gram_weighs_what_its_script_says(run, expected):
    found = weigh_grams(run)
    assert {gram.text: gram.weight for gram in found} == expected
    assert len(found) == len(expected)


@rows(
    "gram, expected",
    *(("の", 206906034), ("同期", 310827540), ("ですか", 309759060), ("𠮷", 233488212)),
)
def test_the_hash_of_a_gram_is_what_the_indexes_on_disk_were_made_with(gram, expected):
    assert hash_gram(gram) == expected


@settings(max_examples=examples(300))
@given(st.lists(ANY_TEXT, max_size=4))
def test_many_texts_at_once_give_the_grams_of_each_run(texts):
    joined = "\n".join(["", *texts, ""])
    codes = np.array([ord(char) for char in joined or "\n"], np.uint32)
    hashes, starts, in_run = hash_grams(codes)
    assert Counter(hashes.tolist()) == Counter(
        hash_gram(gram.text) for run in RUN.findall(joined) for gram in weigh_grams(run)
    )
    assert all(in_run[starts])
    assert in_run.tolist() == [bool(RUN.match(char)) for char in joined]

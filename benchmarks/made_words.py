"""Made-up words, English and Japanese, as frequent as words are in real notes.

The r-th most frequent content word comes about as often as 1/r, without end, so that new ones keep
coming however long the text grows; each note has a few words of its own subject that it repeats.
Function words are real ones.
"""

import random
from functools import lru_cache
from itertools import accumulate
from math import exp, log

LEMMAS = 60_000
_SUBJECT = 24  # words that a note keeps coming back to
_SUBJECT_SHARE = 0.4
_NUMBERS = 0.02


def _listed(words: str) -> list[str]:
    return words.split()


_FUNCTION_WORDS = _listed(
    "the of and to a in is for that it with as on was be by are this from or at an have not but "
    "which has can you we if they when all one will were been their more there so what would its "
    "no about into than them only other some could time these two then do first any now such like "
    "our over new after also most should because where who how before through between each must "
    "while same under again since both during without against until"
)
_FUNCTION_WEIGHTS = list(accumulate(1 / (rank + 1.5) for rank in range(len(_FUNCTION_WORDS))))
_ONSETS = _listed("b c d f g h l m n p r s t v w br ch cl cr dr fl gr pl pr sh sp st th tr qu")
_NUCLEI = _listed("a e i o u a e i o u a e i o ea ou")
_CODAS = _listed("n r s t l m d ck nd nt st n r s t")
_ENDINGS = ["", "", "", "", "", "s", "s", "ed", "ing", "er", "ly", "ion"]

# The kanji that most characters of plain texts are of, then those of the first level of JIS.
_COMMON_KANJI = (
    "日一人年大本中国会行月出時事上生間者部見自合場地業分長同手前方学社前後入力用的作定明"
    "情報設計開発運用試験環境接続記録変更管理障害対応手順確認資料議予目標機能構成基盤監視通信"
)
_KATAKANA = "アイウエオカキクケコサシスセソタチテトナニネノハヒフヘホマミムメモラリルレロワン"
_PARTICLES = _listed(
    "の に を は が で と も から まで より には では へ や として による について"
)
_PARTICLE_WEIGHTS = list(accumulate(1 / (rank + 1.5) for rank in range(len(_PARTICLES))))
_VERB_ENDINGS = _listed(
    "する した している します しました される された である です であった ない ある いる なる "
    "なった できる していた しない ました ことができる 必要がある かもしれない ようにする "
    "ことになった と思われる くなる めている っている てください ではない からである ものとする"
)
_JOINERS = _listed("また、 その この それで さらに、 ただし、 そのため、 これらの まず")


class Subject:
    """What one note is about: draws words for it from `rng`."""

    def __init__(self, rng: random.Random, japanese: bool) -> None:
        self._rng, self._japanese = rng, japanese
        self._own = [_rank(rng) for _ in range(_SUBJECT)]

    def words(self, count: int) -> list[str]:
        """Return content words."""
        rng = self._rng
        word = japanese_word if self._japanese else english_word
        found = []
        for _ in range(count):
            chance = rng.random()
            if chance < _SUBJECT_SHARE:
                rank = self._own[int(_SUBJECT * rng.random() ** 2)]
            elif chance > 1 - _NUMBERS:
                found.append(str(int(10 ** (rng.random() * 5))))
                continue
            else:
                rank = _rank(rng)
            found.append(word(rank))
        return found

    def sentences(self, count: int) -> list[str]:
        """Return sentences, with their full stops."""
        sentence = self._japanese_sentence if self._japanese else self._english_sentence
        return [sentence() for _ in range(count)]

    def _english_sentence(self) -> str:
        rng = self._rng
        count = rng.randint(3, 11)
        function = rng.choices(_FUNCTION_WORDS, cum_weights=_FUNCTION_WEIGHTS, k=count)
        words = []
        for small, word in zip(function, self.words(count), strict=True):
            chance = rng.random()
            if chance < 0.85:
                words.append(small)
            words.append(word if chance > 0.35 else word + rng.choice(_ENDINGS))
        words[0] = words[0].capitalize()
        return " ".join(words) + "."

    def _japanese_sentence(self) -> str:
        rng = self._rng
        count = rng.randint(2, 6)
        particles = rng.choices(_PARTICLES, cum_weights=_PARTICLE_WEIGHTS, k=count)
        particles[-1] = rng.choice(_VERB_ENDINGS)
        parts = [
            word + particle for word, particle in zip(self.words(count), particles, strict=True)
        ]
        if count > 3:
            parts[rng.randint(1, 2)] += "、"
        if rng.random() < 0.3:
            parts.insert(0, rng.choice(_JOINERS))
        return "".join(parts) + "。"


def _rank(rng: random.Random) -> int:
    # The inverse of the sum of 1/r, a little flatter at the front, as with content words.
    return int(exp(rng.random() * log(LEMMAS / 5 + 1)) * 5) - 5


@lru_cache(maxsize=LEMMAS)
def english_word(rank: int) -> str:
    """Return the word of a rank, always the same one."""
    rng = random.Random(rank)
    syllables = 1 + (rng.random() < 0.7) + (rank > 300 and rng.random() < 0.3)
    return "".join(
        rng.choice(_ONSETS)
        + rng.choice(_NUCLEI)
        + (rng.choice(_CODAS) if rng.random() < 0.5 else "")
        for _ in range(syllables)
    )


@lru_cache(maxsize=LEMMAS)
def japanese_word(rank: int) -> str:
    """Return the word of a rank: kanji mostly, or katakana."""
    rng = random.Random(-rank - 1)
    chance = rng.random()
    if chance < 0.2:
        return "".join(rng.choices(_KATAKANA, k=rng.randint(2, 4))) + rng.choice(
            ["ー", "ン", "", ""]
        )
    length = 1 if chance < 0.35 else 2 if chance < 0.85 else 3
    kanji = _kanji()
    return "".join(kanji[int(len(kanji) * rng.random() ** 4)] for _ in range(length))


@lru_cache(maxsize=1)
def _kanji() -> str:
    rows, cells = range(0xB0, 0xCF), range(0xA1, 0xFF)
    level = [bytes((row, cell)).decode("euc_jp") for row in rows for cell in cells]
    random.Random(1).shuffle(level)
    return "".join(dict.fromkeys(_COMMON_KANJI + "".join(level)))[:2200]

"""Generated vaults for the benchmarks: plausible notes, the same ones every time."""

from __future__ import annotations

import random
from itertools import accumulate
from pathlib import Path

_SYLLABLES = [a + b for a in "kbdfglmnprstvz" for b in "aeiou"]
_KANJI = (
    "情報設計開発運用試験環境接続記録変更管理障害対応手順確認資料"
    "会議予定目標機能構成基盤監視通信認証保存検索文書項目結果原因影響期間連絡共有担当部署計画予算契約"
)
_KANA = "のをにはがとでもからまでよりした するして いる ある なる こと ため とき".replace(" ", "")
_KATAKANA = [
    "サーバー",
    "データ",
    "ログ",
    "テスト",
    "クラスタ",
    "ノート",
    "ファイル",
    "タグ",
    "リンク",
]


def make_vault(root: Path, notes: int, megabytes: float, seed: int = 7) -> None:
    """Write `notes` notes of `megabytes` in all, half English, half Japanese, in folders of 100."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(_SYLLABLES, k=rng.choice((1, 2, 2, 3)))) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))  # Zipf's law
    terms = [_japanese_term(rng) for _ in range(20_000)]
    size = int(megabytes * 1e6 / notes)
    for number in range(notes):
        folder = root / f"{number // 100:03}"
        folder.mkdir(parents=True, exist_ok=True)
        target = max(200, int(rng.lognormvariate(0, 0.6) * size * 0.835))
        if number % 2:
            text = _note(rng, words, weights, " ", ". ", target, f"Note {number}")
        else:
            text = _note(rng, terms, weights, "", "。", target, f"ノート {number}")
        (folder / f"note {number}.md").write_text(text, "utf-8")


def _japanese_term(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return rng.choice(_KATAKANA) + rng.choice(_KANA)
    return "".join(rng.choices(_KANJI, k=rng.choice((1, 2, 2)))) + rng.choice(_KANA)


def _note(
    rng: random.Random,
    vocabulary: list[str],
    weights: list[float],
    space: str,
    stop: str,
    size: int,
    title: str,
) -> str:
    created = f"2025-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    tags = ", ".join(rng.sample(["work", "idea", "project/alpha", "project/beta", "日記"], 2))
    parts = [f"---\ntitle: {title}\ntags: [{tags}]\ncreated: {created}\n---\n"]
    written = len(parts[0])
    while written < size:
        heading = space.join(rng.choices(vocabulary, cum_weights=weights, k=3))
        body = stop.join(
            space.join(rng.choices(vocabulary, cum_weights=weights, k=rng.randint(6, 18)))
            for _ in range(rng.randint(3, 12))
        )
        part = f"\n## {heading}\n\n{body}{stop}\n"
        parts.append(part)
        written += len(part.encode())
    return "".join(parts)

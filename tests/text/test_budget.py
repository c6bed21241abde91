"""How many tokens a text is worth: `count_tokens`, beside the counts of a real tokenizer.

The counts were made by Mistral Nemo's tokenizer ("tekken", tekken_240911.json of the package
mistral-common). No tokenizer is needed to run these tests.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from property_examples import examples
from rag.text.token_estimate import WEIGHTS, count_tokens
from tables import rows

TEXTS = {
    "english": [
        (
            "The meeting moved to Thursday because the room was taken. Please bring last month's "
            "figures, and tell Maria that the invoice from the printer has arrived.",
            30,
        ),
        (
            "Sourdough wants patience: feed the starter twice, wait until it doubles, then mix "
            "flour, water and salt. Fold the dough every half hour and bake it in a very hot oven.",
            40,
        ),
        (
            "# Release checklist\n\n- [ ] Update the changelog\n- [ ] Tag the commit\n- [x] "
            "Ask Tom about the *deployment window*\n\n"
            "See [[Release process#Rollback]] when something breaks.",
            45,
        ),
    ],
    "japanese": [
        (
            "会議は木曜日に変更になりました。部屋が埋まっていたためです。先月の数字を持ってきてください。"
            "印刷会社からの請求書が届いたことも、田中さんに伝えておいてください。",
            56,
        ),
        (
            "パン種は二回育てます。倍に膨らむまで待ち、小麦粉、水、塩を混ぜます。"
            "三十分ごとに生地を折りたたみ、とても熱いオーブンで焼き上げます。",
            62,
        ),
        (
            "# リリースの手順\n\n- [ ] 変更履歴を更新する\n- [ ] コミットにタグを付ける\n"
            "- [x] デプロイの時間帯について鈴木さんに聞く\n\n"
            "問題が起きたら [[リリース手順#ロールバック]] を見ること。",
            73,
        ),
    ],
    "code": [
        (
            'def area(width: float, height: float) -> float:\n    """Return the area."""\n'
            '    if width < 0 or height < 0:\n        raise ValueError("negative")\n'
            "    return width * height\n",
            44,
        ),
        (
            'services:\n  db:\n    image: postgres:16\n    ports:\n      - "5432:5432"\n'
            "    environment:\n      POSTGRES_PASSWORD: example\n",
            40,
        ),
    ],
    "mixed": [
        (
            "Docker の volume を削除するには `docker volume rm` を使う。Compose の場合は "
            "`docker compose down -v` で一緒に消える。",
            39,
        ),
        (
            "The Japanese word 木漏れ日 (komorebi) means sunlight through leaves; 積ん読 "
            "(tsundoku) means books bought and never read.",
            35,
        ),
        (
            "API のレスポンスは JSON で返す。status が 404 のときは "
            "error フィールドに理由を入れる。",
            30,
        ),
    ],
}

ANY_TEXT = st.text(
    st.one_of(
        st.sampled_from("ab Z1２ \n\n.,。、「がガ漢é\u3000\x00🎉"),
        st.characters(exclude_categories=()),
    ),
    max_size=60,
)


@rows("language", TEXTS)
def test_the_count_is_within_fifteen_percent_of_a_real_tokenizers(language):
    real = sum(count for _, count in TEXTS[language])
    ours = sum(count_tokens(text) for text, _ in TEXTS[language])
    assert 0.85 * real <= ours <= 1.15 * real


@settings(max_examples=examples(400))
@given(ANY_TEXT, ANY_TEXT)
def test_more_text_never_costs_less(one, other):
    assert count_tokens(one + other) >= max(count_tokens(one), count_tokens(other))


@settings(max_examples=examples(200))
@given(ANY_TEXT)
def test_a_character_costs_less_than_two(text):
    # The chunker relies on a bound: what has a quarter as many characters as a chunk may
    # cost is not measured at all.
    assert count_tokens(text) <= 2 * len(text)
    assert max(WEIGHTS) < 2


@settings(max_examples=examples(200))
@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_ascii_text_costs_the_same_beside_other_scripts(text):
    beside = count_tokens(f"x{text}{50 * 'か'}") - 30
    assert abs(beside - count_tokens(f"x{text}")) <= 1  # each is rounded

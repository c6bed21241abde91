"""How models say that there is no answer."""

from rag.answers.notices import is_refusal
from tables import rows


@rows(
    "said",
    "The notes do not contain this information.",
    "ノートには見つかりませんでした。",
    "ノートに答えはありません。",
    "ノートには記載がありません。",
    "該当する情報は見当たりませんでした。",
)
def test_a_refusal_is_known_in_both_languages(said):
    assert is_refusal(said)


@rows("said", "Backups are kept for ninety days.", "証明書は毎年三月に更新する。")
def test_an_answer_is_none(said):
    assert not is_refusal(said)

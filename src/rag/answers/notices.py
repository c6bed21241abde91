"""What an answer reports about itself, in the language of the question.

Errors of servers and settings are quoted as they are: they name settings and commands.
"""

from __future__ import annotations

from rag.answers.language import language_of
from rag.answers.refusals import PHRASES

_ENGLISH = {
    "not_found": "not found in your notes",
    "small_talk": "This is rag. Ask it a question: it answers from your notes, with sources.",
    "lacks_subject": "Ask the whole question: this one does not say what it is about.",
    "sentence": "{count} sentence",
    "sentences": "{count} sentences",
    "held_back": "{count} held back",
    "struck": "{count} struck",
    "near": "Nearest to the question, without an answer:",
    "no_answer": "{model} gave no answer",
    "not_supported": "the answer of {model} is not borne out by your notes and was left out",
    "unverified": "unverified: the prompt template shows no numbers by which {model} could name "
    "its sources",
    "no_reasoning": "{model} does not reason",
    "injection": "a passage that instructs a model was left out of what {model} was shown",
    "injections": "{count} passages that instruct a model were left out of what {model} was shown",
    "step_failed": "the step {step} of ask.steps failed and was left out: {why}",
    "few_notes": "{model} was shown {shown} of {count} notes: "
    "it reads {tokens:,} tokens (ollama.max_context)",
    "not_all_notes": "{model} was shown {shown} of {count} notes",
    "prompt_cut": "{model} read only {read:,} tokens of the prompt; the server cut off the rest",
    "prompt_cut_of": "{model} read only {read:,} of about {sent:,} tokens of the prompt; "
    "the server cut off the rest",
    "cut_by_ollama": "Raise ollama.max_context, lower ask.top_k, or update Ollama.",
    "cut_by_server": "Give the server a larger context (Ollama: OLLAMA_CONTEXT_LENGTH), "
    "or lower ask.top_k.",
    "quoted": "No model wrote this: it is quoted from your notes (confidence {confidence:.2f}).",
    "listed": "No model wrote this: it is how the newest of these notes begin.",
    "quoted_again": "Quoted from your notes (confidence {confidence:.2f}).",
    "listed_again": "Quoted from the beginnings of the newest notes.",
}
_JAPANESE = {
    "not_found": PHRASES["ja"],
    "small_talk": "rag です。質問すると、ノートの内容から出典つきで答えます。",
    "lacks_subject": "何についての質問か分かりません。質問全体を入力してください。",
    "sentence": "{count} 文",
    "sentences": "{count} 文",
    "held_back": "保留 {count}",
    "struck": "削除 {count}",
    "near": "質問に最も近いノート（回答ではありません）:",
    "no_answer": "{model} は回答しませんでした",
    "not_supported": "{model} の回答はノートに根拠がないため、除きました",
    "unverified": "未検証の回答です: プロンプトのテンプレートに出典の番号がないため、"
    "{model} は出典を示せません",
    "no_reasoning": "{model} は推論に対応していません",
    "injection": "モデルへの指示を含む箇所を 1 件、{model} に見せずに除きました",
    "injections": "モデルへの指示を含む箇所を {count} 件、{model} に見せずに除きました",
    "step_failed": "ask.steps のステップ {step} が失敗したため、除きました: {why}",
    "few_notes": "{model} に見せたノートは {count} 件中 {shown} 件です: "
    "読める長さは {tokens:,} トークンです (ollama.max_context)",
    "not_all_notes": "{model} に見せたノートは {count} 件中 {shown} 件です",
    "prompt_cut": "{model} が読んだのはプロンプトの {read:,} トークンだけです。"
    "残りはサーバーが切り捨てました",
    "prompt_cut_of": "{model} が読んだのはプロンプト約 {sent:,} トークンのうち {read:,} "
    "トークンだけです。残りはサーバーが切り捨てました",
    "cut_by_ollama": "ollama.max_context を上げるか、ask.top_k を下げるか、"
    "Ollama を更新してください。",
    "cut_by_server": "サーバーのコンテキストを大きくするか (Ollama: OLLAMA_CONTEXT_LENGTH)、"
    "ask.top_k を下げてください。",
    "quoted": "モデルの回答ではありません。ノートからの引用です（信頼度 {confidence:.2f}）。",
    "listed": "モデルの回答ではありません。新しいノートの冒頭を引用しています。",
    "quoted_again": "ノートからの引用です（信頼度 {confidence:.2f}）。",
    "listed_again": "新しいノートの冒頭からの引用です。",
}
NOT_FOUND = _ENGLISH["not_found"]
SOME_MODEL = "the model"  # one whose generator does not name it
_SOME_MODEL_JA = "モデル"


def notice(question: str, key: str, **values: object) -> str:
    """Return a message in the language of a question.

    :param values: what the message names, such as `model`.
    """
    if language_of(question) != "ja":
        return _ENGLISH[key].format(**values)
    if values.get("model") == SOME_MODEL:
        values["model"] = _SOME_MODEL_JA
    return _JAPANESE[key].format(**values)

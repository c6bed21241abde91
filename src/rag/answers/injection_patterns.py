"""What instructions to a model look like, and which of it a text may hold."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_INVISIBLE = re.compile("[*`~\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_MARKUP = re.compile(r"[_#>|=\"“”]+")
_WORD = re.compile("[a-z]+")

_NOUN = (
    r"(?:instructions?|prompts?|rules?|contexts?|directions?|guidelines?|messages?|texts?|sources?"
    r"|notes?|questions?|commands?|conversations?|sentences?|input)\b"
)
_DROPS = "ignore|disregard|forget|override|bypass|discard|neglect"
_DROP = rf"\b(?:{_DROPS})\b"
_MODEL = r"(?:ai|llms?|language models?|(?:ai )?assistants?|chat ?bots?|chatgpt|gpt|ai models?)\b"
_ANSWERS = "say|answer|respond|reply|output|print|write|return|repeat|state"
_ANSWER = f"(?:{_ANSWERS})"
# To speak, but not as people on call do.
_SPEAK_EN = (
    r"(?:say|answer|respond|reply|output)\b"
    r"(?! (?:the|a|an|within|to|in|by|at|on|before|immediately|promptly|quickly)\b)"
)
_PRAISES = "say|state|claim|tell|recommend|praise|advise|insist|write|mention|add|assert"
_PRAISE = rf"\b(?:{_PRAISES})\b"
_TEXT = r"(?:texts?|pages?|notes?|documents?|articles?|reviews?|emails?|messages?|passages?)\b"
# The words of which a text must hold one before a pattern can match it, as in `_Rule`.
_MODELS = "ai|llm|llms|model|models|assistant|assistants|chat|chatbot|chatbots|bot|bots|chatgpt|gpt"
_ONLY = "only|exactly|just|verbatim|nothing"
_ORDERS = "must|should|shall|will|have|instead|always"


class _Rule(NamedTuple):
    """A pattern of instructions, and what is looked for before it.

    :param needs: of each of these groups a text that it matches holds a word, in lower case; the
        first is that of which most texts hold none.
    """

    pattern: re.Pattern[str]
    needs: tuple[tuple[str, ...], ...]


def _rule(pattern: str, *needs: str) -> _Rule:
    groups = tuple(tuple(words.split("|")) for words in needs)
    return _Rule(re.compile(pattern, re.IGNORECASE), groups)


_ENGLISH = (
    _rule(
        rf"{_DROP}[\w\s,']{{0,30}}\b(?:above|previous|prior|preceding|earlier|foregoing|before|rest)"
        rf"\b(?:\s*(?:[-–—,.;:!]|$|and\b|then\b|but\b|of\b)|(?:\s+\w+){{0,2}}?\s+{_NOUN})",
        _DROPS,
    ),
    _rule(
        rf"{_DROP}(?:\s+(?:all|any|every|each|your|the|these|those|my|other|of|system|given|original"
        r"|initial|developer|safety|previous|that|was|said|everything)){0,5}\s+"
        r"(?:system prompts?|instructions?|prompts?|guidelines|(?:user'?s? )?questions?)\b",
        _DROPS,
    ),
    _rule(
        rf"{_DROP}\s+(?:everything|anything|all|what)\b.{{0,20}}\b(?:said|told|written|above|know)\b",
        _DROPS,
    ),
    _rule(
        r"\byou are (?:now|no longer) (?:an?|in|my|free|bound|called|named|acting|going|dan)\b",
        "now|longer",
        "you",
    ),
    _rule(
        rf"\b(?:act|behave|respond|pretend to be|pretend you are|role-?play)\b.{{0,12}}\b{_MODEL}",
        "act|behave|respond|pretend|role|roleplay",
        _MODELS,
    ),
    _rule(rf"\bfrom now on\b.{{0,40}}\b(?:you\b|{_ANSWER}\b)", "now", "from"),
    _rule(
        r"\b(?:system|developer|hidden) (?:prompt|message|instructions?)\b",
        "prompt|message|instruction|instructions",
        "system|developer|hidden",
    ),
    _rule(
        r"^\W*assistant\s*[:：]|^\W*(?:system|user|ai)\s*[:：].{0,80}\b(?:you|answer|say|reply)\b",
        "assistant|system|user|ai",
    ),
    _rule(
        r"\b(?:attention|(?:notes?|messages?|instructions?) (?:to|for)|dear|hey|hello|as an|if"
        rf" you are an?|you are an?)\W+(?:the |any |all |an? )?{_MODEL}",
        _MODELS,
    ),
    _rule(
        rf"\b{_ANSWER}\b.{{0,15}}\b(?:only|exactly|just|verbatim|nothing but)\b.{{0,15}}"
        r"(?:\bwith\b|\bthe (?:word|phrase|text|following|sentence)\b|[:：'‘「『])",
        _ANSWERS,
        _ONLY,
    ),
    _rule(rf"\b(?:only|exactly|just|nothing but)\b\s+{_ANSWER}\b", _ANSWERS, _ONLY),
    _rule(
        r"\b(?:you (?:must|should|shall|will|have to)|instead(?: of \w+)?|always)\b[,\s]*"
        rf"(?:only |just )?{_SPEAK_EN}",
        _ANSWERS,
        _ORDERS,
    ),
    _rule(
        r"\b(?:say|reply|respond|answer|output)\b[:：\s]+(?:with\s+)?(?-i:[A-Z]{4,})\b",
        _ANSWERS,
    ),
    _rule(
        rf"\b(?:always|whatever|no matter)\b.{{0,60}}\b{_ANSWER} (?:with|that|only|exactly)\b",
        _ANSWERS,
        "always|whatever|matter",
    ),
    _rule(
        r"\bdo not (?:answer|follow|obey|cite|mention|tell|reveal)\b.{0,30}"
        r"\b(?:questions?|instructions?|sources?|users?)\b",
        "answer|follow|obey|cite|mention|tell|reveal",
        "not",
    ),
    _rule(
        r"\b(?:correct|right|only|true|proper) (?:answer|reply|response)\b.{0,20}"
        r"\b(?:every|any|all|this|the)\b.{0,12}\b(?:questions?|prompts?|queries|query)\b",
        "answer|reply|response",
        "question|questions|prompt|prompts|queries|query",
    ),
    _rule(
        r"\b(?:answer|respond|reply) to (?:every|any|all) (?:questions?|prompts?|messages?)\b",
        "answer|respond|reply",
        "question|questions|prompt|prompts|message|messages",
    ),
    # What a model that reads the text is to say of something.
    _rule(
        rf"\b{_MODEL}.{{0,60}}\b(?:should|must|shall|(?:is|are|has|have) to)\b.{{0,20}}{_PRAISE}",
        _MODELS,
        _PRAISES,
    ),
    _rule(rf"\b{_MODEL}\W+{_PRAISE}", _MODELS, _PRAISES),
    _rule(
        r"\b(?:when|while|if)\b.{0,12}\b(?:summari[sz]|quot|answer|describ|translat)ing\b.{0,20}"
        rf"\b(?:this|these|the) (?:\w+ )?{_TEXT}.{{0,30}}{_PRAISE}",
        "summarising|summarizing|quoting|answering|describing|translating",
    ),
)
_SPEAKS = "答え|こたえ|回答|返答|応答|返事|出力|返し|言い|言っ|言え|発言"
_SPEAK = f"(?:{_SPEAKS})"
_TOLD = (
    "(?:言|述べ|伝え|勧め|答え|書|回答|返答|推奨|主張|記載)[^。\\n]{0,4}"
    "(?:ください|下さい|なさい|せよ|しろ|こと)"
)
_ORDERS_JA = "ください|下さい|せよ|しろ|なさい|こと"
_JAPANESE = (
    _rule(
        r"(?:上記|上の|以上|これまで|今まで|前述|先ほど|以前|先の|前の|すべて|全て|全部|元の|あらゆる)"
        r"[^。\n]{0,15}(?:指示|命令|プロンプト|ルール|規則|文章|内容|質問|コンテキスト|設定|こと)"
        r"[^。\n]{0,8}(?:無視|忘れ|破棄|無効|従わ|上書き)",
        "無視|忘れ|破棄|無効|従わ|上書き",
    ),
    _rule(r"(?:上記|以上|これまで|前述)[^。\n]{0,6}(?:無視|忘れ)", "無視|忘れ"),
    _rule(
        r"(?:指示|命令|プロンプト|質問)[をはに]?[^。\n]{0,6}(?:無視|忘れ|従わな|答えな)",
        "指示|命令|プロンプト|質問",
        "無視|忘れ|従わな|答えな",
    ),
    _rule(
        rf"(?:とだけ|とのみ|だけを|のみを|としか)[^。\n]{{0,6}}{_SPEAK}",
        "とだけ|とのみ|だけを|のみを|としか",
        _SPEAKS,
    ),
    _rule(
        rf"[」』]?と[^。\n]{{0,4}}{_SPEAK}[^。\n]{{0,6}}(?:ください|下さい|せよ|しろ|なさい|すること)",
        _ORDERS_JA,
        _SPEAKS,
    ),
    _rule(
        r"あなたは(?:今|いま|これ)から|システム(?:プロンプト|メッセージ)|今後は[^。\n]{0,20}答え",
        "あなたは|システム|今後は",
    ),
    _rule(
        r"(?:AI|アシスタント|言語モデル|LLM|チャットボット|モデル)(?:へ|への|に対する|宛|向け)[^。\n]"
        r"{0,4}(?:指示|命令|注意|連絡|お願い|メッセージ)",
        "ai|アシスタント|llm|チャットボット|モデル",
        "指示|命令|注意|連絡|お願い|メッセージ",
    ),
    _rule(
        rf"(?:AI|アシスタント|言語モデル|LLM|チャットボット)(?:は|が|なら)[^。\n]{{0,60}}{_TOLD}",
        "ai|アシスタント|言語モデル|llm|チャットボット",
        _ORDERS_JA,
    ),
    _rule(
        rf"(?:要約|引用|紹介|翻訳|説明)する(?:とき|時|際|場合)[^。\n]{{0,60}}{_TOLD}",
        "要約する|引用する|紹介する|翻訳する|説明する",
        _ORDERS_JA,
    ),
    _rule(
        rf"^\W*(?:システム|管理者|開発者)\s*[:：].{{0,80}}{_TOLD}",
        "システム|管理者|開発者",
        _ORDERS_JA,
    ),
    _rule(
        r"(?:すべて|全て|どんな|あらゆる)の?(?:質問|問い)に[^。\n]{0,40}(?:答え|回答|返答)",
        "質問に|問いに",
        "答え|回答|返答",
    ),
)
_TEMPLATE = (
    r"<\|[^|<>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?(?:think|thinking|system|assistant|tool_call)>"
    r"|<(?:start|end)_of_turn>|<\uff5c[^<>\n]{1,40}\uff5c>"
)
RULES = (*_ENGLISH, *_JAPANESE)
_NEEDED = frozenset(word for rule in _ENGLISH for word in rule.needs[0])
TEMPLATE_TOKEN = re.compile(_TEMPLATE, re.IGNORECASE)
# In a text that holds an instruction, what only tells somebody to say something is one too.
SAY = re.compile(
    rf"^\W*(?:(?:then|now|instead|please|just|always|only|simply|and|but)\W+)*(?:{_ANSWER}|tell)\b"
    rf"|{_SPEAK}[^。\n]{{0,6}}(?:ください|下さい|せよ|しろ|なさい|ろ[。\s]|$)",
    re.IGNORECASE,
)


def suspected_patterns(text: str) -> list[re.Pattern[str]]:
    """Return the patterns that may match a text or a part of it, for the words that it holds; most
    texts hold none, and to look for words is many times faster than to match."""
    lower = legible(text).lower()
    patterns = [TEMPLATE_TOKEN] if TEMPLATE_TOKEN.search(text) else []
    if not lower.isascii():
        # What `re` takes for an i where case does not count.
        lower = lower.replace("\u0307", "").replace("\u0131", "i")
        patterns += [
            rule.pattern
            for rule in _JAPANESE
            if all(any(word in lower for word in group) for group in rule.needs)
        ]
    words = set(_WORD.findall(lower))
    if _NEEDED.isdisjoint(words):
        return patterns
    return patterns + [
        rule.pattern
        for rule in _ENGLISH
        if all(not words.isdisjoint(group) for group in rule.needs)
    ]


def legible(line: str) -> str:
    """Return a line as a reader sees it, however it is written."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", line))
    return " ".join(_MARKUP.sub(" ", text).split())

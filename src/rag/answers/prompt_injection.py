"""Lines of notes that speak to a model instead of a reader.

A note may hold text that somebody else wrote (a clipped page, a mail), and in it instructions
that a model would follow. They are left out of what a model sees, and support nothing it says.
A note that is about such instructions loses a paragraph that way, and only in generated answers.
"""

from __future__ import annotations

import re
import unicodedata

from rag.vault.sentences import sentence_spans

_INVISIBLE = re.compile("[*`~\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_MARKUP = re.compile(r"[_#>|=\"“”]+")

_NOUN = (
    r"(?:instructions?|prompts?|rules?|contexts?|directions?|guidelines?|messages?|texts?|sources?"
    r"|notes?|questions?|commands?|conversations?|sentences?|input)\b"
)
_DROP = r"\b(?:ignore|disregard|forget|override|bypass|discard|neglect)\b"
_MODEL = r"(?:ai|llms?|language models?|(?:ai )?assistants?|chat ?bots?|chatgpt|gpt|ai models?)\b"
_ANSWER = r"(?:say|answer|respond|reply|output|print|write|return|repeat|state)"
# To speak, but not as people on call do.
_SPEAK_EN = (
    r"(?:say|answer|respond|reply|output)\b"
    r"(?! (?:the|a|an|within|to|in|by|at|on|before|immediately|promptly|quickly)\b)"
)
_PRAISE = r"\b(?:say|state|claim|tell|recommend|praise|advise|insist|write|mention|add|assert)\b"
_TEXT = r"(?:texts?|pages?|notes?|documents?|articles?|reviews?|emails?|messages?|passages?)\b"
_ENGLISH = (
    rf"{_DROP}[\w\s,']{{0,30}}\b(?:above|previous|prior|preceding|earlier|foregoing|before|rest)\b"
    rf"(?:\s*(?:[-–—,.;:!]|$|and\b|then\b|but\b|of\b)|(?:\s+\w+){{0,2}}?\s+{_NOUN})",
    rf"{_DROP}(?:\s+(?:all|any|every|each|your|the|these|those|my|other|of|system|given|original"
    r"|initial|developer|safety|previous|that|was|said|everything)){0,5}\s+"
    r"(?:system prompts?|instructions?|prompts?|guidelines|(?:user'?s? )?questions?)\b",
    rf"{_DROP}\s+(?:everything|anything|all|what)\b.{{0,20}}\b(?:said|told|written|above|know)\b",
    r"\byou are (?:now|no longer) (?:an?|in|my|free|bound|called|named|acting|going|dan)\b",
    rf"\b(?:act|behave|respond|pretend to be|pretend you are|role-?play)\b.{{0,12}}\b{_MODEL}",
    rf"\bfrom now on\b.{{0,40}}\b(?:you\b|{_ANSWER}\b)",
    r"\b(?:system|developer|hidden) (?:prompt|message|instructions?)\b",
    r"^\W*assistant\s*[:：]|^\W*(?:system|user|ai)\s*[:：].{0,80}\b(?:you|answer|say|reply)\b",
    r"\b(?:attention|(?:notes?|messages?|instructions?) (?:to|for)|dear|hey|hello|as an|if"
    rf" you are an?|you are an?)\W+(?:the |any |all |an? )?{_MODEL}",
    rf"\b{_ANSWER}\b.{{0,15}}\b(?:only|exactly|just|verbatim|nothing but)\b.{{0,15}}"
    r"(?:\bwith\b|\bthe (?:word|phrase|text|following|sentence)\b|[:：'‘「『])",
    rf"\b(?:only|exactly|just|nothing but)\b\s+{_ANSWER}\b",
    r"\b(?:you (?:must|should|shall|will|have to)|instead(?: of \w+)?|always)\b[,\s]*"
    rf"(?:only |just )?{_SPEAK_EN}",
    r"\b(?:say|reply|respond|answer|output)\b[:：\s]+(?:with\s+)?(?-i:[A-Z]{4,})\b",
    rf"\b(?:always|whatever|no matter)\b.{{0,60}}\b{_ANSWER} (?:with|that|only|exactly)\b",
    r"\bdo not (?:answer|follow|obey|cite|mention|tell|reveal)\b.{0,30}"
    r"\b(?:questions?|instructions?|sources?|users?)\b",
    r"\b(?:correct|right|only|true|proper) (?:answer|reply|response)\b.{0,20}"
    r"\b(?:every|any|all|this|the)\b.{0,12}\b(?:questions?|prompts?|queries|query)\b",
    r"\b(?:answer|respond|reply) to (?:every|any|all) (?:questions?|prompts?|messages?)\b",
    # What a model that reads the text is to say of something.
    rf"\b{_MODEL}.{{0,60}}\b(?:should|must|shall|(?:is|are|has|have) to)\b.{{0,20}}{_PRAISE}",
    rf"\b{_MODEL}\W+{_PRAISE}",
    rf"\b(?:when|while|if)\b.{{0,12}}\b(?:summari[sz]|quot|answer|describ|translat)ing\b.{{0,20}}"
    rf"\b(?:this|these|the) (?:\w+ )?{_TEXT}.{{0,30}}{_PRAISE}",
)
_SPEAK = "(?:答え|こたえ|回答|返答|応答|返事|出力|返し|言い|言っ|言え|発言)"
_TOLD = (
    "(?:言|述べ|伝え|勧め|答え|書|回答|返答|推奨|主張|記載)[^。\\n]{0,4}"
    "(?:ください|下さい|なさい|せよ|しろ|こと)"
)
_JAPANESE = (
    r"(?:上記|上の|以上|これまで|今まで|前述|先ほど|以前|先の|前の|すべて|全て|全部|元の|あらゆる)"
    r"[^。\n]{0,15}(?:指示|命令|プロンプト|ルール|規則|文章|内容|質問|コンテキスト|設定|こと)"
    r"[^。\n]{0,8}(?:無視|忘れ|破棄|無効|従わ|上書き)",
    r"(?:上記|以上|これまで|前述)[^。\n]{0,6}(?:無視|忘れ)",
    r"(?:指示|命令|プロンプト|質問)[をはに]?[^。\n]{0,6}(?:無視|忘れ|従わな|答えな)",
    rf"(?:とだけ|とのみ|だけを|のみを|としか)[^。\n]{{0,6}}{_SPEAK}",
    rf"[」』]?と[^。\n]{{0,4}}{_SPEAK}[^。\n]{{0,6}}(?:ください|下さい|せよ|しろ|なさい|すること)",
    r"あなたは(?:今|いま|これ)から|システム(?:プロンプト|メッセージ)|今後は[^。\n]{0,20}答え",
    r"(?:AI|アシスタント|言語モデル|LLM|チャットボット|モデル)(?:へ|への|に対する|宛|向け)[^。\n]"
    r"{0,4}(?:指示|命令|注意|連絡|お願い|メッセージ)",
    rf"(?:AI|アシスタント|言語モデル|LLM|チャットボット)(?:は|が|なら)[^。\n]{{0,60}}{_TOLD}",
    rf"(?:要約|引用|紹介|翻訳|説明)する(?:とき|時|際|場合)[^。\n]{{0,60}}{_TOLD}",
    rf"^\W*(?:システム|管理者|開発者)\s*[:：].{{0,80}}{_TOLD}",
    r"(?:すべて|全て|どんな|あらゆる)の?(?:質問|問い)に[^。\n]{0,40}(?:答え|回答|返答)",
)
_TEMPLATE = (
    r"<\|[^|<>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?(?:think|thinking|system|assistant|tool_call)>"
    r"|<(?:start|end)_of_turn>|<\uff5c[^<>\n]{1,40}\uff5c>"
)
_INJECTION = re.compile("|".join(f"(?:{p})" for p in (*_ENGLISH, *_JAPANESE)), re.IGNORECASE)
TEMPLATE_TOKEN = re.compile(_TEMPLATE, re.IGNORECASE)
# In a text that holds an instruction, what only tells somebody to say something is one too.
_SAY = re.compile(
    rf"^\W*(?:(?:then|now|instead|please|just|always|only|simply|and|but)\W+)*(?:{_ANSWER}|tell)\b"
    rf"|{_SPEAK}[^。\n]{{0,6}}(?:ください|下さい|せよ|しろ|なさい|ろ[。\s]|$)",
    re.IGNORECASE,
)


def is_injection(text: str) -> bool:
    """Return whether a text of one paragraph is a prompt injection."""
    return _first(text) is not None


def without_instructions(text: str, mark: str) -> tuple[str, int]:
    """Replace prompt injections: from the sentence where one begins to its paragraph's end.

    :returns: the text, with `mark` in the place of each passage, and how many there were.
    """
    paragraphs = re.split(r"(\n[ \t]*(?:\n[ \t]*)+)", text)
    found = {at: _first(p) for at, p in enumerate(paragraphs) if at % 2 == 0}
    if all(first is None for first in found.values()):
        return text, 0
    count = 0
    for at, first in found.items():
        if first is None and _SAY.search(_legible(paragraphs[at])):
            first = 0
        if first is None:
            continue
        lines = paragraphs[at].split("\n")
        kept = [*lines[:first], *_sentences_before(lines[first])]
        fence = lines[-1:] if re.match(r"\s*(?:```|~~~)", lines[-1]) and first < len(lines) else []
        paragraphs[at] = "\n".join([*kept, mark, *fence])
        count += 1
    return "".join(paragraphs), count


def _sentences_before(line: str) -> list[str]:
    """Return the sentences of a line before those that instruct, as one; none if there are none."""
    end = 0
    for start, stop in sentence_spans(line):
        if _SAY.search(_legible(line[start:stop])) or _first(line[:stop]) is not None:
            break
        end = stop
    return [line[:end].rstrip()] if end else []


def _first(paragraph: str) -> int | None:
    """Return the number of the line in which an instruction begins; a line end may part it."""
    if token := TEMPLATE_TOKEN.search(paragraph):
        return paragraph.count("\n", 0, token.start())
    lines = [_legible(line) for line in paragraph.split("\n")]
    for number, line in enumerate(lines):
        if _INJECTION.search(line):
            return number
    if len(lines) > 1 and (found := _INJECTION.search(" ".join(lines))):
        at = 0
        for number, line in enumerate(lines):
            at += len(line) + 1
            if found.start() < at:
                return number
    return None


def _legible(line: str) -> str:
    """Return a line as a reader sees it, however it is written."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", line))
    return " ".join(_MARKUP.sub(" ", text).split())

"""Lines of notes that speak to a model instead of a reader.

A note may hold text that somebody else wrote (a clipped page, a mail), and in it instructions
that a model would follow. They are left out of what a model sees, and support nothing it says.
A note that is about such instructions loses a paragraph that way, and only in generated answers.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from html import unescape
from itertools import accumulate
from urllib.parse import unquote

from rag.text.messages import without_controls
from rag.vault.sentences import sentence_spans

_INVISIBLE = re.compile(
    "[*`~\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_MARKUP = re.compile(r"[_#>|=\"“”\u115f\u1160\u2800\u3164\uffa0]+")  # and blanks that are no spaces
# A link, its text and its target; a tag, what it says beside its name.
_LINK = re.compile(r"!?\[(?P<text>[^\[\]]*)\]\((?P<target>[^()]*)\)")
_TAG = re.compile(r"</?[a-zA-Z][\w-]*(?P<more>[^<>]*)>")
# What stands between words of addresses in the place of spaces.
_SEPARATORS = re.compile(r"(?<=\w)[-+./?&]+(?=\w)")
# Letters of other alphabets that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "\u0430\u0441\u0435\u0456\u0458\u043e\u0440\u0455\u0443\u0445\u0501\u04bb\u051b\u051d\u0261\u0251"
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0425\u0423"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "aceijopsyxdhqwgaABCEHIJKMOPSTXYaopviABEHIKMNOPTYX",
)

_NOUN = (
    r"(?:instructions?|prompts?|rules?|contexts?|directions?|guidelines?|messages?|texts?|sources?"
    r"|notes?|questions?|commands?|conversations?|sentences?|input)\b"
)
_DROP = r"\b(?:ignore|disregard|forget|override|bypass|discard|neglect)\b"
_MODEL = r"(?:ai|llms?|language models?|(?:ai )?assistants?|chat ?bots?|chatgpt|gpt|ai models?)\b"
_ANSWER = "(?:say|answer|respond|reply|output|print|write|return|repeat|state)"
# To speak, but not as people on call do.
_SPEAK_EN = (
    r"(?:say|answer|respond|reply|output)\b"
    r"(?! (?:the|a|an|within|to|in|by|at|on|before|immediately|promptly|quickly)\b)"
)
_PRAISE = r"\b(?:say|state|claim|tell|recommend|praise|advise|insist|write|mention|add|assert)\b"
_TEXT = r"(?:texts?|pages?|notes?|documents?|articles?|reviews?|emails?|messages?|passages?)\b"
_SPEAK = "(?:答え|こたえ|回答|返答|応答|返事|出力|返し|言い|言っ|言え|発言)"
_TOLD = (
    "(?:言|述べ|伝え|勧め|答え|書|回答|返答|推奨|主張|記載)[^。\\n]{0,4}"
    "(?:ください|下さい|なさい|せよ|しろ|こと)"
)

# What instructs a model, in English and Japanese.
_PATTERNS = [
    rf"{_DROP}[\w\s,']{{0,30}}\b(?:above|previous|prior|preceding|earlier|foregoing|before"
    rf"|rest)\b(?:\s*(?:[-–—,.;:!]|$|and\b|then\b|but\b|of\b)|(?:\s+\w+){{0,2}}?\s+{_NOUN})",
    rf"{_DROP}(?:\s+(?:all|any|every|each|your|the|these|those|my|other|of|system|given"
    r"|original|initial|developer|safety|previous|that|was|said|everything)){0,5}\s+"
    r"(?:system prompts?|instructions?|prompts?|guidelines|(?:user'?s? )?questions?)\b",
    rf"{_DROP}\s+(?:everything|anything|all|what)\b.{{0,20}}"
    r"\b(?:said|told|written|above|know)\b",
    r"\byou are (?:now|no longer) (?:an?|in|my|free|bound|called|named|acting|going|dan)\b",
    rf"\bfrom now on\b.{{0,40}}\b(?:you\b|{_ANSWER}\b)",
    r"\b(?:system|developer|hidden) (?:prompt|message|instructions?)\b",
    r"^\W*assistant\s*[:：]|^\W*(?:system|user|ai)\s*[:：].{0,80}\b(?:you|answer|say|reply)\b",
    r"\b(?:act|behave|respond|pretend to be|pretend you are|role ?play)\b"
    rf".{{0,12}}\b{_MODEL}",
    r"\b(?:attention|(?:notes?|messages?|instructions?) (?:to|for)|dear|hey|hello|as an"
    rf"|if you are an?|you are an?)\W+(?:the |any |all |an? )?{_MODEL}",
    # What a model that reads the text is to say of something.
    rf"\b{_MODEL}.{{0,60}}\b(?:should|must|shall|(?:is|are|has|have) to)\b.{{0,20}}{_PRAISE}",
    rf"\b{_MODEL}\W+{_PRAISE}",
    rf"\b{_ANSWER}\b.{{0,15}}\b(?:only|exactly|just|verbatim|nothing but)\b.{{0,15}}"
    r"(?:\bwith\b|\bthe (?:word|phrase|text|following|sentence)\b|[:：'‘「『])",
    rf"\b(?:only|exactly|just|nothing but)\b\s+{_ANSWER}\b",
    r"\b(?:you (?:must|should|shall|will|have to)|instead(?: of \w+)?|always)\b[,\s]*"
    rf"(?:only |just )?{_SPEAK_EN}",
    r"\b(?:say|reply|respond|answer|output)\b[:：\s]+(?:with\s+)?(?-i:[A-Z]{4,})\b",
    r"\b(?:correct|right|only|true|proper) (?:answer|reply|response)\b.{0,20}"
    r"\b(?:every|any|all|this|the)\b.{0,12}\b(?:questions?|prompts?|queries|query)\b",
    r"\b(?:answer|respond|reply) to (?:every|any|all) (?:questions?|prompts?|messages?)\b",
    rf"\b(?:always|whatever|no matter)\b.{{0,60}}\b{_ANSWER} (?:with|that|only|exactly)\b",
    r"\bdo not (?:answer|follow|obey|cite|mention|tell|reveal)\b.{0,30}"
    r"\b(?:questions?|instructions?|sources?|users?)\b",
    r"\b(?:when|while|if)\b.{0,12}\b(?:summari[sz]|quot|answer|describ|translat)ing\b.{0,20}"
    rf"\b(?:this|these|the) (?:\w+ )?{_TEXT}.{{0,30}}{_PRAISE}",
    # -- Japanese --
    "(?:上記|上の|以上|これまで|今まで|前述|先ほど|以前|先の|前の|すべて|全て|全部|元の|あらゆる)"
    r"[^。\n]{0,15}(?:指示|命令|プロンプト|ルール|規則|文章|内容|質問|コンテキスト|設定|こと)"
    r"[^。\n]{0,8}(?:無視|忘れ|破棄|無効|従わ|上書き)",
    r"(?:上記|以上|これまで|前述)[^。\n]{0,6}(?:無視|忘れ)",
    r"(?:指示|命令|プロンプト|質問)[をはに]?[^。\n]{0,6}(?:無視|忘れ|従わな|答えな)",
    rf"(?:とだけ|とのみ|だけを|のみを|としか)[^。\n]{{0,6}}{_SPEAK}",
    r"あなたは(?:今|いま|これ)から|システム(?:プロンプト|メッセージ)|今後は[^。\n]{0,20}答え",
    "(?:AI|アシスタント|言語モデル|LLM|チャットボット|モデル)(?:へ|への|に対する|宛|向け)[^。\\n]"
    "{0,4}(?:指示|命令|注意|連絡|お願い|メッセージ)",
    rf"[」』]?と[^。\n]{{0,4}}{_SPEAK}[^。\n]{{0,6}}"
    "(?:ください|下さい|せよ|しろ|なさい|すること)",
    rf"(?:AI|アシスタント|言語モデル|LLM|チャットボット)(?:は|が|なら)[^。\n]{{0,60}}{_TOLD}",
    rf"(?:要約|引用|紹介|翻訳|説明)する(?:とき|時|際|場合)[^。\n]{{0,60}}{_TOLD}",
    rf"^\W*(?:システム|管理者|開発者)\s*[:：].{{0,80}}{_TOLD}",
    r"(?:すべて|全て|どんな|あらゆる)の?(?:質問|問い)に[^。\n]{0,40}(?:答え|回答|返答)",
]


def _european(
    drop: str, before: str, noun: str, role: str, speak: str, only: str, model: str, must: str
) -> str:
    """Return what instructs a model in a language that is written as English is.

    :param drop: "ignore", but not in "do not ignore".
    :param before: "previous", in front of a noun or after it.
    :param role: "you are now", "from now on you answer".
    :param speak: "answer", as an order; `must` in a statement on what a `model` should say.
    """
    gap = r"[^.!?\n]{0,40}?"
    forms = (
        rf"\b(?:{drop})\b{gap}\b(?:{before}){gap}\b(?:{noun})",
        rf"\b(?:{drop})\b{gap}\b(?:{noun}){gap}\b(?:{before})",
        rf"\b(?:{role})",
        rf"\b(?:{speak})\b.{{0,20}}\b(?:{only})\b.{{0,15}}[:'‘«„「]",
        rf"^\W*(?:system|système|sistema)\s*:.{{0,80}}\b(?:{speak})\b",
        rf"\b(?:{model})\b.{{0,60}}\b(?:{must})\b",
    )
    return "|".join(forms)


_PATTERNS += [
    _european(
        r"(?:ignorier(?:e|t|en)?|missachte[nt]?|vergiss|vergesst|vergessen|verwirf|übergehen?"
        r"|überschreiben?)(?! (?:sie )?(?:nicht|nie)\b)",
        r"(?:vor(?:her|an|aus|steh)\w*|vorig\w*|bisherig\w*|obig\w*|früher\w*|oben|zuvor"
        r"|bisher|systemprompt)",
        r"(?:anweisung|instruktion|befehl|regel|vorgabe|prompt|nachricht|kontext|text|frage"
        r"|systemprompt|gesagt|genannt|geschrieben)\w*",
        r"du bist (?:jetzt|nun|ab sofort|ab jetzt|nicht mehr) (?:ein|mein|im|frei|dan)\w*"
        r"|ab (?:jetzt|sofort)\b.{0,20}\b(?:antworte|antwortest|sagst|schreibst)\b"
        r"|systemprompt\w*",
        "antworte|antworten sie|sage?|sagen sie|schreibe?|gib",
        "nur|ausschließlich|genau|immer|lediglich",
        r"ki|sprachmodelle?|assistent(?:en)?|chatbots?",
        r"(?:soll(?:te|ten|en)?|muss|müssen)\b.{0,60}\b(?:sagen|antworten|empfehlen|loben"
        r"|behaupten|erwähnen)",
    ),
    _european(
        r"(?<!n')(?<!ne )(?:ignore[rz]?|oublie[rz]?|négligez?)(?! pas\b)",
        r"(?:précédent\w*|antérieur\w*|ci dessus|qui précède\w*|plus haut|avant|système)",
        r"(?:instruction|consigne|ordre|règle|directive|message|texte|question|contexte|prompt"
        r"|tout ce)\w*",
        r"(?:tu es|vous êtes) (?:maintenant|désormais) (?:une?|mon|libre|dan)\b"
        r"|(?:désormais|à partir de maintenant)\b.{0,20}\b(?:réponds?|répondez|répondras|dis)\b"
        r"|(?:prompt|invite|message) (?:du )?système",
        "réponds|répondez|dis|dites|écris|écrivez",
        "seulement|uniquement|exactement|toujours",
        r"ia|modèles? de langage|assistants?|chatbots?",
        r"(?:doi(?:t|vent)|devrai(?:t|ent))\b.{0,60}\b(?:dire|répondre|recommander|affirmer"
        r"|mentionner)",
    ),
    _european(
        r"(?<!no )(?:(?:ignor|olvid)(?:a|e|ad|ar|en)|omit(?:e|a|ir)|descart(?:a|e))",
        r"(?:anterior(?:es)?|previ[ao]s?|precedentes?|de arriba|de antes|del sistema)\b",
        r"(?:instrucci[oó]n|indicaci[oó]n|orden|regla|mensaje|texto|pregunta|contexto|prompt"
        r"|todo lo)\w*",
        r"(?:ahora eres|eres ahora) (?:una?|mi|libre|dan)\b"
        r"|(?:a partir de ahora|de ahora en adelante)\b.{0,20}\b(?:respond|di\b|dirás)"
        r"|(?:prompt|mensaje) del sistema",
        "responde|responda|di|diga|escribe|escriba",
        "solo|sólo|solamente|únicamente|exactamente|siempre",
        r"ia|modelos? de lenguaje|asistentes?|chatbots?",
        r"(?:deben?|deberían?|tienen? que)\b.{0,60}\b(?:decir|responder|recomendar"
        r"|afirmar|mencionar)",
    ),
]
TEMPLATE_TOKEN = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?(?:think|thinking|system|assistant|tool_call)>"
    r"|<(?:start|end)_of_turn>|<\uff5c[^<>\n]{1,40}\uff5c>",
    re.IGNORECASE,
)
# In a text that holds an instruction, what only tells somebody to say something is one too.
_SAY = re.compile(
    rf"^\W*(?:(?:then|now|instead|please|just|always|only|simply|and|but)\W+)*(?:{_ANSWER}|tell)\b"
    rf"|{_SPEAK}[^。\n]{{0,6}}(?:ください|下さい|せよ|しろ|なさい|ろ[。\s]|$)",
    re.IGNORECASE,
)


@cache
def _compiled() -> list[re.Pattern[str]]:
    """Return the patterns; few programs that start need them, and it takes some 40 ms."""
    return [re.compile(pattern, re.IGNORECASE) for pattern in _PATTERNS]


def legible(line: str) -> str:
    """Return a line as a reader sees it, however it is written, and after it what a reader does not
    see: targets of links, and what tags of HTML say."""
    unseen: list[str] = []

    def noted(text: str, hidden: str) -> str:
        unseen.append(unquote(hidden))
        return text

    if "&" in line:
        line = unescape(line)
    if "](" in line:
        line = _LINK.sub(lambda link: noted(link["text"], link["target"]), line)
    if "<" in line:
        line = _TAG.sub(lambda tag: noted("", tag["more"]), line)
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", "\n".join((line, *unseen))))
    if not text.isascii():
        text = text.translate(_LOOKALIKES)
    return " ".join(_SEPARATORS.sub(" ", _MARKUP.sub(" ", text)).split())


def is_injection(text: str) -> bool:
    """Return whether a text of one paragraph is a prompt injection."""
    return _first(text) is not None


def without_instructions(text: str, mark: str) -> tuple[str, int]:
    """Replace prompt injections: from the sentence where one begins to its paragraph's end.

    :returns: the text, with `mark` in the place of each passage, and how many there were.
    """
    paragraphs = re.split(r"(\n[ \t]*(?:\n[ \t]*)+)", text)
    firsts = {at: _first(p) for at, p in enumerate(paragraphs) if at % 2 == 0}
    if all(first is None for first in firsts.values()):
        return text, 0
    count = 0
    for at, first in firsts.items():
        if first is None and _SAY.search(legible(paragraphs[at])):
            first = 0
        if first is None:
            continue
        lines = paragraphs[at].split("\n")
        kept, line, end = lines[:first], lines[first], 0
        for start, stop in sentence_spans(line):
            if _SAY.search(legible(line[start:stop])) or is_injection(line[:stop]):
                break
            end = stop
        kept += [line[:end].rstrip()] if end else []
        fence = lines[-1:] if re.match(r"\s*(?:```|~~~)", lines[-1]) and first < len(lines) else []
        paragraphs[at] = "\n".join([*kept, mark, *fence])
        count += 1
    return "".join(paragraphs), count


def clean_name(name: str, mark: str) -> tuple[str, int]:
    """Return a name, such as a path or a tag, as one line without prompt injections.

    :returns: also how many passages that were.
    """
    text, count = without_instructions(without_controls(name), mark)
    return " ".join(text.splitlines()), count


def _first(paragraph: str) -> int | None:
    """Return the number of the line in which an instruction begins; a line end may part it."""
    if token := TEMPLATE_TOKEN.search(paragraph):
        return paragraph.count("\n", 0, token.start())
    lines = [legible(line) for line in paragraph.split("\n")]
    for number, line in enumerate(lines):
        if any(pattern.search(line) for pattern in _compiled()):
            return number
    whole = " ".join(lines) if len(lines) > 1 else ""
    begins = [match.start() for pattern in _compiled() if (match := pattern.search(whole))]
    if not begins:
        return None
    ends = accumulate(len(line) + 1 for line in lines)
    return next(number for number, end in enumerate(ends) if min(begins) < end)

"""Lines of notes that speak to a model instead of a reader.

A note may hold text that somebody else wrote (a clipped page, a mail), and in it instructions
that a model would follow. They are left out of what a model sees, and support nothing it says.
A note that is about such instructions loses a paragraph that way, and only in generated answers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import unescape
from typing import NamedTuple
from urllib.parse import unquote

from rag.text.messages import without_controls
from rag.vault.sentences import sentence_spans

_INVISIBLE = re.compile(
    "[*`~\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_MARKUP = re.compile(r"[_#>|=\"“”\u115f\u1160\u2800\u3164\uffa0]+")  # and blanks that are no spaces
_WORD = re.compile("[a-z]+")
# A link, its text and its target; a tag, what it says beside its name.
_LINK = re.compile(r"!?\[(?P<text>[^\[\]]*)\]\((?P<target>[^()]*)\)")
_TAG = re.compile(r"</?[a-zA-Z][\w-]*(?P<more>[^<>]*)>")
# What stands between words of addresses in the place of spaces; and letters with spaces.
_SEPARATORS = re.compile(r"(?<=\w)[-+./?&]+(?=\w)")
_LETTERS = re.compile(r"(?<!\S)(?:[^\W\d_] ){3,}[^\W\d_](?!\S)")
_RUN_TOGETHER = re.compile("ignore|disregard|forget|all|previous|prior|above|instructions", re.I)
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
        rf"\b(?:act|behave|respond|pretend to be|pretend you are|role ?play)\b.{{0,12}}\b{_MODEL}",
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


def _european(
    drop: str, before: str, noun: str, role: str, speak: str, only: str, model: str, must: str
) -> re.Pattern[str]:
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
    return re.compile("|".join(forms), re.IGNORECASE)


# Each with what is looked for before it, in lower case.
_EUROPEAN = (
    (
        re.compile(
            r"\b(?:ignorier|missacht|vergiss|vergess|verwirf|übergeh|überschreib|du bist|ab (?:"
            r"jetzt|sofort)|systemprompt|antworten?\b|sagen?\b|schreiben?\b|gib\b|ki\b|sprachmodell"
            r"|assistent|chatbot)"
        ),
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
    ),
    (
        re.compile(
            r"\b(?:ignor|oubli|néglig|tu es|vous êtes|désormais|à partir|prompt|invite|message"
            r"|répond|di(?:s|tes)\b|écri(?:s|vez)\b|ia\b|assistant|modèle|chatbot)"
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
    ),
    (
        re.compile(
            r"\b(?:ignor|olvid|omit|descart|ahora|eres|prompt|mensaje|responda?\b|responde\b|di(?:ga)?\b"
            r"|escrib|ia\b|asistente|modelo|chatbot)"
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
    patterns += [pattern for needed, pattern in _EUROPEAN if needed.search(lower)]
    words = set(_WORD.findall(lower))
    if _NEEDED.isdisjoint(words):
        return patterns
    return patterns + [
        rule.pattern
        for rule in _ENGLISH
        if all(not words.isdisjoint(group) for group in rule.needs)
    ]


def legible(line: str) -> str:
    """Return a line as a reader sees it, however it is written, and after it what a reader does not
    see: targets of links, and what tags of HTML say."""
    unseen: list[str] = []
    if "&" in line:
        line = unescape(line)
    if "](" in line:
        line = _LINK.sub(lambda link: _noted(link["text"], link["target"], unseen), line)
    if "<" in line:
        line = _TAG.sub(lambda tag: _noted("", tag["more"], unseen), line)
    text = "\n".join((line, *unseen))
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    if not text.isascii():
        text = text.translate(_LOOKALIKES)
    text = _SEPARATORS.sub(" ", _MARKUP.sub(" ", text))
    if _LETTERS.search(text):
        text = _LETTERS.sub(_together, text)
    return " ".join(text.split())


def _noted(text: str, hidden: str, unseen: list[str]) -> str:
    """Return a text, and keep what is hidden beside it."""
    if hidden.strip():
        unseen.append(unquote(hidden))
    return text


def _together(letters: re.Match[str]) -> str:
    """Return letters with spaces between them as words."""
    return _RUN_TOGETHER.sub(r" \g<0> ", letters[0].replace(" ", ""))


def is_injection(text: str) -> bool:
    """Return whether a text of one paragraph is a prompt injection."""
    return _first(text, suspected_patterns(text)) is not None


def without_instructions(text: str, mark: str) -> tuple[str, int]:
    """Replace prompt injections: from the sentence where one begins to its paragraph's end.

    :returns: the text, with `mark` in the place of each passage, and how many there were.
    """
    suspected = suspected_patterns(text)
    if not suspected:
        return text, 0
    paragraphs = re.split(r"(\n[ \t]*(?:\n[ \t]*)+)", text)
    found = {at: _first(p, suspected) for at, p in enumerate(paragraphs) if at % 2 == 0}
    if all(first is None for first in found.values()):
        return text, 0
    count = 0
    for at, first in found.items():
        if first is None and SAY.search(legible(paragraphs[at])):
            first = 0
        if first is None:
            continue
        lines = paragraphs[at].split("\n")
        kept = [*lines[:first], *_sentences_before(lines[first], suspected)]
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


def _sentences_before(line: str, suspected: Sequence[re.Pattern[str]]) -> list[str]:
    """Return the sentences of a line before those that instruct, as one; none if there are none."""
    end = 0
    for start, stop in sentence_spans(line):
        if SAY.search(legible(line[start:stop])) or _first(line[:stop], suspected) is not None:
            break
        end = stop
    return [line[:end].rstrip()] if end else []


def _first(paragraph: str, suspected: Sequence[re.Pattern[str]]) -> int | None:
    """Return the number of the line in which an instruction begins; a line end may part it.

    :param suspected: from `suspected_patterns`, of this or a longer text.
    """
    if TEMPLATE_TOKEN in suspected and (token := TEMPLATE_TOKEN.search(paragraph)):
        return paragraph.count("\n", 0, token.start())
    patterns = [pattern for pattern in suspected if pattern is not TEMPLATE_TOKEN]
    lines = [legible(line) for line in paragraph.split("\n")] if patterns else []
    for number, line in enumerate(lines):
        if any(pattern.search(line) for pattern in patterns):
            return number
    if len(lines) > 1:
        whole = " ".join(lines)
        begins = [found.start() for pattern in patterns if (found := pattern.search(whole))]
        at = 0
        for number, line in enumerate(lines if begins else ()):
            at += len(line) + 1
            if min(begins) < at:
                return number
    return None

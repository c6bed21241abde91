"""Whether a text holds the kind of thing that a question asks for."""

from __future__ import annotations

import re
from collections.abc import Collection

from rag.answers.quotation.question_kinds import Asked
from rag.support.month_names import DAY_OF, MONTH
from rag.text.normalize import normalize
from rag.text.tokenizer import stem

_NUMBER = (
    r"(?:\d[\d,.]*|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|dozen|hundred|thousand|million|half|once|twice|unlimited|no limit|daily|weekly|monthly"
    r"|hourly|every)\b)"
)
_DIGITS = "一二三四五六七八九十百千万億数両"
_FIGURE = re.compile(
    rf"\d|\b{_NUMBER}|[{_DIGITS}]+[つ人個本枚日月年時分回件冊台匹頭軒社校名割倍円]|無制限|毎", re.I
)
_PRICE = re.compile(
    r"[$€£¥￥]|\d\s*%|\d\s*(?:dollars?|euros?|pounds?|yen|usd|eur|percent|円|万|億|ドル|ユーロ)"
    r"|\bfree\b|無料|割引",
    re.IGNORECASE,
)
_DATE = re.compile(
    rf"\b(?:1\d|20)\d\d\b|\b\d{{1,2}}{DAY_OF}{MONTH}\b|\b{MONTH} \d|\d[:.]\d\d|\bv?\d+\.\d"
    r"|\bversion \d|\d(?:th|st|nd|rd) century"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:days?|weeks?|months?|years?|hours?|minutes?"
    r"|spring|summer|autumn|winter|noon|(?:mid)?night|morning|evening|daily|weekly|monthly)\b"
    rf"|[\d{_DIGITS}]\s*(?:年|月|日|時|分|か月|ヶ月|週|世紀|バージョン)|[月火水木金土日]曜|バージョン\s*\d"
    r"|[春夏秋冬朝夜毎]|以降|世紀|時[代期]|同年|翌年|当時",
    re.IGNORECASE,
)
_NAME = (
    r"(?:(?<=[a-z,;:(] )|(?<=[a-z,;:] [\"“(]))[A-Z][\w.'’-]+"
    r"|\b[A-Z][\w.'’-]+ (?:of |de |von |van |the )?[A-Z][\w.'’-]+"
)
_PERSON = re.compile(
    rf"{_NAME}|\b(?i:only|owner|anyone|everyone|nobody|members?|users?|students?|people|customers?"
    r"|team|mother|father|aunt|uncle|he|she|who|brother|sister|wife|husband|friend|[a-z]+ists?)\b"
    r"|(?:さん|様|氏|者|[一-鿿]人|店長|オーナー|会社|商会|のみ|先生|母|父|祖[父母]|叔[父母]|メンバー|ユーザー|チーム"
    r"|社長|監督|教授|夫人?|妻|兄|弟|姉|妹|娘|息子|[ァ-ヶー]{3,}|[一-鿿々]{3,5}(?=[はがをとのら、（(・]))"
)
_CALLED = re.compile(rf"{_NAME}|[「『\"“][^」』\"”]+[」』\"”]|[ァ-ヶー]{{3,}}|`")
_PLACE = re.compile(
    r"\b(?:in|on|at|under|behind|beside|above|below|next to|near|inside|into|to|from|by|hangs?"
    r"|stands?|corner|top|bottom|left|right)\b|/\w|→|>|(?:[にでへ]|の[上下中横裏奥前]|から|まで|側|右|左|隅|棚)",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|so|due to|as|cause[sd]?|reason|in order to|otherwise|avoid"
    r"|prevents?|would|cannot|can't|to|for)\b"
    r"|(?:ため|ので|から|理由|原因|なら|防|避|せい|制限|おそれ|により|によって)",
    re.IGNORECASE,
)
_HELD = {
    Asked.WHO: _PERSON,
    Asked.WHEN: _DATE,
    Asked.HOW_MANY: _FIGURE,
    Asked.HOW_MUCH: _FIGURE,
    Asked.PRICE: _PRICE,
    Asked.WHERE: _PLACE,
    Asked.NAME: _CALLED,
}
_WITHIN = 4  # words between a number and what it counts
_WORD = re.compile(r"[a-z]+|\d[\d,.]*")


def fits(asked: Asked, text: str, beyond: str) -> float:
    """Return whether a text holds what is asked for: 1, -1 if it does not, 0 if none can tell.

    :param beyond: what it says beyond the words of the question: the year of "what was decided in
        2024" is none that answers. A reason is given by small words, which both may have.
    """
    if asked == Asked.WHY:
        return 1.0 if _REASON.search(text) else -1.0
    pattern = _HELD.get(asked)
    if pattern is None:
        return 0.0
    return 1.0 if pattern.search(beyond) else -1.0


def counts(counted: Collection[str], text: str) -> float:
    """Return whether a text holds a number of what is counted: 1, or -1; 0 if nothing is.

    :param counted: as `question_kinds.counted_in` returns it.
    """
    if not counted:
        return 0.0
    [counter, *_] = counted
    text = normalize(text)
    if not counter.isascii() or counter == "%":
        pattern = rf"(?:\d|[{_DIGITS}])[\d,.万千百億]*\s*{re.escape(counter)}"
        return 1.0 if re.search(pattern, text) else -1.0
    words = _WORD.findall(text)
    for at, word in enumerate(words):
        if re.fullmatch(_NUMBER, word):
            following = words[at + 1 : at + 1 + _WITHIN]
            if any(stem(other) in counted for other in following):
                return 1.0
    return -1.0

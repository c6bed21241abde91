"""Words of opposite meaning, as `rag.answers.stance` reads them: regular expressions over text in
normal form, English and Japanese together.
"""

from __future__ import annotations

# Where a negation turns one into the other: "not allowed" is prohibited.
AXES = {
    "allowed": (
        r"\b(?:may|can|could|allow(?:s|ed)?|permit(?:s|ted)?|possible|permissible|able to)\b"
        r"|(?<!不)許可|許され|認められ|でき|出来|(?<!不)可能|(?<!不許)(?<![許不])可(?!能)",
        r"\b(?:prohibit(?:s|ed)?|forbid(?:s|den)?|bann?(?:ed)?|disallow(?:s|ed)?|impossible)\b"
        r"|禁止|禁じ|不可|不許可|厳禁",
    ),
    "needed": (
        r"\b(?:must|ha(?:ve|s|d) to|require[sd]?|need(?:s|ed)?|necessary|mandatory|obligatory"
        r"|compulsory)\b|(?<!不)必要|必須|義務|要る|要ります|要し",
        r"\b(?:optional|voluntary|unnecessary|unneeded|superfluous)\b"
        r"|不要|任意|不必要|いらな|要らな",
    ),
    "on": (
        r"\b(?:enable[sd]?|activated?|active|(?:switched|turned) on)\b|有効|オン",
        r"\b(?:disable[sd]?|deactivated?|inactive|(?:switched|turned) off)\b|無効|オフ",
    ),
    "open": (
        r"\bopen\b|営業|開いて",
        r"\bclosed\b|休業|休館|閉鎖|定休|(?<![夏冬春秋昼])休み",
    ),
    "there": (
        r"\b(?:available|present|includ(?:es?|ed|ing)|contain(?:s|ed)?|cover(?:s|ed)?)\b"
        r"|含む|含み|含ま|補償|対象(?!外)|付属",
        r"\b(?:unavailable|absent|exclud(?:es?|ed|ing))\b|対象外|除外|除く|別途|別料金",
    ),
    "success": (
        r"\b(?:succeed(?:s|ed)?|passe[sd]|accept(?:s|ed)?|approve[sd]?)\b"
        r"|成功|承認|(?<!不)合格|(?<!不)採用",
        r"\b(?:fail(?:s|ed)?|reject(?:s|ed)?|refuse[sd]?|den(?:y|ies|ied))\b"
        r"|失敗|却下|不合格|拒否|不採用",
    ),
}
# Where it does not: what is not longer need not be shorter.
POLES = {
    "cost": (
        r"\b(?:gratis|free(?! of\b| from\b))\b|無料|無償|ただで",
        r"\b(?:pay(?:s|ing)?|paid|costs?|charged?|fees?|price[sd]?|fare)\b"
        r"|有料|料金|[\d千万]円|運賃|かかる",
    ),
    "much": (
        r"\bmore\b|\bmany\b|多[いくめか]|増[えやし加]",
        r"\b(?:less|fewer|few)\b|少[なし]?|減[っらりる少]",
    ),
    "long": (r"\blong(?:er|est)\b|長[いくめ]", r"\bshort(?:er|est)?\b|短[いくめ縮]"),
    "large": (r"\b(?:larg|bigg|great)e(?:r|st)\b|大き", r"\bsmall(?:er|est)?\b|小さ"),
    "heavy": (r"\bheav(?:y|ier|iest)\b|重[いくめか]", r"\blight(?:er|est)?\b|軽[いくめ]"),
    "high": (r"\bhigh(?:er|est)?\b|高[いくめ]", r"\blow(?:er|est)?\b|低[いくめ]"),
    "early": (
        r"\b(?:earl(?:y|ier|iest)|before|precede[sd]?)\b|早[いくめ]|以前|事前|[間後年月日の]前に?",
        r"\b(?:later?|latest|after|follow(?:s|ed))\b|遅[いくめ]|以降|事後|[間年月日の]後に?",
    ),
    "fast": (r"\bfast(?:er|est)?\b|速[いくめ]", r"\bslow(?:er|est)?\b|遅[いくめ]"),
    "strong": (r"\bstrong(?:er|est)?\b|強[いくめ]", r"\bweak(?:er|est)?\b|弱[いくめ]"),
    "growth": (
        r"\b(?:increase[sd]?|raise[sd]?|rose|grew|grows?)\b|増|上げ|上が",
        r"\b(?:decrease[sd]?|lower(?:s|ed)|reduce[sd]?|fell|shrank|shrinks?|cut)\b|減|下げ|下が",
    ),
    "always": (
        r"\b(?:always|every time)\b|常に|いつも|必ず",
        r"\b(?:sometimes|rarely|seldom)\b|時々|まれに",
    ),
    "new": (r"\bnew(?:er|est)?\b|新し|最新", r"\b(?:old(?:er|est)?|former)\b|古[いくめ]|旧"),
    "begin": (
        r"\b(?:begins?|began|starts?|started|opens)\b|始ま|開始|開く",
        r"\b(?:ends?|ended|stops?|stopped|closes)\b|終わ|終了|閉まる",
    ),
    "left": (r"\bleft\b|左", r"\bright\b|右"),
    "inside": (
        r"\b(?:inside|indoors?)\b|室内|屋内|内側|の[中内][にでへの]",
        r"\b(?:outside|outdoors?)\b|室外|屋外|外側|の外[にでへの]",
    ),
    "morning": (r"\bmorning\b|午前|朝", r"\b(?:evening|night|afternoon)\b|午後|夜|夕方"),
    "dark": (r"\bdark\b|深煎り|暗い|濃い", r"\blight\b|浅煎り|明るい|薄い"),
    "odd": (r"\bodd\b|奇数", r"\beven (?=\w+s\b)|偶数"),
    "private": (r"\bprivate\b|非公開", r"\bpublic\b|(?<!非)公開"),
}
# In what time something recurs.
PERIODS = {
    "day": r"\b(?:a|per|each|every|of the) (?:working )?day\b|\b(?:daily|nightly|every night)\b"
    r"|毎[日晩朝]|[一1]日に|日に[\d一二三]|[一1]日(?=[\d一二三]+[回度])",
    "week": r"\b(?:a|per|each|every) week\b|\bweekly\b|毎週|週に?(?=[\d一二三])",
    "month": r"\b(?:a|per|each|every|of the) month\b|\bmonthly\b"
    r"|毎月|(?<!\d)月に?(?=[\d一二三,]+[円回度])",
    "year": r"\b(?:a|per|each|every) year\b|\b(?:yearly|annual(?:ly)?)\b"
    r"|毎年|年に?(?=[\d一二三]+[回度日])|年間",
}
# What looks like a negation and is none, or says in several words what one word says.
READ_AS = (
    (r"\b(?:no|not) (?:more|less|fewer|later|earlier) than\b|\bnot only\b", " "),
    (
        r"\b(?:free of charge|without (?:paying|payment|charge|cost|a fee)|no (?:charge|fee|cost)"
        r"|costs? nothing)\b",
        " gratis ",
    ),
    (r"\b(?:must|may|should|shall) (?:not|never)\b|\bmustn't\b", " prohibited "),
    (r"\b(?:can|could) ?(?:not|n't|never)\b|\bcan't\b", " prohibited "),
    (
        r"\b(?:do|does|did)(?: not|n't) (?:have|need) to\b|\b(?:need not|needn't)\b",
        " optional ",
    ),
    (r"(?:^|[.;:,]\s*)(?:please )?(?:do not|don't|never)\b(?! \w+ to\b)", " prohibited "),
    (
        r"(?:ねば|なければ|なくては)(?:なら(?:ない|ず|ぬ)|なりません|いけない|いけません)"
        r"|ないと(?:いけない|いけません)",
        "必須",
    ),
    (
        r"(?:なく|ない)(?:て)?も?(?:よい|良い|いい|かまわない|構わない|かまいません|構いません)",
        "不要",
    ),
    (r"(?:ても|でも)(?:かまわない|構わない|かまいません|構いません|よい|良い|いい)", "許可"),
    (r"(?:ては|では)(?:いけない|いけません|ならない|なりません|だめ)", "禁止"),
    (r"ないこと|ないでください", "禁止"),
    (r"かもしれ(?:ない|ません)|だけで(?:は)?なく|のみならず", ""),
    (r"しか(?P<only>[^。]{0,30}?)(?:ない|ません)", r" \g<only> "),
    (r"(?:少|すく|危|もったい|つまら|切|幼)な(?:い|く)", "少"),
    (r"で(?:は)?なく(?!な|て)|じゃなく", " "),
)
NEGATION = (
    r"\b(?:not|never|nobody|none|nothing|nowhere|neither|nor|cannot|hardly)\b|n't\b"
    r"|ない|なかっ|なく|ませんで|ません|ずに|[わらまさたかが]ず(?=[、。\s]|$)|無[理断]|不[在明評]"
    r"|未(?=[設定完実対確解使])"
)
# What is said to be missing: the next words (English) or those before it.
WITHOUT = (
    r"\b(?:without|no|excluding|except|lacks?|lacking) (?P<after>(?:[\w'-]+ ?){1,3})"
    r"|(?P<before>[^\s、。はがも]{1,8})(?:な[しく]で|なしに|無し|抜きで?)"
)
# The ends of other words in -est: west, guest, interest …
SUPERLATIVE = (
    r"\b(?:the|its|their|our|my|your) (?:\w+ )?(?:most|best|worst"
    r"|\w{2,}(?<!inter)(?<!requ)(?<!for)(?<!gu)(?<!t)(?<!w)est)\b"
    r"|最[もも大小高低良悪強弱古](?![\d限])|一番(?!目|号|線)|随一"
)

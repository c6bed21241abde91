"""Words that shape a question but not its subject."""

from __future__ import annotations

import re

from rag.text.tokenizer import stem

_ENGLISH = """
a about all also am an and any are as at be been being both but by can could did do does
doing each for from get had has have he her here him his how i if in into is it its itself
just let me more most my no nor not of on or our out over own shall she should so some such
than that the their them then there these they this those to too under up us very was we
were what when where which while who whom whose why will with would you your
aren couldn d didn doesn don hadn hasn haven isn ll m re s shouldn t ve wasn weren won wouldn
"""

STOP_TERMS = frozenset(stem(word) for word in _ENGLISH.split())

# What Japanese questions are asked with: particles and copulas are left to the IDF, which
# sees how common they are; these phrases are rare in notes and would weigh too much.
JAPANESE_QUESTION = re.compile(
    "(?:とは)?(?:何|なん|なに)(?:です|でしょう|だろう)?か?|どのように|どうやって|どうすれば|どうしたら|"
    "教えて(?:ください|下さい)?|ください|下さい|でしょうか|ですか|ますか|ましたか|のですか|いつ|どこ|だれ|誰|なぜ|どの"
)

"""What properties of notes are asked for by: "phone" by a number, "author" by who wrote."""

from __future__ import annotations

import re
from functools import lru_cache

from rag.text.scripts import HAN, HIRAGANA, KATAKANA
from rag.text.tokenizer import normalize

_UNSPACED = re.compile(f"[{HAN}{HIRAGANA}{KATAKANA}〆]")


# A line for each, in English, German and Japanese: its names, and behind the bar what else asks
# for it. A line that begins with a space goes on with the one before.
_GROUPS = """
phone, telephone, tel, mobile, cell, telefon, telefonnummer, handy, 電話, 携帯 | number call ring
  番号 rufnummer nummer
email, e-mail, mail, メール | address アドレス adresse
address, location, place, venue, adresse, anschrift, ort, 住所, 場所, 所在地, 会場 | live lives
  living 住んで wohnt
birthday, birthdate, birth, born, dob, geburtstag, geburtsdatum, geboren, 誕生日, 生年月日 |
  生まれ
owner, lead, leader, responsible, assignee, maintainer, manager, besitzer, verantwortlich,
  zuständig, leiter, 担当, 責任者, 所有者, 持ち主, リーダー | own owns runs leads manages
  maintains charge gehört besitzt leitet オーナー
author, authors, writer, autor, autorin, verfasser, 著者, 作者, 筆者, 作家 | wrote written writes
  書いた geschrieben schrieb
attendees, attendee, participants, participant, present, guests, members, teilnehmer, anwesend,
  出席者, 参加者, 出席, 参加, 参列者 | attended attend joined met meet 出た 会った teilgenommen
chair, chairperson, moderator, host, facilitator, moderation, vorsitz, 司会, 議長, 進行役 |
  chaired led hosted moderiert
role, job, occupation, profession, position, beruf, rolle, funktion, 役割, 職業, 役職, 職種,
  肩書き | work works 仕事
status, state, stage, progress, stand, 状態, ステータス, 状況, 進捗 |
due, deadline, frist, fällig, fälligkeit, 期限, 締切, 締め切り, 〆切, 期日, 納期 |
start, started, starts, begin, begins, beginn, 開始, 開始日 | began 始まる 始まった
end, ended, ends, ende, 終了, 終了日 | 終わる 終わった
expires, expiry, renewal, renews, renew, ablauf, gültig, 更新, 更新日, 有効期限 | expire ends
  valid 切れる läuft
price, cost, costs, fee, amount, preis, kosten, gebühr, betrag, 価格, 値段, 料金, 費用, 金額 |
  paid pay 払った kostet
capacity, seats, kapazität, plätze, 定員, 収容人数, 席数 | people fit fits seat 入る 入れる
  personen
bought, purchased, purchase, gekauft, kaufdatum, 購入, 購入日 | buy 買った
published, publication, year, veröffentlicht, erschienen, 出版年, 発行, 刊行, 発売日 | 出版 出た
publisher, verlag, 出版社, 発行元 |
rating, stars, score, bewertung, 評価 | rated
website, url, homepage, webseite, サイト, ウェブサイト, リンク | link page address
"""


_LINES = (line.partition("|") for line in re.split(r"\n(?! )", _GROUPS.strip()))
_ASKS = [([name.strip() for name in names.split(",")], asks.strip()) for names, _, asks in _LINES]


@lru_cache(256)
def asked_by(name: str) -> str:
    """Return the words that a property is asked for by: its name, other names of the same, and
    what asks for it besides.

    >>> "wrote" in asked_by("author"), asked_by("voice")
    (True, 'voice')
    """
    plain = re.sub(r"[_\-]+", " ", normalize(name)).strip()
    words = {normalize(name), plain, *plain.split()}
    asks = [plain]
    for names, others in _ASKS:
        # Its name is one of the words, or stands in what writes no spaces.
        if any(one in words or (_UNSPACED.match(one) and one in plain) for one in names):
            asks += [*names, others]
    return " ".join(asks)


def asking(name: str, value: str) -> str:
    """Return a property in one line, with all words that it is asked for by."""
    return f"{asked_by(name)}: {value}"

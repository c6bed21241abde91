"""A vault of a journal keeper: days of one template, and notes on the topics of some of them.

Of 60 English and 40 Japanese days, some speak of a topic that has a note of its own, in other
words than that note does; the others tell of nothing that has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

EN_TOPICS = {
    "Sourdough starter": "A jar of flour and water that ferments. Keep it at room temperature and"
    " refresh it once a day; when it has doubled and smells mild it is ready to raise bread.\n\n"
    "A sluggish one wants warmth and wholemeal rye.",
    "Heat pump": "Quotes for replacing the gas boiler. The outdoor unit needs a metre of free air"
    " and a drain for condensate.\n\nRadiators upstairs may be too small for a low flow"
    " temperature; the installer calculates the loss of each room.",
    "Bee hives": "Two colonies at the end of the orchard. Inspect the frames every nine days in"
    " spring for queen cells, or half of the bees will swarm.\n\nVarroa is counted on the bottom"
    " board in August.",
    "Piano lessons": "With Mrs Harland on Thursdays. At present a minuet by Petzold and scales in"
    " two octaves.\n\nThe left hand is too loud; practise slowly with the metronome.",
    "Tax return": "Due at the end of July. Receipts for the home office, donations and travel are"
    " in the blue folder.\n\nThe form for self-employed income is filled in online.",
    "Kayak": "A touring boat of fibreglass, 4.8 metres. A crack at the keel was laminated last"
    " year.\n\nThe spray deck leaks at the seam; the paddle is on the rack in the garage.",
    "Marathon training": "Sixteen weeks to the race. Three runs a week, a long slow one on Sunday"
    " that grows by two kilometres.\n\nThe knee needs strength exercises and new shoes every"
    " 700 km.",
    "Greek holiday": "Ten days on Naxos in September. Ferry from Piraeus, a room above the harbour"
    " in Chora.\n\nHire a scooter for the mountain villages; the museum is closed on Tuesdays.",
}
EN_SPOKEN = {
    3: (
        "Sourdough starter",
        "The dough hardly rose, so I fed the jar with rye and put it by the stove to ferment.",
    ),
    11: (
        "Heat pump",
        "The fitter measured the radiators and said the old boiler could go by autumn.",
    ),
    18: (
        "Bee hives",
        "Found three queen cells in the second colony and moved two frames of brood.",
    ),
    24: ("Piano lessons", "Mrs Harland wants the minuet slower, and the left hand softer."),
    31: ("Tax return", "Sorted receipts for the home office and looked up what donations count."),
    38: ("Kayak", "Paddled to the island; water came through the seam of the spray deck again."),
    45: ("Marathon training", "Long slow run, 24 kilometres, and the knee held out to the end."),
    53: ("Greek holiday", "Booked the ferry to Naxos and asked about a scooter."),
}
_EN_LOG = (
    "A quiet day at the office, two meetings and a long lunch with Sam.",
    "Went to the market and met the neighbours on the way back.",
    "The train was late again; finished the report in the café.",
    "Cleaned the windows and called the insurance about the letter.",
    "Watched an old film with the children after supper.",
    "Had a headache until noon, then a walk along the river.",
    "The printer broke down, so everybody went home early.",
)
_EN_MUST = ("answer the post", "buy stamps", "pay the plumber", "fold the washing", "fix the lamp")
_EN_SKY = ("grey", "sunny", "rain", "wind from the west", "fog in the morning")
_EN_DAY = """---
date: {day}
tags: [journal]
---

# {day}

## Morning

- [x] stretch for ten minutes
- [x] feed the cat and empty the dishwasher
- [ ] read twenty pages before breakfast

Slept {hours} hours. Weather: {sky}, {degrees} °C.

## Plan

The one thing that must be done today: {must}.

## Log

{log}

## Evening

Lights out at eleven. Grateful for the warm house and for everybody in it.
"""

JA_TOPICS = {
    "ぬか漬け": "米ぬかと塩で床を作り、野菜を漬ける。毎日底からかき混ぜないと酸っぱくなる。\n\n"
    "きゅうりは半日、大根は一日で食べごろになる。",
    "庭の松": "門の横の黒松。春にみどりを摘み、秋に古葉を落とす。\n\n"
    "植木屋の原さんに年に二度頼む。",
    "引っ越し": "来年の三月に郊外の一軒家へ移る。見積もりは三社から取る。\n\n"
    "不用品は粗大ごみに出し、本は古書店に売る。",
    "英会話": "毎週水曜の夜、駅前の教室に通う。先生はカナダの人。\n\n"
    "発音より先に、短い文をためらわずに言うのが目標。",
    "腰痛": "整形外科で椎間板が薄いと言われた。痛み止めと湿布、座る時間を減らすこと。\n\n"
    "週に二回、体幹の運動をする。",
}
JA_SPOKEN = {
    4: ("ぬか漬け", "きゅうりが酸っぱい。かき混ぜるのを二日さぼったせいで、塩を足した。"),
    11: ("庭の松", "原さんが来て、古葉を落としてくれた。門のあたりが明るくなった。"),
    19: ("引っ越し", "業者の見積もりが届いた。古い本を売り、粗大ごみの予約をした。"),
    26: ("英会話", "先生に、短い文でいいから止まらずに言うようにと言われた。"),
    34: ("腰痛", "立ち上がると痛む。湿布を貼り、整形外科の予約を取った。"),
}
_JA_LOG = (
    "会社で会議が二つ。昼は田村さんとそばを食べた。",
    "スーパーに寄って、近所の人と立ち話をした。",
    "電車が遅れて、喫茶店で報告書を書き上げた。",
    "窓をふき、保険会社に電話をかけた。",
    "夕食のあと、子どもと古い映画を見た。",
    "午前中は頭が重く、午後に川沿いを歩いた。",
)
_JA_MUST = ("手紙の返事", "切手を買う", "電気代を払う", "洗濯物をたたむ")
_JA_SKY = ("くもり", "晴れ", "雨", "風が強い")
_JA_DAY = """---
date: {day}
tags: [日記]
---

# {day}

## 朝

- [x] 十分間の体操
- [x] 猫にえさをやり、食器を片づける
- [ ] 朝食の前に本を二十ページ読む

睡眠は{hours}時間。天気は{sky}、{degrees}度。

## 予定

今日かならずやること: {must}。

## できごと

{log}

## 夜

十一時に消灯。家が暖かいことと、家族がみな元気なことに感謝。
"""


def day_path(number: int) -> str:
    """Return the path of a day of the journal, in either language."""
    return f"days/{_day(number)}.md"


def english_days() -> dict[str, str]:
    """Return 60 days and eight topics: the notes of a vault, by path."""
    spoken = {number: text for number, (_, text) in EN_SPOKEN.items()}
    varied = (_EN_LOG, _EN_MUST, _EN_SKY)
    return dict([*_topics(EN_TOPICS), *_days(60, _EN_DAY, spoken, *varied)])


def japanese_days() -> dict[str, str]:
    """Return 40 days and five topics: the notes of a vault, by path."""
    spoken = {number: text for number, (_, text) in JA_SPOKEN.items()}
    varied = (_JA_LOG, _JA_MUST, _JA_SKY)
    return dict([*_topics(JA_TOPICS), *_days(40, _JA_DAY, spoken, *varied)])


def _topics(topics: dict[str, str]) -> Iterator[tuple[str, str]]:
    for title, text in topics.items():
        yield f"topics/{title}.md", f"# {title}\n\n{text}\n"


def _days(
    count: int,
    template: str,
    spoken: dict[int, str],
    log: tuple[str, ...],
    must: tuple[str, ...],
    sky: tuple[str, ...],
) -> Iterator[tuple[str, str]]:
    for number in range(count):
        yield (
            day_path(number),
            template.format(
                day=_day(number),
                hours=6 + number % 3,
                sky=sky[number * 3 % len(sky)],
                degrees=4 + number * 5 % 17,
                must=must[number * 2 % len(must)],
                log=spoken.get(number, log[number * 4 % len(log)]),
            ),
        )


def _day(number: int) -> date:
    return date(2026, 2, 1) + timedelta(number)

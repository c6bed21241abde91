"""Documents of several kinds, in English and Japanese, and what is asked of them.

A document begins with `=== path | title`, a PDF with the program that makes it, too; a page with
`--- heading`. Most documents have one or two neighbours on nearly the same subject.
"""

from typing import NamedTuple

TEXT = """
=== manuals/Aquila.pdf | Aquila heat pump: manual | reportlab
--- Installing the outdoor unit
Put the outdoor unit on a slab of concrete, at least 40 cm away from any wall. The distance to the
window of a neighbour must be 3 metres or more because of the noise. Do not install it under a tree.
--- Choosing a mode
The button with the leaf switches to the economy mode, which keeps the rooms at 18 degrees. Holiday
mode protects the pipes from freezing and lasts until you press the button again.
--- Error codes
E3 means that the fan is blocked by ice or leaves: clear it and start again. E7 stands for too
little pressure of the refrigerant, which only a certified technician may refill.
--- Care
Clean the air filter every four weeks with lukewarm water. The warranty of five years is void when
the yearly inspection was left out.
=== manuals/Corvus.pdf | Corvus gas boiler: manual | fpdf
--- Installing the boiler
The boiler hangs on a wall that carries 60 kg. Leave 20 cm free on both sides for the technician.
The exhaust pipe must rise by three degrees and must not end below a window.
--- Choosing a mode
Turn the wheel to the sun for summer mode, in which only tap water is heated. The comfort mode keeps
five litres warm all day, so that no one waits in the shower.
--- Error codes
F3 means that no flame was seen at ignition: open the gas tap and press reset. F7 stands for
overheating, mostly because the pump is stuck. Smell of gas? Close the tap and call 0800 5550.
--- Care
Top up the water when the pressure falls below 1.2 bar. The chimney sweep measures the exhaust once
a year. The warranty is two years, ten on the heat exchanger.
=== manuals/Pavo.pdf | Pavo water heater: manual | raw
--- Installing the water heater
The tank of 80 litres is screwed to a solid wall by four bolts. It needs a fuse of 16 amperes of its
own, and must not be put into a room that freezes.
--- Temperature
The dial has the marks eco, 60 and max. Once a week the water is heated to 65 degrees by itself,
against legionella. Children can be kept from changing the dial by the small lock below it.
--- Care and faults
Replace the magnesium rod every two years; a red lamp that blinks three times says that it is used
up. Descale the element where the water is hard.
=== contracts/Harbour Street.pdf | Lease of the flat in Harbour Street 12 | reportlab
--- Term and notice
The lease begins on 1 April 2021 and has no end. The tenant may end it with three months of notice,
in writing, to the end of a month. The landlord is Edda Brandt.
--- Rent and deposit
The rent is 940 euro a month, due on the third working day. Heating costs 110 euro in advance. The
deposit of 2,820 euro is kept on a savings account and paid back within six months.
--- Animals and noise
Cats and small animals are allowed; a dog needs the consent of the landlord. Drums, trumpets and the
like may be played for two hours a day, never after 8 pm.
--- Handing over
When moving out the walls must be white. Holes of up to 8 mm are filled by the tenant. Five keys
were handed over, and a lost one costs 45 euro.
=== contracts/Mill Lane.pdf | Lease of the house in Mill Lane 3 | fpdf
--- Term and notice
The lease begins on 1 October 2023 and lasts for four years. Either side may end it earlier only for
a serious reason. The landlord is the foundation Old Mill.
--- Rent and deposit
The rent is 1,480 euro a month and rises by two percent every October. The tenant pays for oil and
electricity directly. A guarantee by a bank of 4,000 euro stands in for the deposit.
--- Garden and animals
The tenant cuts the hedge in February and mows the lawn. Hens may be kept, up to six, but no cock.
Open fires in the garden are forbidden from May to September.
--- Repairs
The tenant pays for repairs of up to 120 euro each, at most 600 euro a year. Damage by storms must
be reported within two days.
=== contracts/Kontor.pdf | Lease of the office in the Kontor house | raw
--- Term and notice
The office on the third floor is let for five years from 1 January 2024. The tenant may extend once,
by three more years, and has to say so a year before the end.
--- Rent
The rent is 22 euro per square metre and month, for 140 square metres, plus value added tax. Four
places to park in the basement cost 85 euro each.
--- Use
The doors are open from six to ten; at other times the badge is needed. Signs on the front need the
consent of the owner. Subletting is allowed to companies of the same group only.
=== reports/Annual 2022.pdf | Ferry company: report on 2022 | reportlab
--- The year in short
In 2022 we carried 412,000 passengers, a fifth more than in the year before. The winter timetable
was cut by nine crossings, for lack of crews.
--- Ships
The Marlin was in dock for eleven weeks and got new engines. The old ferry Sturgeon was sold to
Norway.
--- Staff
We employed 138 people, 12 of them apprentices. Sick leave rose to 6.4 percent. A new agreement with
the union shortened the week to 37 hours.
--- Outlook
We expect fuel to cost a third more. The pier at Norby will be closed for building works in autumn.
=== reports/Annual 2023.pdf | Ferry company: report on 2023 | fpdf
--- The year in short
In 2023 we carried 455,000 passengers. The storm of October stopped all crossings for six days, the
longest break since the company was founded.
--- Ships
The Heringa, our first ship with batteries, was christened in May. It charges at the pier in twelve
minutes. The Marlin had no days out of service.
--- Staff
We employed 149 people, 15 of them apprentices. Sick leave fell to 5.1 percent. Two captains retired
after more than thirty years.
--- Outlook
Tickets become four percent dearer in March. A second ship with batteries is ordered for 2025.
=== reports/Annual 2024.pdf | Ferry company: report on 2024 | raw
--- The year in short
In 2024 we carried 449,000 passengers. Fog in November caused most of the 63 crossings that were
cancelled.
--- Ships
The Heringa lost one of its battery blocks by a fault of the cooling, and ran at half speed for five
weeks. The Marlin was painted.
--- Staff
We employed 151 people. Sick leave was 5.6 percent. A day nursery for the children of crews opened
in Norby.
=== papers/City bees.pdf | Wild bees in cities | reportlab
--- Method
We counted wild bees in 32 parks between April and August, on dry days above 15 degrees, by pan
traps of three colours that were emptied after 24 hours.
--- Results
We found 91 species. Parks whose lawn was mown twice a year had 2.3 times as many bees as those that
were mown every two weeks. The distance to the centre made no difference.
--- Discussion
Artificial light at night may explain why moths, but not bees, became fewer. Cities can stand in for
meadows where these are lost.
=== papers/Farm bees.pdf | Wild bees on farms | fpdf
--- Method
We walked along 48 strips of flowers next to fields of rape and noted each bee within two metres. A
walk took twenty minutes and was repeated five times.
--- Results
We found 64 species. Strips that were older than four years had twice as many nests in the ground.
Within 300 metres of a hedge bumblebees were more frequent.
--- Discussion
Money for strips of flowers should be paid for at least five years. Insecticides were found in the
pollen of every second nest.
=== 規程/出張旅費.pdf | 出張旅費規程 | reportlab
--- 申請
出張する者は、出発の五営業日前までに申請書を上長へ提出する。海外出張の場合は部長の承認も必要である。
急な出張では、帰着後三日以内に届け出ればよい。
--- 交通費
新幹線は普通車指定席を利用する。片道が四時間を超えるときはグリーン車を認める。自家用車を使う場合は一キロあたり二十五円を支給する。
--- 宿泊費と日当
宿泊費の上限は一泊一万二千円とする。東京と大阪では一万五千円まで認める。日当は国内が二千円、海外が五千円である。
--- 精算
領収書を添えて、帰着から十日以内に精算する。領収書をなくしたときは支払証明書を出す。
=== 規程/在宅勤務.pdf | 在宅勤務規程 | reportlab
--- 対象と申請
在宅勤務は週三日までとし、前の週の木曜日までに上長へ申し出る。入社して三か月に満たない者は対象としない。
--- 勤務時間と連絡
勤務の開始と終了をチャットで知らせる。十時から十五時までは必ず連絡が取れる状態でいること。深夜の勤務は認めない。
--- 費用と機器
通信費の補助として月に三千円を支給する。椅子を買う場合は二万円まで会社が負担する。会社のパソコンを家族に使わせてはならない。
=== 手順/サーバー障害.pdf | サーバー障害の対応手順 | reportlab
--- 最初の連絡
障害に気づいた人は、まず当番の携帯電話に連絡する。十五分たっても折り返しがなければ、情報システム課長に電話をかける。
--- 切り分け
監視画面でディスクの空きを確かめる。空きが五パーセントを下回ったら古いログを消す。メモリーの不足なら該当の処理を再起動する。
--- 復旧
データベースは前の晩の三時に取った控えから戻す。戻すのにおよそ四十分かかる。戻したあとは経理部に伝票の再入力を頼む。
--- 報告
復旧した翌日の正午までに、原因と影響をまとめた報告書を出す。二か月以内に同じ障害が起きたら、対策会議を開く。
=== 手順/ネットワーク障害.pdf | ネットワーク障害の対応手順 | reportlab
--- 最初の連絡
回線が切れたときは、通信会社の窓口に契約番号を伝えて調査を頼む。窓口は二十四時間受け付けている。
--- 切り分け
二階の配線盤にある予備の機器に差し替えて、通信が戻るかを試す。無線だけが使えないときは、天井の親機の電源を入れ直す。
--- 復旧
予備の回線への切り替えは自動で行われるが、戻すのは手作業である。切り替え中はテレビ会議を使わないよう全員に知らせる。
=== talks/Heron kickoff.pptx | Project Heron: kick-off
--- Why Heron
Customers wait nine days for an offer today. With Heron it shall be two.
--- Team
Ines leads the project. Tarek builds the interface, Molly the data model.
Notes: Say that Tarek comes back from parental leave in March only.
--- Budget
Item | Euro
Licences | 18000
Consultants | 42000
--- Dates
The first version goes to the branch in Graz on 2 May. All branches follow in September.
=== talks/Heron review.pptx | Project Heron: review
--- What went well
Offers take three days on average. The branch in Graz asks for more.
--- What went wrong
The import of old customers lost every umlaut. We tested with English names alone.
--- Costs
Item | Euro
Licences | 21500
Consultants | 57000
Notes: The consultants cost more as the import was written twice.
--- Next
Linz begins in November. Ines hands the project over to Molly.
=== 発表/新製品.pptx | 新しい水筒の計画
--- ねらい
通勤する人に向けた軽い水筒を出す。重さは二百グラム以下にする。
--- 販売
発売は十月一日、価格は三千二百円とする。
話すこと: 量販店より先に自社の通販で売る。
--- 競合
他社の水筒は重いが、保温の時間が長い。
=== trips/Lisbon.docx | Trip to Lisbon
--- Getting there
We take the night train to Madrid and a bus from there. The flat is above a bakery in Alfama, and
the key lies in a box whose code Nuno sends.
--- Plans
On Tuesday we go to Sintra, early, since the palace is full by eleven. Tram 28 is best after dark.
=== trips/Porto.docx | Trip to Porto
--- Getting there
We fly to Porto by way of Basel. The hotel is next to the station of Sao Bento; breakfast is extra.
--- Plans
On Wednesday there is a boat up the Douro, with lunch on board. The bookshop wants tickets, which
must be bought the day before.
=== 議事録/六月.docx | 六月の定例会
--- 決まったこと
受付の人数を二人から三人に増やす。駐車場の舗装は来年度に延ばす。
--- 次回まで
佐々木さんが夏祭りの屋台の数を調べる。
=== 議事録/七月.docx | 七月の定例会
--- 決まったこと
夏祭りの屋台は十二店とし、雨のときは体育館で開く。
--- 次回まで
森さんが消防署に火の使用を届け出る。
=== lists/Cellar.xlsx | What is in the cellar
--- Shelf left
Thing | Number | Since
Jam jars | 46 | 2019
Skis of Paul | 2 | 2021
--- Shelf right
Thing | Number | Since
Paint for the fence | 3 | 2022
Camping stove | 1 | 2016
=== lists/Attic.xlsx | What is in the attic
--- North
Thing | Number | Since
Christmas decoration | 5 | 2012
Cradle of grandmother | 1 | 1951
--- South
Thing | Number | Since
Suitcases | 4 | 2018
=== 一覧/備品.xlsx | 備品台帳
--- 事務所
品名 | 数 | 置き場所
プロジェクター | 2 | 会議室の棚
延長コード | 9 | 倉庫の赤い箱
=== lists/Suppliers.csv | Suppliers
--- all
Company | Delivers | Contact | Phone
Nordwool | insulation | Silke Harms | 0461 2211
Brix and Co | bricks | Juri Lang | 0461 7788
Glaswerk Ost | windows | Petra Noll | 0355 9090
=== web/Sourdough.html | Sourdough bread
--- Starter
Mix rye flour and water and feed it for five days at 26 degrees. It is ready when it floats.
--- Baking
Bake at 250 degrees for ten minutes with steam, then at 210 for forty more.
=== web/Soda bread.html | Soda bread
--- Dough
Buttermilk makes the soda rise: no yeast is needed. Knead it for a minute at most.
--- Baking
Cut a cross into the loaf, so that it opens evenly, and bake it at 200 degrees.
=== mail/Roofer.txt | Offer for the roof
--- Offer
Replacing the gutters on the north side costs 1,950 euro, the scaffold included. We could begin in
the second week of June. The offer holds for thirty days.
=== log/Garden.org | Garden log
--- April
Sowed carrots and peas below the fleece. Snails ate the first lettuce.
--- July
The quince has rust; cut the branches that had it. Picked nine kilograms of currants.
=== docs/Backup tool.rst | Backup tool
--- Schedule
The tool copies the home folders at 01:30 and keeps fourteen copies, then one a month.
--- Restoring
Call restore with the day and the folder; files that exist are kept under another name.
"""


class Written(NamedTuple):
    """A document: its path, title, the program that makes it, and its pages."""

    path: str
    title: str
    program: str
    pages: list[str]


def _written(part: str) -> Written:
    head, *pages = part.strip().split("\n--- ")
    path, title, program = (*head.split(" | "), "")[:3]
    is_japanese = not path.isascii()
    return Written(path, title, program, [_page(page, is_japanese) for page in pages])


def _page(page: str, is_japanese: bool) -> str:
    """Return a page as `document_files` takes it: a paragraph is one line there."""
    heading, *lines = page.split("\n")
    table = [line for line in lines if " | " in line]
    notes = [
        line.replace("話すこと", "Notes") for line in lines if line[:4] in ("Note", "話すこと")
    ]
    rest = [line for line in lines if " | " not in line and line[:4] not in ("Note", "話すこと")]
    paragraph = ("" if is_japanese else " ").join(rest)
    return "\n\n".join(filter(None, [f"# {heading}", paragraph, "\n".join(table), *notes]))


DOCUMENTS = [_written(part) for part in TEXT.split("\n=== ")[1:]]

# Question, file, and the page or slide (0 where the file has none) that answers it.
QUESTIONS = [
    ("how far from a wall does the Aquila outdoor unit have to be?", "manuals/Aquila.pdf", 1),
    ("what does the economy mode of the heat pump do", "manuals/Aquila.pdf", 2),
    ("heat pump shows E7", "manuals/Aquila.pdf", 3),
    ("How often should I clean the air filter?", "manuals/Aquila.pdf", 4),
    ("how much weight must the wall carry for the boiler?", "manuals/Corvus.pdf", 1),
    ("summer mode of the gas boiler", "manuals/Corvus.pdf", 2),
    ("What is error F3?", "manuals/Corvus.pdf", 3),
    ("at what pressure do I top up the water", "manuals/Corvus.pdf", 4),
    ("which fuse does the water heater need?", "manuals/Pavo.pdf", 1),
    ("legionella", "manuals/Pavo.pdf", 2),
    ("when is the magnesium rod due", "manuals/Pavo.pdf", 3),
    ("notice period of the flat in Harbour Street", "contracts/Harbour Street.pdf", 1),
    ("How much is the deposit for Harbour Street?", "contracts/Harbour Street.pdf", 2),
    ("may I play the trumpet in the flat in the evening?", "contracts/Harbour Street.pdf", 3),
    ("what does a lost key cost", "contracts/Harbour Street.pdf", 4),
    ("who is the landlord in Mill Lane?", "contracts/Mill Lane.pdf", 1),
    ("by how much does the rent rise every year", "contracts/Mill Lane.pdf", 2),
    ("how many hens can we keep?", "contracts/Mill Lane.pdf", 3),
    ("can we extend the lease of the office", "contracts/Kontor.pdf", 1),
    ("price of a place to park in the Kontor house", "contracts/Kontor.pdf", 2),
    ("How many passengers were carried in 2022?", "reports/Annual 2022.pdf", 1),
    ("which ship was sold to Norway?", "reports/Annual 2022.pdf", 2),
    ("agreement with the union about the working week", "reports/Annual 2022.pdf", 3),
    ("how many days did the October storm stop the ferries", "reports/Annual 2023.pdf", 1),
    ("How long does the Heringa charge?", "reports/Annual 2023.pdf", 2),
    ("how many employees and apprentices in 2023", "reports/Annual 2023.pdf", 3),
    ("fault of a battery block of the Heringa", "reports/Annual 2024.pdf", 2),
    ("day nursery", "reports/Annual 2024.pdf", 3),
    ("how were bees counted in the parks?", "papers/City bees.pdf", 1),
    ("mowing the lawn and the number of bees", "papers/City bees.pdf", 2),
    ("insecticides in pollen", "papers/Farm bees.pdf", 3),
    ("出張の申請はいつまでに出せばいいですか", "規程/出張旅費.pdf", 1),
    ("グリーン車に乗れる条件", "規程/出張旅費.pdf", 2),
    ("大阪に泊まるときの宿泊費の上限", "規程/出張旅費.pdf", 3),
    ("在宅勤務は週に何日できる？", "規程/在宅勤務.pdf", 1),
    ("通信費の補助はいくら", "規程/在宅勤務.pdf", 3),
    ("データベースを戻すのに何分かかる？", "手順/サーバー障害.pdf", 3),
    ("障害の報告書の期限", "手順/サーバー障害.pdf", 4),
    ("無線だけ使えないときはどうする", "手順/ネットワーク障害.pdf", 2),
    ("who builds the interface of Heron?", "talks/Heron kickoff.pptx", 2),
    ("when does Graz get the first version", "talks/Heron kickoff.pptx", 4),
    ("Why did the import of customers go wrong?", "talks/Heron review.pptx", 2),
    ("水筒の発売日", "発表/新製品.pptx", 2),
    ("What do we do in Sintra?", "trips/Lisbon.docx", 0),
    ("boat on the Douro", "trips/Porto.docx", 0),
    ("夏祭りは雨が降ったらどこで開く", "議事録/七月.docx", 0),
    ("how many jam jars do we have?", "lists/Cellar.xlsx", 0),
    ("プロジェクターの置き場所", "一覧/備品.xlsx", 0),
    ("phone number of Glaswerk Ost", "lists/Suppliers.csv", 0),
    ("when is a sourdough starter ready?", "web/Sourdough.html", 0),
]
# These hardly share a word with what answers them.
PARAPHRASES = [
    ("the fan of the heat pump doesn't turn in winter", "manuals/Aquila.pdf", 3),
    ("it stinks of gas, whom do I phone?", "manuals/Corvus.pdf", 3),
    ("are dogs ok in Harbour Street", "contracts/Harbour Street.pdf", 3),
    ("who pays when something in the house in Mill Lane breaks", "contracts/Mill Lane.pdf", 4),
    ("can we rent out part of the office to another firm", "contracts/Kontor.pdf", 3),
    ("how ill was the staff in 2023", "reports/Annual 2023.pdf", 3),
    ("レシートを紛失した", "規程/出張旅費.pdf", 4),
    ("当番が電話に出ないときは誰に連絡する", "手順/サーバー障害.pdf", 1),
    ("what was paid for consultants in the end, and why more", "talks/Heron review.pptx", 3),
    ("do I have to make reservations for the bookshop in Porto", "trips/Porto.docx", 0),
]
# Answers in PDFs that `rag ask` must cite with their page.
ASKED = [
    ("What does error F7 of the gas boiler stand for?", "manuals/Corvus.pdf", 3),
    ("How long is the warranty of the Aquila heat pump?", "manuals/Aquila.pdf", 4),
    ("What does a lost key cost in Harbour Street?", "contracts/Harbour Street.pdf", 4),
    ("When does the lease in Mill Lane begin?", "contracts/Mill Lane.pdf", 1),
    ("How many passengers did the ferry company carry in 2023?", "reports/Annual 2023.pdf", 1),
    ("How many species of bees were found in parks?", "papers/City bees.pdf", 2),
    ("How many litres does the tank of the Pavo hold?", "manuals/Pavo.pdf", 1),
    ("海外出張の日当はいくらですか？", "規程/出張旅費.pdf", 3),
    ("在宅勤務で椅子を買う場合、会社はいくら負担しますか？", "規程/在宅勤務.pdf", 3),
    ("ディスクの空きが何パーセントを下回ったらログを消しますか？", "手順/サーバー障害.pdf", 2),
]

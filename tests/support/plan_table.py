"""What people ask for, and the plan they would expect: the measure of the planner.

Each row was written as a person would answer it, before looking at what the rules make of it.
"""

from datetime import date
from typing import Any, NamedTuple

from rag.query.planner.names import StaticCatalogue

TODAY = date(2026, 11, 21)  # a Saturday

CATALOGUE = StaticCatalogue(
    vaults=[
        *("work", "personal", "research", "garden", "home lab", "Book club", "Daily notes"),
        *("仕事", "日記", "読書", "研究室", "レシピ"),
    ],
    tags=[
        *("kubernetes", "kubernetes/storage", "docker", "helm", "containers", "deployment"),
        *("rollback", "incident", "postmortem", "security", "security/tls", "python"),
        *("python/asyncio", "rust", "machine-learning", "deep-learning", "database"),
        *("database/postgres", "meeting", "meeting/weekly", "project", "project/alpha"),
        *("project/beta", "idea", "book", "book-review", "recipe", "recipe/soup", "travel"),
        *("travel/kyoto", "health", "finance", "finance/tax", "todo", "journal", "design"),
        *("design-system", "internationalization", "accessibility", "observability", "gtd"),
        *("c++", "2026-goals", "会議", "会議/定例", "議事録", "料理", "料理/和食", "旅行"),
        *("旅行/京都", "読書メモ", "証明書", "健康", "確定申告", "アイデア", "振り返り"),
        *("プロジェクト", "プロジェクト/甲", "障害", "障害対応", "機械学習", "英語", "設計"),
        *("買い物", "引っ越し"),
    ],
    titles=[
        *("Deploy checklist", "Kubernetes rollback guide", "Weekly review", "1984"),
        *("March plan", "Tax return 2025", "Yesterday", "Reading list", "Café notes"),
        *("障害対応手順", "議事録の書き方", "引っ越しの準備", "世界の終わり", "年間計画"),
    ],
    aliases={"Release checklist": "Deploy checklist", "障害マニュアル": "障害対応手順"},
    fields={
        "status": ["draft", "done", "in progress", "完了", "下書き"],
        "author": ["Sato", "Alice Smith", "佐藤", "田中"],
        "due": ["2026-11-30", "2026-12-15"],
        "priority": ["high", "low", "高"],
        "type": ["how-to", "meeting", "recipe"],
        "rating": ["5", "4", "3"],
    },
)


class Row(NamedTuple):
    """A query and its plan.

    :param filters: what differs from a plan without filters, by the names of
        `MetadataExtraction`; `window` is first day, last day and field.
    :param text: what is left to rank by.
    """

    query: str
    filters: dict[str, Any]
    text: str
    route: str


def day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


def created(first: str | None, last: str | None = None) -> tuple[Any, ...]:
    return day(first), day(last), "created"


def modified(first: str | None, last: str | None = None) -> tuple[Any, ...]:
    return day(first), day(last), "modified"


def on(first: str) -> tuple[Any, ...]:
    return created(first, first)


def row(query: str, text: str, **filters: Any) -> Row:
    """A query that filters, by the fields too that its values are of: without words left, notes are
    listed."""
    if "values" in filters:
        filters = {"fields": [*filters["values"]], **filters}
    return Row(query, filters, text, "hybrid_both" if text else "metadata_only")


def plain(query: str, **filters: Any) -> Row:
    """A query in which nothing filters, and whose every word is a topic."""
    return Row(query, filters, query, "hybrid_both")


LAST_WEEK = created("2026-11-09", "2026-11-15")
THIS_WEEK = created("2026-11-16", "2026-11-22")
LAST_MONTH = created("2026-10-01", "2026-10-31")
THIS_MONTH = created("2026-11-01", "2026-11-30")
LAST_YEAR = created("2025-01-01", "2025-12-31")
THIS_YEAR = created("2026-01-01", "2026-12-31")
YESTERDAY = on("2026-11-20")
RECENT = created("2026-10-23", "2026-11-21")

TAGS = [
    row("#kubernetes", "", tags=["kubernetes"]),
    row("#Kubernetes rollback", "rollback", tags=["kubernetes"]),
    row("#k8s storage classes", "storage classes", tags=["kubernetes"]),
    row("#security/tls renewals", "renewals", tags=["security/tls"]),
    row("#python #rust error handling", "error handling", tags=["python", "rust"]),
    row("how do I roll back #helm", "how do I roll back", tags=["helm"]),
    row("notes tagged kubernetes", "", tags=["kubernetes"]),
    row("Notes tagged K8S about rollbacks", "rollbacks", tags=["kubernetes"]),
    row("notes tagged kuberntes", "", tags=["kubernetes"]),
    row("tagged meetings", "", tags=["meeting"]),
    row("anything tagged machine learning", "", tags=["machine-learning"]),
    row("tagged python and rust about lifetimes", "lifetimes", tags=["python", "rust"]),
    row("notes tagged python or rust", "", tags=["python", "rust"], tag_match="any"),
    row("notes tagged docker, helm and rust", "", tags=["docker", "helm", "rust"]),
    row("notes with the tag travel about hotels", "hotels", tags=["travel"]),
    row("with tags health, finance", "", tags=["health", "finance"]),
    row("everything with tag postgres", "", tags=["database/postgres"]),
    row("tag: recipe soup ideas", "soup ideas", tags=["recipe"]),
    row("asyncio notes not tagged rust", "asyncio", excluded_tags=["rust"]),
    row("backup notes without the tag incident", "backup", excluded_tags=["incident"]),
    row("#docker but not #kubernetes", "", tags=["docker"], excluded_tags=["kubernetes"]),
    row("show me all my notes tagged i18n", "", tags=["internationalization"]),
    row("show me notes tagged 'book review'", "", tags=["book-review"]),
    row('notes tagged "book review" about Orwell', "Orwell", tags=["book-review"]),
    row("#a11y audit", "audit", tags=["accessibility"]),
    row("my #todo list for the garden", "list for the garden", tags=["todo"]),
    *map(plain, ("notes tagged blockchain", "#blockchain wallets")),
    row("#docker #blockchain wallets", "#blockchain wallets", tags=["docker"]),
    *map(plain, ("tag cloud design", "issue #42 in the tracker", "C# generics")),
    *map(plain, ("how do tags work", "C++ templates", "price tag printing")),
    row("#会議", "", tags=["会議"]),
    row("#料理/和食 の出汁", "出汁", tags=["料理/和食"]),
    row("#障害対応のノート", "", tags=["障害対応"]),
    row("#旅行/京都の宿", "宿", tags=["旅行/京都"]),
    row("＃会議　の決定事項", "決定事項", tags=["会議"]),
    row("タグ健康のノート", "", tags=["健康"]),
    row("タグが確定申告のメモを探して", "", tags=["確定申告"]),
    row("議事録タグの予算について", "予算", tags=["議事録"]),
    row("タグ「読書メモ」のノート", "", tags=["読書メモ"]),
    row("「機械学習」タグの付いたノート", "", tags=["機械学習"]),
    row("機械学習タグ付きの過学習に関するノート", "過学習", tags=["機械学習"]),
    row("タグ旅行と料理のノート", "", tags=["旅行", "料理"]),
    row("旅行または料理のタグが付いたノート", "", tags=["旅行", "料理"], tag_match="any"),
    row("#旅行 タグ料理なし", "", tags=["旅行"], excluded_tags=["料理"]),
    row("#会議 以外の議事録の書き方", "議事録の書き方", excluded_tags=["会議"]),
    row("障害タグ以外のデプロイ手順", "デプロイ手順", excluded_tags=["障害"]),
    row("kubernetesタグの障害についてのメモ", "障害", tags=["kubernetes"]),
    row("ｋ８ｓタグのノート", "", tags=["kubernetes"]),
    row("タグ：英語　発音", "発音", tags=["英語"]),
    *map(plain, ("タグ付けの方法", "タグ量子のノート", "#量子 もつれ", "タグの使い方")),
    *map(plain, ("価格タグの印刷", "機械学習の過学習")),
]

VAULTS = [
    row("rollbacks in my work vault", "rollbacks", vaults=["work"]),
    row("from the research vault: attention papers", "attention papers", vaults=["research"]),
    row("pruning roses in vault garden", "pruning roses", vaults=["garden"]),
    row("raspberry pi cluster in my home lab vault", "raspberry pi cluster", vaults=["home lab"]),
    row("notes from the work and personal vaults", "", vaults=["work", "personal"]),
    row("everything in the Daily Notes vault", "", vaults=["Daily notes"]),
    row("list my reserch vault notes about GPUs", "GPUs", vaults=["research"]),
    row(
        "what did we decide on pricing in our work vault?",
        "what did we decide on pricing",
        vaults=["work"],
    ),
    *map(plain, ("budget in my finance vault", "how to create a vault", "Fort Knox bank vault")),
    plain("work life balance"),
    row("仕事保管庫の議事録の書き方", "議事録の書き方", vaults=["仕事"]),
    row("日記の保管庫から旅行の話", "旅行の話", vaults=["日記"]),
    row("保管庫「研究室」の実験手順", "実験手順", vaults=["研究室"]),
    row("workの保管庫でロールバック", "ロールバック", vaults=["work"]),
    row("レシピのvaultにあるカレー", "カレー", vaults=["レシピ"]),
    row("仕事と読書の保管庫のノート", "", vaults=["仕事", "読書"]),
    row("仕事ボルトの障害対応", "障害対応", vaults=["仕事"]),
    row("personal保管庫のノートを一覧", "", vaults=["personal"]),
    *map(plain, ("財務保管庫の予算", "保管庫の作り方", "仕事の進め方", "研究室の安全")),
]

TITLES = [
    row('the note "Deploy checklist"', "", titles=["Deploy checklist"]),
    row("the note called Weekly review", "", titles=["Weekly review"]),
    row("note titled deploy checklist about rollback", "rollback", titles=["Deploy checklist"]),
    row("rollback in the note “Release checklist”", "rollback", titles=["Deploy checklist"]),
    row(
        '"Kubernetes rollback guide" step three', "step three", titles=["Kubernetes rollback guide"]
    ),
    row('summary of the note "1984"', "", titles=["1984"]),
    row("open the note named Deploy cheklist", "", titles=["Deploy checklist"]),
    *map(plain, ('"error budget" policy', 'the note called "Quarterly goals"')),
    *map(plain, ("deploy checklist", "weekly review", "1984")),
    row("「障害対応手順」というノート", "", titles=["障害対応手順"]),
    row("『世界の終わり』の感想", "感想", titles=["世界の終わり"]),
    row("「障害マニュアル」のノートの連絡先", "連絡先", titles=["障害対応手順"]),
    row("ノート「引っ越しの準備」の段ボール", "段ボール", titles=["引っ越しの準備"]),
    row("「Weekly review」という名前のメモ", "", titles=["Weekly review"]),
    *map(plain, ("「秘密計画」というノート", "『吾輩は猫である』の感想", "世界の終わりの感想")),
    plain("年間計画の立て方"),
]

TIMES = [
    row("notes from last week", "", window=LAST_WEEK),
    row("what I wrote yesterday", "", window=YESTERDAY),
    row("meetings last month", "meetings", window=LAST_MONTH),
    row("notes about budgets from this year", "budgets", window=THIS_YEAR),
    row(
        "what did I decide about pricing last week?",
        "what did I decide about pricing",
        window=LAST_WEEK,
    ),
    row("today's notes", "", window=on("2026-11-21")),
    row("notes from today about sleep", "sleep", window=on("2026-11-21")),
    row("rollbacks in March", "rollbacks", window=created("2026-03-01", "2026-03-31")),
    row("notes from December", "", window=created("2025-12-01", "2025-12-31")),
    row("notes from March 2024 on tax", "tax", window=created("2024-03-01", "2024-03-31")),
    row("notes written in 2024", "", window=created("2024-01-01", "2024-12-31")),
    row("deploys since 2024-05", "deploys", window=created("2024-05-01")),
    row("since May", "", window=created("2026-05-01")),
    row("incidents after 2026-05-03", "incidents", window=created("2026-05-04")),
    row("journal entries before 2025", "journal", window=created(None, "2024-12-31")),
    row("ideas until yesterday", "ideas", window=created(None, "2026-11-20")),
    row(
        "notes between March and May about hiring",
        "hiring",
        window=created("2026-03-01", "2026-05-31"),
    ),
    row("notes from 2024-05-01 to 2024-05-15", "", window=created("2024-05-01", "2024-05-15")),
    row("notes from 3 May 2024", "", window=on("2024-05-03")),
    row("notes on sleep from May 3rd, 2024", "sleep", window=on("2024-05-03")),
    row("what I wrote on May 3", "", window=on("2026-05-03")),
    row("notes from the last 3 days", "", window=created("2026-11-19", "2026-11-21")),
    row("incidents in the past two weeks", "incidents", window=created("2026-11-08", "2026-11-21")),
    row(
        "travel plans from the last six months",
        "travel plans",
        window=created("2026-05-21", "2026-11-21"),
    ),
    row("notes from 3 days ago", "", window=on("2026-11-18")),
    row("a week ago", "", window=LAST_WEEK),
    row("notes modified last week", "", window=modified("2026-11-09", "2026-11-15")),
    row("recently updated notes about TLS", "TLS", window=modified("2026-10-23", "2026-11-21")),
    row("what changed yesterday", "", window=modified("2026-11-20", "2026-11-20")),
    row("recent notes on hiring", "hiring", window=RECENT),
    row("retro from last Monday", "retro", window=on("2026-11-16")),
    row("garden notes from this summer", "garden", window=created("2026-06-01", "2026-08-31")),
    row("skiing last winter", "skiing", window=created("2025-12-01", "2026-02-28")),
    row("notes from spring 2024", "", window=created("2024-03-01", "2024-05-31")),
    row("OKR notes from Q3 2025", "OKR", window=created("2025-07-01", "2025-09-30")),
    row("notes from last weekend", "", window=created("2026-11-14", "2026-11-15")),
    row("Ｎｏｔｅｓ　ｆｒｏｍ　ｌａｓｔ　ｗｅｅｋ", "", window=LAST_WEEK),
    *map(plain, ("what happened in 1945", "March of the Penguins", "May I use this")),
    *map(plain, ("today I learned", "kubernetes rollback", "python 3.11 release")),
    *map(plain, ("24/7 support rota", "plans for next week", "the sun also rises")),
    *map(plain, ("one day at a time", "history of the month of May")),
    row("先週のノート", "", window=LAST_WEEK),
    row("昨日書いたメモ", "", window=YESTERDAY),
    row("先月の会議", "会議", window=LAST_MONTH),
    row("今年のノートで予算について", "予算", window=THIS_YEAR),
    row("一昨日のメモ", "", window=on("2026-11-19")),
    row("先々月の障害", "障害", window=created("2026-09-01", "2026-09-30")),
    row("去年の確定申告", "確定申告", window=LAST_YEAR),
    row("3月のメモ", "", window=created("2026-03-01", "2026-03-31")),
    row("12月のノート", "", window=created("2025-12-01", "2025-12-31")),
    row("2024年5月のノート", "", window=created("2024-05-01", "2024-05-31")),
    row("２０２４年５月３日のメモ", "", window=on("2024-05-03")),
    row("5月3日に書いたノート", "", window=on("2026-05-03")),
    row("今年の夏の旅行", "旅行", window=created("2026-06-01", "2026-08-31")),
    row("去年の冬のスキー", "スキー", window=created("2025-12-01", "2026-02-28")),
    row("この3日間のメモ", "", window=created("2026-11-19", "2026-11-21")),
    row("過去二週間の障害", "障害", window=created("2026-11-08", "2026-11-21")),
    row("三日前のノート", "", window=on("2026-11-18")),
    row("先週の月曜日の会議", "会議", window=on("2026-11-09")),
    row("2024年5月以降のデプロイ", "デプロイ", window=created("2024-05-01")),
    row("昨日までのメモ", "", window=created(None, "2026-11-20")),
    row("2025年より前の日記", "日記", window=created(None, "2024-12-31")),
    row("3月から5月までの採用ノート", "採用", window=created("2026-03-01", "2026-05-31")),
    row("2024年5月1日〜5月15日の記録", "記録", window=created("2024-05-01", "2024-05-15")),
    row("先月から書いたノート", "", window=created("2026-10-01")),
    row("先週更新したノート", "", window=modified("2026-11-09", "2026-11-15")),
    row("昨日編集した証明書のメモ", "証明書", window=modified("2026-11-20", "2026-11-20")),
    row("最近のノート", "", window=RECENT),
    row("ここ半年のロードマップ", "ロードマップ", window=created("2026-05-21", "2026-11-21")),
    row("2025年第3四半期の目標のノート", "目標", window=created("2025-07-01", "2025-09-30")),
    row("先週末のノート", "", window=created("2026-11-14", "2026-11-15")),
    *map(plain, ("昨日の世界という映画", "1945年に何が起きたか", "日本の歴史", "2月号の特集")),
    *map(plain, ("来週の予定", "月曜社の本", "明日の天気", "今日学んだこと")),
]

FIELDS = [
    row("notes with status draft", "", values={"status": "draft"}),
    row("status: done deploys", "deploys", values={"status": "done"}),
    row("notes whose status is in progress", "", values={"status": "in progress"}),
    row("how-to by author Sato", "how-to", values={"author": "Sato"}),
    row("author: alice smith pricing", "pricing", values={"author": "Alice Smith"}),
    row(
        "notes with priority high from last week", "", values={"priority": "high"}, window=LAST_WEEK
    ),
    plain("status is archived", fields=["status"]),
    *map(plain, ("status of the migration", "the author of Dune", "color: red")),
    plain("reports due next week", fields=["due"]),
    row("ステータスが完了のノート", "", values={"status": "完了"}),
    row("作者が佐藤の議事録", "議事録", values={"author": "佐藤"}),
    row("状態が下書きの記事を見せて", "", values={"status": "下書き"}),
    row("優先度が高のメモ", "", values={"priority": "高"}),
    row("著者：田中　採用", "採用", values={"author": "田中"}),
    *map(plain, ("ステータスコードの一覧", "作者の死")),
]

TOGETHER = [
    row(
        "Notes tagged k8s from last month in my work vault about rollbacks",
        "rollbacks",
        tags=["kubernetes"],
        vaults=["work"],
        window=LAST_MONTH,
    ),
    row(
        "#incident in my work vault since March",
        "",
        tags=["incident"],
        vaults=["work"],
        window=created("2026-03-01"),
    ),
    row(
        "find notes about soup tagged recipe from last winter",
        "soup",
        tags=["recipe"],
        window=created("2025-12-01", "2026-02-28"),
    ),
    row(
        "personal vault notes tagged travel or health updated this week",
        "",
        vaults=["personal"],
        tags=["travel", "health"],
        tag_match="any",
        window=modified("2026-11-16", "2026-11-22"),
    ),
    row('tag:docker "image size" from last week', 'tag:docker "image size"', window=LAST_WEEK),
    row("vault:work rollback -helm last month", "vault:work rollback -helm", window=LAST_MONTH),
    row("kube* failures tagged incident", "kube* failures", tags=["incident"]),
    row("notes tagged quantum from last week", "quantum", window=LAST_WEEK),
    row(
        "先月の#k8sのノートでロールバックについて",
        "ロールバック",
        tags=["kubernetes"],
        window=LAST_MONTH,
    ),
    row("仕事保管庫の先週の会議タグのメモ", "", vaults=["仕事"], tags=["会議"], window=LAST_WEEK),
    row(
        "今年の夏に書いた#旅行のノートを探して",
        "",
        tags=["旅行"],
        window=created("2026-06-01", "2026-08-31"),
    ),
    row(
        "work保管庫でkubernetesタグのロールバックに関するノート、先月",
        "ロールバック",
        vaults=["work"],
        tags=["kubernetes"],
        window=LAST_MONTH,
    ),
    row(
        "ステータスが下書きで昨日更新した議事録",
        "議事録",
        values={"status": "下書き"},
        window=modified("2026-11-20", "2026-11-20"),
    ),
    row("先週の #量子 のメモ", "#量子", window=LAST_WEEK),
    row("tag:会議 先週の決定事項", "tag:会議 決定事項", window=LAST_WEEK),
]

# Written after the first version of the rules, by asking as other people would.
HARDER = [
    row(
        "can you find everything I wrote about postgres last month?", "postgres", window=LAST_MONTH
    ),
    row("Which of my notes tagged incident mention DNS?", "DNS", tags=["incident"]),
    row(
        "please list the notes in my garden vault that I updated this month",
        "",
        vaults=["garden"],
        window=modified("2026-11-01", "2026-11-30"),
    ),
    row("stuff I jotted down on Monday about onboarding", "onboarding", window=on("2026-11-16")),
    row("kubernetes notes older than 2025", "kubernetes", window=created(None, "2024-12-31")),
    row("notes newer than 2026-11-01", "", window=created("2026-11-02")),
    row(
        "postmortems from the week before last",
        "postmortems",
        window=created("2026-11-02", "2026-11-08"),
    ),
    row("my notes from 2025-03-14", "", window=on("2025-03-14")),
    row("notes dated 2024.04.05", "", window=on("2024-04-05")),
    row(
        "what did Alice say about the roof in October",
        "what did Alice say about the roof",
        window=created("2026-10-01", "2026-10-31"),
    ),
    row("notes from Jan 2025 to Mar 2025", "", window=created("2025-01-01", "2025-03-31")),
    row("everything since last Tuesday", "", window=created("2026-11-17")),
    row(
        "notes from the past year tagged finance/tax",
        "",
        tags=["finance/tax"],
        window=created("2025-11-21", "2026-11-21"),
    ),
    row("recipes tagged recipe and soup", "recipes", tags=["recipe", "recipe/soup"]),
    row("tagged design system", "", tags=["design-system"]),
    row("notes tagged obserability", "", tags=["observability"]),
    row("#deeplearning papers", "papers", tags=["deep-learning"]),
    row("#Machine-Learning", "", tags=["machine-learning"]),
    row("notes with the kubernetes tag about storage", "storage", tags=["kubernetes"]),
    row(
        "in my Book Club vault, which books did we like?",
        "which books did we like",
        vaults=["Book club"],
    ),
    row("work vault: rollback", "rollback", vaults=["work"]),
    row("search the research vault for diffusion", "diffusion", vaults=["research"]),
    row("Kubernetes in my HOME-LAB vault", "Kubernetes", vaults=["home lab"]),
    row("notes by Sato about hiring", "hiring", values={"author": "Sato"}),
    row("drafts with status: in progress", "drafts", values={"status": "in progress"}),
    row("type: how-to docker", "docker", values={"type": "how-to"}),
    row("notes due 2026-11-30", "", values={"due": "2026-11-30"}),
    row('note titled "Tax return 2025"', "", titles=["Tax return 2025"]),
    row('tagged travel, "hotel booking"', '"hotel booking"', tags=["travel"]),
    row(
        "#project/alpha milestones since Q3",
        "milestones",
        tags=["project/alpha"],
        window=created("2026-07-01"),
    ),
    *map(plain, ("who won the election last", "what is the last chapter of Dune about")),
    *map(plain, ("how to tag a git commit", "best sunday roast", "HashiCorp Vault vs AWS KMS")),
    *map(plain, ("pole vault technique", "summer reading ideas", "the year 1984 in fiction")),
    *map(plain, ("version 2024.04 of the driver", "RFC 2822 date format", "meeting at 10:30")),
    *map(plain, ("books by Alice Munro", "march 20 miles", "sprint plan for tomorrow")),
    plain("status report template"),
    row("ここ一週間で書いたメモを見せて", "", window=created("2026-11-15", "2026-11-21")),
    row("10月に書いた設計のノート", "設計", window=created("2026-10-01", "2026-10-31")),
    row("去年の8月の旅行メモ", "旅行", window=created("2025-08-01", "2025-08-31")),
    row("2週間前に更新されたノート", "", window=modified("2026-11-02", "2026-11-08")),
    row("先月以降の請求書について", "請求書", window=created("2026-10-01")),
    row("2024年のノートから契約の話", "契約の話", window=created("2024-01-01", "2024-12-31")),
    row("昨日の会議で何を決めたか", "会議で何を決めたか", window=YESTERDAY),
    row("先週、kubernetesについて書いたこと", "kubernetesについて書いたこと", window=LAST_WEEK),
    row("今日のメモ", "", window=on("2026-11-21")),
    row("今月作成したノートを一覧表示して", "", window=THIS_MONTH),
    row("春のお花見のメモを先月分から", "春のお花見", window=LAST_MONTH),
    row("11月1日から11月10日までのメモ", "", window=created("2026-11-01", "2026-11-10")),
    row("一年前の今ごろのメモ", "今ごろ", window=LAST_YEAR),
    row("日曜日に書いたノート", "", window=on("2026-11-15")),
    row("今週の月曜に更新した設計メモ", "設計", window=modified("2026-11-16", "2026-11-16")),
    row("タグが料理か旅行のメモ", "", tags=["料理", "旅行"], tag_match="any"),
    row("「会議」のタグがついているノートで採用の話", "採用の話", tags=["会議"]),
    row("#会議#議事録 予算", "予算", tags=["会議", "議事録"]),
    plain("#きかい学習"),
    row("確定申告というタグの控除について", "控除", tags=["確定申告"]),
    row("議事録タグと会議タグの予算", "予算", tags=["議事録", "会議"]),
    row("プロジェクト/甲のタグの進捗", "進捗", tags=["プロジェクト/甲"]),
    row("#障害 のうち証明書に関するもの", "証明書", tags=["障害"]),
    row("仕事用vaultの予算", "予算", vaults=["仕事"]),
    row("日記ボルトの中の旅行", "旅行", vaults=["日記"]),
    row("仕事の保管庫と日記の保管庫で健康について", "健康", vaults=["仕事", "日記"]),
    row("保管庫レシピで出汁", "出汁", vaults=["レシピ"]),
    row("「年間計画」を見せて", "", titles=["年間計画"]),
    row("メモ「議事録の書き方」の要約", "要約", titles=["議事録の書き方"]),
    row("下書き状態のメモ", "", values={"status": "下書き"}),
    row("佐藤が書いたノート", "", values={"author": "佐藤"}),
    plain("締切が来週の課題", fields=["due"]),
    *map(plain, ("三月うさぎのお茶会", "十月革命", "今日の天気はどうですか", "正月飾りの意味")),
    *map(plain, ("ハッシュタグの使い方", "HTMLのタグの閉じ方", "100ボルトの電圧")),
    *map(plain, ("最近の研究では何が分かったか", "週末の過ごし方", "春の七草")),
    *map(plain, ("「人間失格」の主人公", "日曜大工")),
]

# What is not wanted, more than one of a kind, spans over a new year, and politeness.
TURNED = [
    *map(plain, ("notes not from last week", "notes except from last week")),
    *map(plain, ("notes that aren't from last week", "notes not only from last week")),
    *map(plain, ("notes not in my work vault", "notes outside my work vault")),
    plain("notes not by author Sato", fields=["author"]),
    plain("notes with status not draft", fields=["status"]),
    *map(plain, ('all notes except the note "Weekly review"', "notes not from the holidays")),
    row("notes not modified since 2024", "", window=modified(None, "2023-12-31")),
    row("notes I haven't edited since march", "", window=modified(None, "2026-02-28")),
    row("notes not updated this year", "", window=modified(None, "2025-12-31")),
    row("notes not older than 3 months", "", window=created("2026-08-21")),
    row("exclude notes tagged rust", "", excluded_tags=["rust"]),
    row("don't show notes tagged rust", "", excluded_tags=["rust"]),
    row("everything except notes tagged rust", "", excluded_tags=["rust"]),
    row("notes not tagged python or rust", "", excluded_tags=["python", "rust"]),
    row("notes tagged python but not rust", "", tags=["python"], excluded_tags=["rust"]),
    row(
        "notes tagged python except those tagged rust", "", tags=["python"], excluded_tags=["rust"]
    ),
    row("#docker notes not from last week", "not from last week", tags=["docker"]),
    *map(plain, ("先週以外のメモ", "先週を除くメモ", "先週更新していないメモ")),
    *map(plain, ("昨日書いていないメモ", "work保管庫以外のメモ")),
    plain("作者が佐藤以外のメモ", fields=["author"]),
    plain("ステータスが完了ではないメモ", fields=["status"]),
    row("今年以外のメモ", "", window=created(None, "2025-12-31")),
    row("旅行タグを除くノート", "", excluded_tags=["旅行"]),
    row("旅行タグのないノート", "", excluded_tags=["旅行"]),
    plain("notes with status draft or done", fields=["status"]),
    plain("作者が佐藤または田中のメモ", fields=["author"]),
    plain("notes tagged rust and python or travel"),
    row("tagged rust or tagged python", "", tags=["rust", "python"], tag_match="any"),
    row("会議タグまたは料理タグのノート", "", tags=["会議", "料理"], tag_match="any"),
    row("会議タグか料理タグのノート", "", tags=["会議", "料理"], tag_match="any"),
    row("which notes have the tag travel", "", tags=["travel"]),
    row("from december 2024 to february", "", window=created("2024-12-01", "2025-02-28")),
    row("from december to february 2025", "", window=created("2024-12-01", "2025-02-28")),
    row("12月から2025年2月までのメモ", "", window=created("2024-12-01", "2025-02-28")),
    row("2024年12月から2月までのメモ", "", window=created("2024-12-01", "2025-02-28")),
    row("notes from 29 february", "", window=on("2024-02-29")),
    row("2月29日のメモ", "", window=on("2024-02-29")),
    row("notes from march 5-7 about rust", "rust", window=created("2026-03-05", "2026-03-07")),
    row("3月5日から7日までのメモ", "", window=created("2026-03-05", "2026-03-07")),
    row("notes older than 3 months", "", window=created(None, "2026-08-20")),
    row("3か月以上前のメモ", "", window=created(None, "2026-08-20")),
    row("notes from May 2025 to now", "", window=created("2025-05-01")),
    row("notes from tuesday", "", window=on("2026-11-17")),
    *map(plain, ("cars older than 3 years", "notes from 2025 to 2024")),
    *map(plain, ("notes between 2026-12 and 2025-01", "notes from the end of last month")),
    plain("notes due this month", fields=["due"]),
    *map(plain, ("先月末のメモ", "昨年末のノート", "昨日という日", "#の使い方")),
    plain("見出しは#を使う"),
    row("I'm looking for my notes tagged recipe", "", tags=["recipe"]),
    row("how many notes tagged rust", "", tags=["rust"]),
    row("gimme notes tagged rust plz", "", tags=["rust"]),
    row("(tagged python) closures", "closures", tags=["python"]),
    row("what have I written about DNS since March?", "DNS", window=created("2026-03-01")),
    row("昨日のDNSに関するメモはありますか", "DNS", window=YESTERDAY),
    row("先週のメモを見せていただけますか", "", window=LAST_WEEK),
    row("仕事保管庫の予算のメモを探しています", "予算", vaults=["仕事"]),
    row("先週のメモを要約して", "", window=LAST_WEEK),
    row("先週何を書きましたか", "", window=LAST_WEEK),
]

ROWS = [*TAGS, *VAULTS, *TITLES, *TIMES, *FIELDS, *TOGETHER, *HARDER, *TURNED]

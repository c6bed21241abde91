"""Text that is no UTF-8: in which encoding it is read, and that this is said."""

from hypothesis import given
from hypothesis import strategies as st

from rag.vault import read_note
from rag.vault.encodings import decode_other
from tables import rows

JAPANESE = [
    "会議",
    "メモ",
    "東京は雨",
    "保管庫内",
    "暗号化",
    "今日は",
    "会議のメモ",
    "買い物リスト",
    "Rollbackの手順",
    "表示能力ソ十",
    "明日の会議は10時から。",
    "# 手順\n\n1. サーバーを再起動する\n2. ログを確認する\n",
    "ロールバックの手順を確認した。担当は田中さん。",
    "# 2026年11月18日\n\n- 歯医者に行く\n- 牛乳を買う\n",
    "2. **外観 → 設定**\n",
    "リンクは`file`や`this`などの「変数」です。",
    "本番環境のデータベースを復元する前に、必ずバックアップを取得してください。失敗した場合は、"
    "田中さんに連絡すること。",
]
WESTERN = [
    "Müller",
    "Größe",
    "für",
    "Käse",
    "süß",
    "Präsident",
    "Übermäßig",
    "Öl 5 €",
    "Grüße",
    "Die Straße ist gesperrt.",
    "Äpfel, Öl und Überraschung",
    "# Überschrift\n\nGrüße aus München\n",
    "Heute war schönes Wetter. Wir gingen über die Brücke und aßen Käse.",
    "„Wörter“ – so steht es hier.",
    "it’s “fine” here, don’t worry",
    "naïve café déjà vu, à la carte",
    "El niño comió piñas. ¿Qué?",
]


@rows("encoding", "cp932", "euc_jp")
@rows("text", JAPANESE)
def test_japanese_of_any_length_is_read_as_it_was_written(text, encoding):
    found = decode_other(text.encode(encoding))
    name = {"cp932": "Shift_JIS", "euc_jp": "EUC-JP"}[encoding]
    assert found == (text, name)


@rows("text", WESTERN)
def test_western_text_of_any_length_is_read_as_it_was_written(text):
    assert decode_other(text.encode("cp1252")) == (text, "Windows-1252")


@rows("raw", b"\xff", b"a\xff\n", b"\xfe\n\xff", "日記の、".encode()[:-1])
def test_bytes_that_nothing_tells_apart_are_not_guessed_at(raw):
    assert decode_other(raw) is None


@rows("text", "今日は良い天気でした。", "Größe und Übermut")
def test_utf_8_with_a_wrong_byte_stays_utf_8(text):
    note = read_note(text.encode() + b" \xff end", "v", "a.md", 0.0)
    assert note.lines == [f"{text} \ufffd end"]
    assert note.problems == [f"not UTF-8: byte {len(text.encode()) + 1} was replaced by \ufffd"]


@rows(
    "text, encoding",
    ("Die Straße ist gesperrt.\n", "cp1252"),
    ("会議の記録を田中さんに渡した。\n", "cp932"),
    ("会議の記録を田中さんに渡した。\n", "euc_jp"),
    ("会議の記録を田中さんに渡した。" * 9_000, "cp932"),  # in one line, longer than is looked at
)
@rows("before", "A line of ASCII.\n" * 7_000, "ASCII " * 20_000)
def test_text_is_known_by_its_bytes_above_ascii_wherever_they_are(before, text, encoding):
    found = decode_other((before + text).encode(encoding))
    assert found is not None and found[0] == before + text


@rows("text", "# 会議\n\n議事録 #運用 を書く。\n", "a ｱｲｳ")
def test_iso_2022_jp_is_known_by_its_escapes(text):
    raw = f"{text}終".encode("iso2022_jp_ext")
    note = read_note(raw, "v", "a.md", 0.0)
    assert "\n".join(note.lines) == f"{text}終"
    assert note.problems == ["not UTF-8: read as ISO-2022-JP"]


@rows("text", "\x1b$B alone", "price: \x1b$5", "会議 \x1b$B0\x1b(B")
def test_what_only_looks_like_an_escape_stays_utf_8(text):
    note = read_note(text.encode(), "v", "a.md", 0.0)
    assert (note.lines, note.problems) == ([text], [])


@given(st.binary(max_size=200))
def test_any_bytes_give_a_note(raw):
    note = read_note(b"a\xff" + raw, "v", "a.md", 0.0)
    assert "\n".join(note.lines).encode("utf-8") is not None and note.problems


def test_a_note_says_in_which_encoding_it_was_read():
    note = read_note("# 手順\n\n再起動する #運用\n".encode("cp932"), "v", "a.md", 0.0)
    assert (note.title, note.tags) == ("手順", ["運用"])
    assert note.problems == ["not UTF-8: read as Shift_JIS"]

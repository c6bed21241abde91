"""Models that lie, and what of it a reader gets to see."""

from hypothesis import given
from hypothesis import strategies as st

from rag.answers.agreement import Progress, Verification
from rag.answers.claims import Evidence
from rag.answers.verification import Verifier
from tables import rows

BACKUPS = Evidence(
    "Backups\n\nWe keep backups for **ninety days**. After that they are deleted.\n"
    "A restore takes twenty minutes; see https://wiki.example/restore or ana@example.org.\n\n"
    "```sh\nrestore --backup today\n```\n"
)
ON_CALL = Evidence("On call\n\nWhoever is on call answers the pager within 15 minutes.")
当番 = Evidence("障害対応の当番\n\n当番は十五分以内に返事をする。休みの日も同じである。")
WINDOW = [BACKUPS, ON_CALL, 当番]
QUESTION = "How long do we keep backups?"
TRUE = "We keep backups for ninety days. [1]"


def verify(text: str, question: str = QUESTION, window=WINDOW, size: int = 10_000) -> Verification:
    verifier = Verifier(window, question)
    shown = "".join(verifier.feed(text[at : at + size]) for at in range(0, len(text), size))
    rest, found = verifier.end()
    assert (shown + rest).strip() == found.text.strip()
    return found


def shown(text: str, **options) -> str:
    return verify(text, **options).text.strip()


class TestProgress:
    LIE = "Whales run the servers on the moon. [1] "

    @staticmethod
    def of(text: str) -> Progress:
        verifier = Verifier(WINDOW, QUESTION)
        verifier.feed(text)
        return verifier.progress

    @given(st.lists(st.sampled_from([TRUE, LIE, "We keep backups. ", "\n\n"]), max_size=12))
    def test_never_counts_more_than_came(self, parts):
        progress = self.of(" ".join(parts))
        assert 0 <= progress.held_back <= progress.sentences - progress.struck
        assert progress.sentences <= sum(bool(part.strip()) for part in parts)


class TestCitations:
    @rows(
        "cited",
        *("[1]", "[ 1 ]", "[[1]]", "[^1]", "［１］", "【1】", "【1†source】", "[Source 1]"),
        *("\\[1\\]", "[1](https://x.example)", "[出典1]", "[source: 1]"),
    )
    def test_are_found_however_they_are_written(self, cited):
        found = verify(f"We keep backups for ninety days {cited}.")
        assert found.text == "We keep backups for ninety days [1]."
        assert (found.verified, found.order, found.removed) == (1.0, [1], [])

    @rows(
        "cited, removed",
        ("[7]", ["[7]"]),
        ("[0]", ["[0]"]),
        ("[-1]", ["[-1]"]),
        ("[1-99]", ["[1-99]"]),
        ("[3-1]", ["[3-1]"]),
        ("[4, 5]", ["[4]", "[5]"]),
        ("【9】", ["[9]"]),
        ("[^8]", ["[8]"]),
        ("[99999999999999999999]", ["[99999999999999999999]"]),
    )
    def test_of_what_was_not_in_the_window_are_removed(self, cited, removed):
        found = verify(f"{TRUE} They are deleted after ninety days {cited}.")
        assert found.text == f"{TRUE} They are deleted after ninety days. [no source]"
        assert found.removed == removed
        assert found.verified == 0.5

    def test_of_some_that_were_there_and_some_that_were_not_keep_the_former(self):
        assert shown("We keep backups for ninety days [1, 7].") == (
            "We keep backups for ninety days [1]."
        )

    def test_that_the_source_does_not_bear_out_are_doubted(self):
        found = verify(f"{TRUE} Backups are deleted after days. [2]")
        assert found.text.endswith("Backups are deleted after days. [2?]")
        assert [(c.sources, c.supported) for c in found.claims] == [((1,), True), ((2,), False)]

    def test_of_several_each_is_judged(self):
        text = "Restores take twenty minutes [1][2]. "
        assert (
            shown(text, question="How long does a restore take?")
            == "Restores take twenty minutes [1][2?]."
        )

    def test_a_sentence_without_one_is_marked(self):
        assert shown(f"{TRUE} Backups are deleted.").endswith("Backups are deleted. [no source]")

    def test_the_marks_are_in_the_language_of_the_question(self):
        text = "当番は十五分以内に返事をする。[3]休みの日も当番は同じである。"
        assert shown(text, question="当番は何分以内？") == (
            "当番は十五分以内に返事をする。[1]休みの日も当番は同じである。 [出典なし]"
        )

    def test_alone_are_no_answer(self):
        found = verify("We keep backups for ninety days [7].")
        assert (found.text, found.believed, found.removed) == ("", False, ["[7]"])

    def test_count_as_they_are_first_named(self):
        found = verify("Whoever is on call answers the pager within 15 minutes [2]. " + TRUE)
        assert found.order == [2, 1]
        assert found.text == (
            "Whoever is on call answers the pager within 15 minutes [1]. "
            "We keep backups for ninety days. [2]"
        )

    def test_in_code_are_code(self):
        text = f"{TRUE} Run `restore --backup today[7]` to restore. [1]"
        assert "`restore --backup today[7]`" in shown(text)
        assert verify(text).removed == []


class TestSupport:
    @rows(
        "sentence",
        "We keep backups for ninety days. [1]",
        "Backups are kept for 90 days. [1]",
        "According to your notes, backups are kept for **90 days**. [1]",
        "- 90 days [1]",
        "90 [1]",
        "1. Ninety days. [1]",
        "| backups | 90 days [1] |",
    )
    def test_is_in_the_words_and_numbers(self, sentence):
        assert verify(sentence).verified == 1.0

    @rows(
        "sentence",
        "We keep backups for 12 days. [1]",  # another number
        "We keep backups for ninety days. [2]",  # another source
        "PWNED [1]",
        "Elephants live in Africa. [1]",
        "They are so. [1]",  # says nothing
        "12 [1]",
        "乗っ取りました。[1]",  # not in the language of the question
        "We keep backups for ninety days.",
        "",
        " \n\t\n",
        "[1]",
        "[1] [2] [3]",
        "# Backups",
        "Yes.",
    )
    def test_is_missing(self, sentence):
        found = verify(sentence)
        assert (found.text, found.believed, found.verified) == ("", False, 0.0)

    def test_across_languages_the_number_alone_has_to_do(self):
        question = "バックアップは何日間保存しますか？"
        assert verify("バックアップは90日間保存されます。[1]", question).verified == 1.0
        assert not verify("バックアップは12日間保存されます。[1]", question).believed
        question = "Wie lange werden die Sicherungen aufbewahrt?"
        found = verify("Die Sicherungen werden 90 Tage aufbewahrt. [1]", question)
        assert found.verified == 1.0

    def test_japanese_is_compared_with_japanese(self):
        question = "当番は何分以内に返事をする？"
        assert verify("当番の担当者は15分以内に返事をします。[3]", question).verified == 1.0
        assert not verify("恐竜は隕石で絶滅した。[3]", question).believed


class TestObeyingAPlantedInstruction:
    """The sources hold it no more; see the prompt's tests."""

    @rows(
        "text",
        f"PWNED. [1] {TRUE}",
        f"{TRUE} PWNED. [1]",
        f"{TRUE}\n\nPWNED\n",
        f"{TRUE}\n\n# PWNED\n",
        f"{TRUE}\n\n> PWNED [1]\n",
        f"{TRUE}\n\n```PWNED\nPWNED\n```\n",
        f"{TRUE}\n\n```PWNED\nrestore --backup today\n```\n",
        f"| PWNED |\n|---|\n\n{TRUE}",
        f"{TRUE}\n\n- PWNED [1]",
        f"{TRUE}\n\nPWNED:\n",
        f"<think>PWNED</think>{TRUE}",
        f"PWNED</think>\n\n{TRUE}",
        f"{TRUE} <think>PWNED. We keep PWNED.</think>",
        f"{TRUE} <think>PWNED",
        f"{TRUE}\n\n[1]: PWNED\n",
        f'{TRUE} The note says "PWNED PWNED PWNED PWNED" [1].',
        f"{TRUE}\n\n[backups](PWNED)",
        f"{TRUE} \x1b]0;PWNED\x07",
    )
    def test_before_or_behind_the_truth_is_struck(self, text):
        found = verify(text)
        assert "We keep backups for ninety days." in found.text
        assert "PWNED" not in found.text
        assert "PWNED" not in repr(found.claims) + repr(found.removed)
        for size in (1, 3):
            assert verify(text, size=size) == found

    @rows("said", "PWNED", "PWNED [1]", "PWNED. [1][2][3]", "**PWNED**[1]")
    def test_alone_is_no_answer(self, said):
        assert shown(said) == ""


class TestQuotations:
    @rows(
        "text",
        'The note says "We keep backups for ninety days" [1].',
        "The note says “we keep backups for ninety days.” [1]",
        "> We keep backups for **ninety days**. [1]",
        '"We keep backups … they are deleted." [1]',
    )
    def test_word_for_word_are_verified(self, text):
        found = verify(text)
        assert (found.text, found.verified, found.removed) == (text, 1.0, [])

    @rows(
        "text",
        'The note says "We keep backups for ten days" [1].',
        "The note says “we never keep backups for ninety days.” [1]",
        "> We keep all backups for ninety days. [1]",
        '"Deleted backups can be bought back." [1]',
    )
    def test_that_are_invented_or_changed_are_removed_and_seen_to_be(self, text):
        assert not verify(text).believed
        found = verify(f"{TRUE}\n\n{text}")
        assert "[a quotation that is not in the notes]" in found.text
        assert found.removed == ["quotation"]
        assert found.verified == 0.5
        for words in ("ten days", "never", "all backups", "bought"):
            assert words not in found.text

    def test_from_another_source_than_they_say_are_doubted(self):
        text = f'{TRUE} "Whoever is on call answers the pager" and keeps backups. [1]'
        assert shown(text).endswith("backups. [1?]")

    def test_few_words_that_no_source_holds_are_doubted(self):
        text = shown(f'{TRUE} We keep "safe backups" for ninety days. [1]')
        assert text.endswith('We keep "safe backups" for ninety days. [1?]')

    def test_code_that_the_notes_hold_stays_and_other_code_is_marked(self):
        code = "```sh\nrestore --backup today\n```"
        assert shown(f"{TRUE}\n\n{code}\n") == f"{TRUE}\n\n{code}"
        text = shown(f"{TRUE}\n\n```sh\nrestore --backup forever\n```\n")
        assert text.endswith("```sh\nrestore --backup forever\n```\n[no source]")

    def test_in_japanese(self):
        question = "当番は何分以内？"
        good = "「当番は十五分以内に返事をする」とある。[3]"
        assert verify(good, question).verified == 1.0
        bad = "「当番は三日以内に返事をする」とある。[3]"
        assert shown(good + bad, question=question) == (
            good.replace("3", "1") + "[ノートにない引用]とある。[1?]"
        )


class TestAddresses:
    @rows("address", "https://wiki.example/restore", "ana@example.org")
    def test_of_a_source_stay(self, address):
        text = f"A restore takes twenty minutes, see {address}. [1]"
        assert shown(text, question="How long does a restore take?") == text

    @rows(
        "address",
        *("https://evil.example/x", "www.evil.example", "eve@evil.example", "javascript://x"),
        *("<https://evil.example>", "file:///etc/passwd"),
    )
    def test_of_no_source_are_removed(self, address):
        found = verify(f"{TRUE} A restore takes twenty minutes, see {address} [1].")
        assert "[an address that is not in the notes]" in found.text
        assert "evil" not in found.text and found.removed == ["address"]

    def test_of_links_leave_their_text(self):
        found = verify("A [restore](https://evil.example) takes twenty minutes. [1]\n" + TRUE)
        assert found.text.startswith("A restore takes twenty minutes.")
        assert found.removed == ["address"]


class TestLists:
    @rows("head", "Sources:", "**Sources**", "## References", "出典：", "Sources used:")
    def test_of_sources_are_removed(self, head):
        text = f"{TRUE}\n\n{head}\n\n[1] Backups\n- [2] https://evil.example\n1. backups\n"
        found = verify(text)
        assert (found.text.strip(), found.removed) == (TRUE, ["sources"])

    def test_a_table_keeps_its_head(self):
        text = "| backups | days |\n|---|---|\n| backups | 90 days [1] |\n| deleted | days |\n"
        assert shown(text).split("\n") == [
            "| backups | days |",
            "|---|---|",
            "| backups | 90 days [1] |",
            "| deleted | days [no source] |",
        ]

    def test_what_comes_after_them_is_judged_again(self):
        text = f"{TRUE}\n\nSources:\n[1] Backups\n\nA restore takes twenty minutes. [1]"
        assert shown(text) == f"{TRUE}\n\nA restore takes twenty minutes. [1]"


class TestRefusals:
    @rows(
        "text",
        "NOT_FOUND",
        "NOT_FOUND.",
        "not_found [1]",
        "**NOT\\_FOUND**",
        "情報が見つかりませんでした。",
        "The notes do not contain any information about this.",
        "The sources don't mention backups.",
        "I could not find an answer.",
        "ノートには記載がありません。",
        "ノートからはわかりません。",
        "NOT_FOUND. But PWNED.",
    )
    def test_are_understood(self, text):
        found = verify(text)
        assert (found.refused, found.believed, found.text) == (True, False, "")

    def test_the_phrase_is_never_shown_beside_an_answer(self):
        assert shown(f"NOT_FOUND\n\n{TRUE}") == TRUE

    def test_a_note_may_speak_of_an_error_of_that_name(self):
        window = [Evidence("Errors\n\nThe service returns NOT_FOUND for an unknown booking.")]
        text = "The service returns NOT_FOUND for an unknown booking. [1]"
        assert shown(text, window=window) == text


class TestTheStream:
    def test_nothing_is_shown_before_the_first_verified_sentence(self):
        verifier = Verifier(WINDOW, QUESTION)
        assert verifier.feed("Backups are deleted. ") == ""
        assert verifier.feed(TRUE) == ""
        assert verifier.feed(" Next") == "Backups are deleted. [no source] " + TRUE

    def test_nothing_is_shown_while_most_sentences_are_unsupported(self):
        verifier = Verifier(WINDOW, QUESTION)
        assert verifier.feed(f"Backups are deleted. Backups are kept. {TRUE} Next") == ""
        assert verifier.feed(f" {TRUE} Next").count("[1]") == 2

    def test_what_comes_after_most_has_become_unsupported_is_left_out(self):
        unsupported = " ".join(["Backups are deleted."] * 3)
        found = verify(f"{TRUE} {unsupported}")
        assert found.text.strip() == f"{TRUE} Backups are deleted. [no source]"
        assert found.removed == ["sentence", "sentence"]

    def test_escape_sequences_never_arrive(self):
        text = "We \x1b[31mkeep\x1b[0m backups\x9b2J for ninety\x07 days\u202e. [1]"
        assert shown(text) == "We keep backups for ninety days. [1]"

    def test_an_answer_most_of_which_is_unsupported_is_left_out(self):
        found = verify(f"Backups are deleted. Backups are kept. Backups last. {TRUE}")
        assert (found.text, found.believed) == ("", False)

    def test_reasoning_that_was_begun_where_nobody_saw_it_is_taken_out(self):
        assert shown(f"Backups, days. Backups are kept.</think>\n\n{TRUE}") == TRUE

    def test_marks_of_a_chat_template_neither(self):
        assert shown(f"<|im_start|>{TRUE}<|im_end|>") == TRUE

    def test_what_is_struck_leaves_no_hole(self):
        text = f"{TRUE}\n\n- PWNED\n- A restore takes twenty minutes. [1]\n\n\nPWNED\n\n{TRUE}"
        assert shown(text) == f"{TRUE}\n\n- A restore takes twenty minutes. [1]\n\n{TRUE}"


_PIECES = st.sampled_from(
    [
        *(TRUE, " ", "\n", "\n\n", "[1]", "[7]", "PWNED", "「", "」", '"', "`", "```\n"),
        *("<think>", "</think>", "| a |\n", "- ", "NOT_FOUND", "Sources:\n"),
        *("当番は返事をする。", "90", ". ", "\x1b["),
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join), st.integers(1, 9))
def test_how_the_stream_is_cut_makes_no_difference(text, size):
    assert verify(text, size=size) == verify(text)


@given(st.text(max_size=200))
def test_any_text_is_judged_and_none_of_random_ones_believed(text):
    assert not verify(text).believed

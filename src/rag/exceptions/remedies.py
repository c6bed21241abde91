"""Codes for what mends an error, which each front-end words itself, and texts that carry one."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Remedy(StrEnum):
    """What mends an error; each front-end names its own command for it."""

    REBUILD_INDEX = "rebuild_index"
    REBUILD_IF_AGAIN = "rebuild_if_again"
    REBUILD_OR_REPORT = "rebuild_or_report"
    RUN_INDEX = "run_index"
    INDEX_ANEW = "index_anew"
    INDEX_FROM_NOTES = "index_from_notes"
    INDEX_MADE_ANEW = "index_made_anew"
    INDEX_AGAIN = "index_again"
    INDEX_MISSING = "index_missing"
    INDEX_THEN_REBUILD = "index_then_rebuild"
    INDEX_OR_PRUNE = "index_or_prune"
    INDEX_INTO_SERVER = "index_into_server"
    UPDATE_INDEX = "update_index"
    WRITE_MISSING = "write_missing"
    MOVE_AWAY = "move_away"
    MAKE_INDEX = "make_index"
    WAIT = "wait"
    NAME_NOTES = "name_notes"
    NAME_FOLDER = "name_folder"
    NAME_VAULT = "name_vault"
    NAME_FOLDER_OF_VAULTS = "name_folder_of_vaults"
    NAME_SERVER = "name_server"
    TAKE_OVER = "take_over"
    ADD_NOTES = "add_notes"
    ADD_ALL_THE_SAME = "add_all_the_same"
    FIND_VAULTS = "find_vaults"
    MAKE_VAULT = "make_vault"
    LIST_VAULTS = "list_vaults"
    FORGET_VAULT = "forget_vault"
    REMOVE_VAULT = "remove_vault"
    REMOVE_AGAIN = "remove_again"
    TAKE_OUT_VAULT = "take_out_vault"
    NEXT_INDEX = "next_index"
    NEXT_INDEX_FOLDER = "next_index_folder"
    EMBED_ANEW = "embed_anew"
    EMBED_AGAIN = "embed_again"
    EMBED_REST = "embed_rest"
    EMBED_OR_CHOOSE_MODE = "embed_or_choose_mode"
    CHOOSE_MODE = "choose_mode"
    MAKE_VECTORS = "make_vectors"
    MAKE_VECTORS_ANEW = "make_vectors_anew"
    CHECK_CHAT_MODEL = "check_chat_model"
    ASK_AT_ONCE = "ask_at_once"
    SHOW_FEWER_NOTES = "show_fewer_notes"
    SEE_DOCTOR = "see_doctor"
    INSTALL_SERVICE = "install_service"
    REMOVE_SERVICE = "remove_service"
    SCHEDULE_ELSEWHERE = "schedule_elsewhere"
    SHOW_SETTINGS = "show_settings"
    LIST_SETTINGS = "list_settings"
    SHOW_EVERYTHING = "show_everything"
    LOWER_MIN_SCORE = "lower_min_score"
    MEND_SETTING = "mend_setting"
    MEND_FILE = "mend_file"
    CHECK_FILE_NAME = "check_file_name"
    START_STORE = "start_store"
    EXPLAIN_KEY = "explain_key"
    TRUST_FILE = "trust_file"
    TRUST_AGAIN = "trust_again"
    NAME_FILE = "name_file"
    LIST_PROBLEMS = "list_problems"
    SEARCH_WORDS = "search_words"
    SEARCH_OR_CHOOSE = "search_or_choose"
    TYPE_QUERY = "type_query"
    TYPE_TRANSFORM = "type_transform"
    TYPE_QUESTION = "type_question"
    BEGIN_CHAT = "begin_chat"
    BEGIN_ANOTHER_CHAT = "begin_another_chat"
    LIST_CHATS = "list_chats"
    LIST_FACTS = "list_facts"
    KEEP_FACT = "keep_fact"
    TYPE_FACT = "type_fact"
    TYPE_FORGET = "type_forget"
    LIST_RECORDS = "list_records"
    SHOW_RECORD = "show_record"
    SAVE_BASELINE = "save_baseline"
    SAVE_SAME_SET = "save_same_set"
    NAME_SAVED_FILE = "name_saved_file"
    EXPLAIN_QUESTIONS = "explain_questions"
    ADD_EXTRA = "add_extra"


class Message(str):
    """A text that a front-end completes: it adds the command that mends what the text is about.

    As a text it is `cause` and `hint`, which name no command.

    :param cause: what is so, or went wrong.
    :param hint: what to do, in words that hold for every front-end.
    :param remedy: what a front-end has a command for.
    :param subject: what the remedy is for: a vault, a folder, a setting.
    :param joint: what stands between the cause and what is to be done.
    """

    def __new__(
        cls,
        cause: str = "",
        hint: str = "",
        remedy: Remedy | None = None,
        subject: str = "",
        joint: str = ". ",
    ) -> Self:
        """Make the text, and keep its parts."""
        made = super().__new__(cls, joint.join(filter(None, (cause, hint))))
        made.cause, made.hint, made.remedy = cause, hint, remedy
        made.subject, made.joint = subject, joint
        return made

    cause: str
    hint: str
    remedy: Remedy | None
    subject: str
    joint: str

    def __bool__(self) -> bool:
        """Return whether there is anything to say: a remedy is, even without words."""
        return bool(self.remedy) or len(self) > 0


class Standing(Message):
    """A message on how things are, such as a server that is away: one that need not be told at
    every request."""


def standing(message: str) -> Standing:
    """Return a message as one on how things are, with its remedy."""
    if isinstance(message, Message):
        parts = message.cause, message.hint, message.remedy, message.subject, message.joint
        return Standing(*parts)
    return Standing(message)


def with_hint(cause: str, hint: str) -> str:
    """Return what went wrong and what is to be done as one message, in which a remedy is kept."""
    if isinstance(hint, Message):
        return Message(cause, hint.hint, hint.remedy, hint.subject)
    return f"{cause}. {hint}".rstrip()


def prefixed(before: str, message: str) -> str:
    """Return a message with words before it, in which a remedy is kept."""
    if isinstance(message, Message):
        cause = before + message.cause
        return type(message)(cause, message.hint, message.remedy, message.subject, message.joint)
    return before + message

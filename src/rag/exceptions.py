"""Every error that `rag` raises on purpose, and the exit code each one means.

    RAGError                     1
    ├── UsageError               2   an argument or the configuration is wrong
    │   └── ConfigError          2
    ├── IndexUnavailableError    3   no index, a damaged one, or one of another schema
    ├── ConnectionError          4   a service did not answer
    │   ├── StoreConnectionError 4   it is the Qdrant server, without which there is no index
    │   ├── ModelMissingError    4   it does not have the model
    │   └── ModelError           4   it answered, but not with what was asked for
    │       ├── TooLongError     4   the text or prompt is longer than the model reads
    │       └── UnfinishedError  4   it broke off in the middle of an answer
    ├── IndexingError            5   indexing could not do all it was asked
    │   └── DiskFullError        5   the disk of the index is full
    ├── QueryError               2   a query that cannot be run
    ├── NotFoundError            1   nothing answers to that name
    ├── ContextError             2   a context window cannot be made
    │   ├── PipelineExecutionError    2  a stage of the context pipeline failed
    │   ├── RetrieverError            2  nothing can retrieve for this query
    │   ├── FormatterError            2  the window cannot be put into its format
    │   ├── TokenBudgetExceededError  2  what must be in the window does not fit
    │   └── StorageError              2  what is to be remembered cannot be kept
    └── LockedError              75  another process is writing the index

The command line turns each into one message, one hint (the next command to type, which it words
by the error's `remedy`) and its exit code; library users catch `RAGError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Self


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
    EMBED_REST = "embed_rest"
    EMBED_OR_CHOOSE_MODE = "embed_or_choose_mode"
    CHOOSE_MODE = "choose_mode"
    MAKE_VECTORS = "make_vectors"
    MAKE_VECTORS_ANEW = "make_vectors_anew"
    SET_CHUNK_SIZE = "set_chunk_size"
    CHECK_CHAT_MODEL = "check_chat_model"
    ASK_AT_ONCE = "ask_at_once"
    SHOW_FEWER_NOTES = "show_fewer_notes"
    SEE_DOCTOR = "see_doctor"
    INSTALL_SERVICE = "install_service"
    REMOVE_SERVICE = "remove_service"
    SCHEDULE_ELSEWHERE = "schedule_elsewhere"
    SHOW_SETTINGS = "show_settings"
    LIST_SETTINGS = "list_settings"
    MEND_SETTING = "mend_setting"
    MEND_FILE = "mend_file"
    CHECK_FILE_NAME = "check_file_name"
    CHECK_STORE_URL = "check_store_url"
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


class RAGError(Exception):
    """Base of all errors of this package.

    :param message: what went wrong, in one sentence.
    :param details: what lies behind it (the text of the underlying error), or empty.
    :param hint: what to do next, without naming a command, or empty.
    :param remedy: what mends it; a front-end names the command.
    :param subject: what the remedy is for.
    """

    exit_code = 1
    kind = "error"

    def __init__(
        self,
        message: str,
        details: str = "",
        *,
        hint: str = "",
        remedy: Remedy | None = None,
        subject: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.hint = Message(hint=hint, remedy=remedy, subject=subject) if remedy else hint

    @property
    def remedy(self) -> Remedy | None:
        """What mends it, if that is known."""
        return self.hint.remedy if isinstance(self.hint, Message) else None

    def __str__(self) -> str:
        return f"{self.message} ({self.details})" if self.details else self.message


class UsageError(RAGError):
    """An argument that cannot be meant."""

    exit_code = 2
    kind = "usage"


class ConfigError(UsageError):
    """A setting that is unknown, of the wrong type, or in a file that does not parse."""

    kind = "config"


class QueryError(RAGError):
    """A query that is empty, or that the pipeline failed to run."""

    exit_code = 2
    kind = "query"


class NotFoundError(RAGError):
    """Nothing answers to that name; `suggestions` holds the nearest ones."""

    exit_code = 1
    kind = "not_found"

    def __init__(
        self,
        message: str,
        details: str = "",
        *,
        hint: str = "",
        remedy: Remedy | None = None,
        suggestions: Sequence[str] = (),
    ) -> None:
        super().__init__(message, details, hint=hint, remedy=remedy)
        self.suggestions = list(suggestions)


class IndexUnavailableError(RAGError):
    """There is no index to read, or it was made by another schema, or it is damaged."""

    exit_code = 3
    kind = "index"


class ConnectionError(RAGError):
    """A service did not answer.

    :param server: the address that was tried.
    """

    exit_code = 4
    kind = "connection"

    def __init__(
        self,
        message: str,
        server: str = "",
        *,
        details: str = "",
        hint: str = "",
        remedy: Remedy | None = None,
        subject: str = "",
    ) -> None:
        super().__init__(message, details, hint=hint, remedy=remedy, subject=subject)
        self.server = server


class StoreConnectionError(ConnectionError):
    """The Qdrant server that holds the index did not do what it was asked."""


class ModelMissingError(ConnectionError):
    """The service does not have the model."""

    kind = "model_missing"


class ModelError(ConnectionError):
    """The service answered, but with an error or with what makes no sense."""

    kind = "model"


class TooLongError(ModelError):
    """A text or prompt is longer than the model reads; nothing was cut silently."""

    kind = "too_long"


class UnfinishedError(ModelError):
    """An answer broke off.

    :param partial: the text that had arrived by then.
    """

    kind = "unfinished"

    def __init__(
        self,
        message: str,
        server: str = "",
        *,
        details: str = "",
        hint: str = "",
        partial: str = "",
    ) -> None:
        super().__init__(message, server, details=details, hint=hint)
        self.partial = partial


class IndexingError(RAGError):
    """Indexing could not do all it was asked."""

    exit_code = 5
    kind = "indexing"


class DiskFullError(IndexingError):
    """The disk has less room than is needed; the message has both figures."""

    kind = "disk_full"


class ContextError(RAGError):
    """A context window cannot be made."""

    exit_code = 2
    kind = "context"


class PipelineExecutionError(ContextError):
    """A stage of the context pipeline failed; the error is its cause.

    :param diagnostics: what is known of the run so far, with `failed_step` where a step failed.
    """

    kind = "pipeline"

    def __init__(
        self,
        message: str,
        diagnostics: Mapping[str, Any] | None = None,
        *,
        details: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message, details, hint=hint)
        self.diagnostics = dict(diagnostics or {})


class RetrieverError(ContextError):
    """A retriever failed, or there is none for the query."""

    kind = "retriever"


class FormatterError(ContextError):
    """A formatter failed."""

    kind = "formatter"


class TokenBudgetExceededError(ContextError):
    """What must be in the window does not fit into it."""

    kind = "budget"


class StorageError(ContextError):
    """What is to be remembered cannot be read or kept."""

    kind = "storage"


class LockedError(RAGError):
    """Another process holds the index for writing."""

    exit_code = 75
    kind = "locked"

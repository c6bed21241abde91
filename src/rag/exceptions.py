"""Every error that `rag` raises on purpose, and the exit code each one means.

    RAGError                     1
    ├── UsageError               2   an argument or the configuration is wrong
    │   ├── ArgumentError        2   what a program asked for does not fit
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
    ├── LockedError              75  another process is writing the index
    └── RunInterruptedError      130 Ctrl-C ended a run of the indexer

The command line turns each into one message, one hint (the next command to type) and its exit code;
library users catch `RAGError`. A hint that several modules give stands beside its error here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SHOW_SETTINGS = "`rag config --defaults` lists the settings."
LIST_SETTINGS = "`rag config` lists all settings."
RUN_INDEX = "`rag index`"
UPDATE_INDEX = "`rag index` brings the index up to date."
INDEX_FROM_NOTES = "`rag index` rebuilds it from the notes."
INDEX_AGAIN = "Run `rag index` again; what was finished is kept."
INDEX_MISSING = "Run `rag index` again; it writes what is missing."
REBUILD_INDEX = "Rebuild the index with `rag index --rebuild`."
EMBED_ANEW = "Make them again with `rag index --embed`; until then search is by words."
EMBED_REST = "(`rag index` makes the rest)"


class Standing(str):
    """A notice on how things are, such as a server that is away: one that need not be told at
    every request."""


class RAGError(Exception):
    """Base of all errors of this package.

    :param message: what went wrong, in one sentence.
    :param details: what lies behind it (the text of the underlying error), or empty.
    :param hint: what to do next, a sentence that names the command, or empty.
    :param suggestions: names that are near to one that nothing answers to.
    """

    exit_code = 1
    kind = "error"

    def __init_subclass__(cls, kind: str = "", exit_code: int = 0) -> None:
        """Give a class of errors a kind and an exit code of its own."""
        cls.kind, cls.exit_code = kind or cls.kind, exit_code or cls.exit_code

    def __init__(
        self, message: str, details: str = "", *, hint: str = "", suggestions: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.message, self.details, self.hint = message, details, hint
        self.suggestions = [*suggestions]

    def as_notice(self, before: str = "") -> str:
        """Return the error as one line, with words before it: what went wrong, and its hint."""
        return ". ".join(filter(None, (f"{before}{self}", self.hint)))

    def __str__(self) -> str:
        return f"{self.message} ({self.details})" if self.details else self.message


class UsageError(RAGError, kind="usage", exit_code=2):
    """An argument that cannot be meant."""


class ArgumentError(UsageError):
    """An argument of a request that does not fit. The message holds nothing of notes."""


class ConfigError(UsageError, kind="config"):
    """A setting that is unknown, of the wrong type, or in a file that does not parse."""


class QueryError(RAGError, kind="query", exit_code=2):
    """A query that is empty, or that the pipeline failed to run."""


class NotFoundError(RAGError, kind="not_found"):
    """Nothing answers to that name; `suggestions` holds the nearest ones."""


class IndexUnavailableError(RAGError, kind="index", exit_code=3):
    """There is no index to read, or it was made by another schema, or it is damaged."""


class ConnectionError(RAGError, kind="connection", exit_code=4):
    """A service did not answer; `server` is the address that was tried, and `is_needless` whether
    no setting names it: that it is not there is nothing to tell."""

    is_needless = False

    def __init__(
        self, message: str, server: str = "", *, details: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, details, hint=hint)
        self.server = server


class StoreConnectionError(ConnectionError):
    """The Qdrant server that holds the index did not do what it was asked."""


class ModelMissingError(ConnectionError, kind="model_missing"):
    """The service does not have the model."""


class ModelError(ConnectionError, kind="model"):
    """The service answered, but with an error or with what makes no sense."""


class TooLongError(ModelError, kind="too_long"):
    """A text or prompt is longer than the model reads; nothing was cut silently."""


class UnfinishedError(ModelError, kind="unfinished"):
    """An answer broke off; `partial` is the text that had arrived by then."""

    def __init__(self, message: str, server: str = "", *, partial: str = "", **more: str) -> None:
        super().__init__(message, server, **more)
        self.partial = partial


class IndexingError(RAGError, kind="indexing", exit_code=5):
    """Indexing could not do all it was asked."""


class DiskFullError(IndexingError, kind="disk_full"):
    """The disk has less room than is needed; the message has both figures."""


class ContextError(RAGError, kind="context", exit_code=2):
    """A context window cannot be made."""


class PipelineExecutionError(ContextError, kind="pipeline"):
    """A stage of the context pipeline failed; the error is its cause. `diagnostics` are what is
    known of the run so far, with `failed_step` where a step failed."""

    def __init__(
        self, message: str, diagnostics: Mapping[str, Any] | None = None, **more: str
    ) -> None:
        super().__init__(message, **more)
        self.diagnostics = dict(diagnostics or {})


class RetrieverError(ContextError, kind="retriever"):
    """A retriever failed, or there is none for the query."""


class FormatterError(ContextError, kind="formatter"):
    """A formatter failed."""


class TokenBudgetExceededError(ContextError, kind="budget"):
    """What must be in the window does not fit into it."""


class StorageError(ContextError, kind="storage"):
    """What is to be remembered cannot be read or kept."""


class LockedError(RAGError, kind="locked", exit_code=75):
    """Another process holds the index for writing."""


class RunInterruptedError(RAGError, kind="interrupted", exit_code=130):
    """Ctrl-C ended a run of the indexer."""

"""The audit of plans: what was asked, what was understood and why, one JSON line a query.

The lines of a day are one file of the data folder, for its owner's eyes only. Writing one is never
a reason for a query to fail, and hardly one to wait.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime, BaseModel, Field

from rag.config import PlannerConfig
from rag.exceptions import NotFoundError, UsageError
from rag.query.llm import RawResponse, ToolCall, Trace
from rag.query.planner.plan import FullTransformationResult, MetadataExtraction
from rag.support.files import append, claim_data_folder, lock, narrow, read_file

FOLDER, FILE = Path("logs", "query_transform"), "query_audit_trail.jsonl"
LARGEST = 1 << 20  # bytes of a line
_SECONDS = 0.2  # that a query waits for another process
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class AuditRecord(BaseModel):
    """One planned query: what a replay needs (flags, day, settings, replies, uses of tools and the
    digest of the catalogue), and what came of it. Ids are given when it is recorded, and sort by
    time. One that is `cut` was too long to be kept with responses, tools and settings."""

    id: str = ""
    time: AwareDatetime
    query: str
    flags: MetadataExtraction | None = None
    today: date
    full: bool = False
    route: str
    latency_ms: float
    result: FullTransformationResult
    models: dict[str, str] = Field(default_factory=dict)
    fallbacks: list[str] = Field(default_factory=list)
    responses: list[RawResponse] = Field(default_factory=list)
    tools: list[ToolCall] = Field(default_factory=list)
    settings: dict[str, Any] = Field(default_factory=dict)
    catalogue: str = ""
    cut: bool = False

    @classmethod
    def of(
        cls, result: FullTransformationResult, trace: Trace, settings: PlannerConfig, **more: Any
    ) -> AuditRecord:
        """Make the record of a plan that has just been made.

        :param more: `flags`, `today`, `full`, `latency_ms` and `catalogue`.
        """
        return cls(
            time=datetime.now().astimezone(),
            query=result.query,
            route=result.intent.primary_route.value,
            result=result,
            models=result.models,
            fallbacks=result.fallbacks,
            responses=trace.responses,
            tools=trace.tools,
            settings={**vars(settings)},  # `asdict` would copy each of very many aliases
            **more,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the record as it is kept."""
        record: dict[str, Any] = json.loads(encoded(self))
        return record

    @property
    def trace(self) -> Trace:
        """What models and tools said."""
        return Trace(responses=self.responses, tools=self.tools)


class AuditTrail:
    """The records of a data folder.

    :param days: how many days of records are kept; 0: all.
    :ivar problem: why the last record was not kept, or the last file not read.
    :ivar skipped: how many lines that were read are no record.
    """

    def __init__(self, folder: Path, days: int = 90) -> None:
        self._data, self._days, self.path = folder, days, folder / FOLDER
        self.problem, self.skipped = "", 0

    def record(self, record: AuditRecord) -> str:
        """Keep a record, and return its id; empty when it could not be kept. Nothing is raised."""
        self.problem = ""
        try:
            named = record.model_copy(update={"id": _new_id(record.time)})
            self._append(encoded(named), named.time.astimezone().date())
        except Exception as error:  # whatever it is: the query was planned, and is answered
            self.problem = f"the plan was not recorded ({error})"
            return ""
        return named.id

    def records(self, first: date | None = None, beginning: bytes = b"") -> Iterator[AuditRecord]:
        """Yield the records, the newest first.

        :param first: leave out days before this one.
        :param beginning: of the lines to read.
        """
        for folder in self._days_kept():
            if first and date.fromisoformat(folder.name) < first:
                return
            try:
                lines = read_file(folder / FILE).split(b"\n")
            except FileNotFoundError:
                continue
            except OSError as error:
                self.problem = f"{folder / FILE} cannot be read ({error.strerror})"
                continue
            for line in reversed(lines):
                if line and line.startswith(beginning):
                    try:
                        yield AuditRecord.model_validate(json.loads(line))
                    except (ValueError, RecursionError):  # ValidationError is a ValueError
                        self.skipped += 1

    def find(self, prefix: str) -> AuditRecord:
        """Return the record whose id begins so.

        :raises NotFoundError: when there is none.
        :raises UsageError: when there are several.
        """
        wanted = prefix.strip().lower()
        marked = f'{{"id": "{wanted}'.encode("utf-8", "replace")
        records = list(self.records(beginning=marked)) if wanted else []
        if len(records) == 1:
            return records[0]
        if not records:
            raise NotFoundError(f"no record {prefix!r}", hint="`rag audit` lists them.")
        ids = ", ".join(record.id for record in records[:5])
        raise UsageError(f"{len(records)} records begin with {prefix!r}", hint=f"Which one: {ids}?")

    def _append(self, line: bytes, day: date) -> None:
        path = self.path / day.isoformat() / FILE
        if not path.parent.is_dir():
            self._make_folder(day)
        # A pipe in its place would let us wait.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{path} is not a file")
            lock(descriptor, "the audit is", _SECONDS)
            append(descriptor, line)
        finally:
            os.close(descriptor)

    def _make_folder(self, day: date) -> None:
        claim_data_folder(self._data)
        folder = self._data
        for part in (*FOLDER.parts, day.isoformat()):
            folder /= part
            folder.mkdir(mode=0o700, exist_ok=True)
            narrow(folder)
        oldest = day - timedelta(self._days)
        for past in self._days_kept() if self._days else ():
            if date.fromisoformat(past.name) < oldest and not past.is_symlink():
                with suppress(OSError):  # what is not ours stays, and its folder with it
                    (past / FILE).unlink(missing_ok=True)
                    past.rmdir()

    def _days_kept(self) -> list[Path]:
        try:
            return sorted(filter(_is_day, self.path.iterdir()), reverse=True)
        except FileNotFoundError:
            return []
        except OSError as error:
            self.problem = f"{self.path} cannot be read ({error.strerror})"
            return []


def encoded(record: AuditRecord) -> bytes:
    """Return a record as a line of at most `LARGEST` bytes, without responses, tools and settings
    if it would be longer.

    :raises ValueError: when it is too long all the same, or holds what JSON cannot say.
    """
    whole = record.model_dump()
    for kept in (whole, {**whole, "responses": [], "tools": [], "settings": {}, "cut": True}):
        # Half a surrogate pair is written as JSON escapes it, and read back as it was.
        text = json.dumps(
            kept,
            ensure_ascii=False,
            default=lambda value: getattr(value, "isoformat", value.__str__)(),
        )
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        if len(line) <= LARGEST:
            return line
    raise ValueError("it is too large")


def _is_day(folder: Path) -> bool:
    with suppress(ValueError):
        return date.fromisoformat(folder.name).isoformat() == folder.name
    return False


def _new_id(time: datetime) -> str:
    number, digits = int(time.timestamp() * 1000) % 36**8, ""
    for _ in range(8):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits + "".join(secrets.choice(_DIGITS) for _ in range(4))

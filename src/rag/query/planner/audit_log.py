"""The audit of plans: what was asked, what was understood and why, one JSON line a query.

The lines of a day are one file of the data folder, for its owner's eyes only. Writing one is never
a reason for a query to fail, and hardly one to wait.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

from haystack import default_from_dict, default_to_dict
from pydantic import AwareDatetime, BaseModel, Field

from rag.config import PlannerConfig
from rag.exceptions import UsageError
from rag.query.llm import Asked, ask, name_of
from rag.query.planner.plan import FullTransformationResult, MetadataExtraction
from rag.query.serialization import from_serialised, to_serialised
from rag.query.transforms.prompts import Prompt
from rag.support.durable_files import append, lock
from rag.support.owned_folders import claim_data_folder, narrow

Stage = Literal["route", "metadata", "hyde"]


class RawResponse(BaseModel):
    """What a model replied to one request, or why there is nothing.

    :param text: what was understood of the reply, without the arguments of tools; the reply word
        for word where `Trace.raw` says so.
    :param code: what stood around the query in the prompt, if it is in the text too.
    """

    stage: Stage
    model: str = ""
    text: str = ""
    failure: str = ""
    code: str = ""


class ToolCall(BaseModel):
    """One use of a tool; its arguments are redacted, since names of notes may stand in them."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    engine: str = ""
    matches: int = 0
    failure: str = ""


class Outcome(NamedTuple):
    """What came of the use of a tool.

    :param told: what the model is told, as JSON.
    :param call: what the trace keeps.
    """

    told: str
    call: ToolCall


class Trace(BaseModel):
    """All that happened while a plan was made, in order.

    :param raw: whether replies are kept word for word.
    """

    responses: list[RawResponse] = Field(default_factory=list)
    tools: list[ToolCall] = Field(default_factory=list)
    raw: bool = False

    def keep(self, understood: str) -> None:
        """Keep what was understood of the last reply, unless it is kept word for word."""
        if not self.raw and self.responses:
            self.responses[-1].text = understood


class Asker(Protocol):
    """Whoever answers the requests of the stages, and keeps the trace of one plan: each plan
    begins with a new one."""

    trace: Trace

    def has(self, stage: Stage) -> bool:
        """Return whether there is a model for a stage."""

    def model_of(self, stage: Stage) -> str:
        """Return the name of a stage's model, empty without one; no server is asked."""

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Return the reply to a prompt, or why there is none; nothing is raised."""

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Let a tool be used, which is given how many seconds it may take; nothing is raised."""


class LiveAsker:
    """Asks chat generators.

    :param generators: a Haystack chat generator by stage; a stage without one has no model.
    :param timeout: seconds for one reply.
    """

    def __init__(self, generators: Mapping[Stage, Any], timeout: float = 30.0) -> None:
        self._generators, self._timeout = dict(generators), timeout
        self.trace = Trace()

    def to_dict(self) -> dict[str, Any]:
        """Serialise the generators, without the trace."""
        generators = {
            stage: to_serialised(one) for stage, one in self._generators.items() if one is not None
        }
        return default_to_dict(self, generators=generators, timeout=self._timeout)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make the asker from what `to_dict` gave."""
        given = data["init_parameters"]
        generators = {stage: from_serialised(one) for stage, one in given["generators"].items()}
        return default_from_dict(
            cls, {**data, "init_parameters": {**given, "generators": generators}}
        )

    def has(self, stage: Stage) -> bool:
        """Return whether there is a model for a stage."""
        return self._generators.get(stage) is not None

    def model_of(self, stage: Stage) -> str:
        """Return the name of a stage's model, empty without one."""
        return name_of(self._generators[stage]) if self.has(stage) else ""

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Ask the stage's model."""
        if not self.has(stage):
            return Asked("", "", "there is no model")
        asked = ask(self._generators[stage], prompt, schema, self._timeout)
        text = asked.reply if self.trace.raw else ""
        self.trace.responses.append(
            RawResponse(
                stage=stage,
                model=asked.model,
                text=text,
                failure=asked.failure,
                code=prompt.code if prompt.code in text else "",
            )
        )
        return asked

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Use a tool, within the time of a reply."""
        outcome = use(self._timeout)
        self.trace.tools.append(outcome.call)
        return outcome


class ReplayAsker:
    """Answers with the responses that a trace holds, stage by stage, in their order; no tool is
    used again."""

    def __init__(self, trace: Trace) -> None:
        self._left = list(trace.responses)
        self._calls = list(trace.tools)
        self._stages = {response.stage for response in trace.responses}
        self.trace = Trace()

    def has(self, stage: Stage) -> bool:
        """Return whether the stage's model was asked."""
        return stage in self._stages

    def model_of(self, stage: Stage) -> str:
        """Return the name of the model that was asked."""
        return next((one.model for one in self._left if one.stage == stage), "")

    def ask(self, stage: Stage, prompt: Prompt, schema: dict[str, Any]) -> Asked:
        """Return the next response of the stage."""
        for at, response in enumerate(self._left):
            if response.stage == stage:
                del self._left[at]
                self.trace.responses.append(response.model_copy())
                text = response.text
                if response.code:  # each prompt has a code of its own
                    text = text.replace(response.code, prompt.code)
                return Asked(text, response.model, response.failure)
        missing = "the audit holds no further response"
        return Asked("", "", missing if self.has(stage) else "there is no model")

    def call(self, use: Callable[[float], Outcome]) -> Outcome:
        """Return the next use of a tool; what it told was for the model."""
        missing = ToolCall(tool="unknown", failure="the audit holds no further use of a tool")
        call = self._calls.pop(0) if self._calls else missing
        self.trace.tools.append(call)
        return Outcome("", call)


FOLDER, FILE = Path("logs", "query_transform"), "query_audit_trail.jsonl"
LARGEST = 1 << 20  # bytes of a line
# Characters of a text, and items of a list or table, in a cut record.
_LONGEST, _SHORTEST = 1 << 18, 1 << 6
_SECONDS = 0.2  # that a query waits for another process
_BLOCK = 1 << 16
_WRITE = os.O_RDWR | os.O_CREAT | os.O_APPEND
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class AuditRecord(BaseModel):
    """One planned query.

    :param id: given when it is recorded; those of one trail sort by their time.
    :param flags: what the command line's flags asked for.
    :param today: the day that dates were counted from.
    :param full: whether every model that there is was asked.
    :param result: the plan.
    :param responses: what was understood of each reply of a model, without the arguments of
        tools; word for word with the setting `raw_replies`.
    :param settings: of `[planner]`.
    :param catalogue: the digest of what the index held.
    :param cut: whether it was too long to be kept whole.
    """

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
        cls,
        query: str,
        result: FullTransformationResult,
        trace: Trace,
        *,
        flags: MetadataExtraction | None,
        today: date,
        full: bool,
        latency_ms: float,
        settings: PlannerConfig,
        catalogue: str,
    ) -> AuditRecord:
        """Make the record of a plan that has just been made."""
        return cls(
            time=datetime.now().astimezone(),
            query=query,
            flags=flags,
            today=today,
            full=full,
            route=result.intent.primary_route.value,
            latency_ms=round(latency_ms, 3),
            result=result,
            models=result.models,
            fallbacks=result.fallbacks,
            responses=trace.responses,
            tools=trace.tools,
            settings={**vars(settings)},  # `asdict` would copy each of very many aliases
            catalogue=catalogue,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the record as it is kept."""
        found: dict[str, Any] = json.loads(encoded(self))
        return found

    @property
    def trace(self) -> Trace:
        """What models and tools said."""
        return Trace(responses=self.responses, tools=self.tools)


class AuditTrail:
    """The records of a data folder.

    :param folder: the data folder.
    :param days: how many days of records are kept; 0: all. Older ones go when a day's first
        record is written.
    """

    def __init__(self, folder: Path, days: int = 90) -> None:
        self._data, self._days, self.path = folder, days, folder / FOLDER
        self.problem = ""
        self.skipped = 0

    def record(self, record: AuditRecord) -> str:
        """Keep a record, and return its id; nothing is raised.

        :returns: the empty text when it could not be kept; `problem` says why.
        """
        self.problem = ""
        try:
            named = record.model_copy(update={"id": _new_id(record.time)})
            self._append(encoded(named), named.time.astimezone().date())
        except Exception as error:  # whatever it is: the query was planned, and is answered
            self.problem = f"the plan was not recorded ({error})"
            return ""
        return named.id

    def records(self, first: date | None = None) -> Iterator[AuditRecord]:
        """Yield the records, the newest first; lines that are none are counted in `skipped`.

        :param first: leave out days before this one.
        """
        return (record for line in self._lines(first) if (record := self._parsed(line)))

    def find(self, prefix: str) -> AuditRecord:
        """Return the record whose id begins so.

        :raises UsageError: when there is none, or more than one.
        """
        wanted = prefix.strip().lower()
        marked = f'{{"id": "{wanted}'.encode("utf-8", "replace")
        lines = (line for line in self._lines() if wanted and line.startswith(marked))
        found = [record for line in lines if (record := self._parsed(line))]
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(f"no record {prefix!r}", hint="`rag audit` lists them.")
        ids = ", ".join(record.id for record in found[:5])
        raise UsageError(f"{len(found)} records begin with {prefix!r}", hint=f"Which one: {ids}?")

    def _append(self, line: bytes, day: date) -> None:
        path = self.path / day.isoformat() / FILE
        try:
            descriptor = _opened(path, _WRITE)
        except FileNotFoundError:
            self._make_folder(day)
            descriptor = _opened(path, _WRITE)
        try:
            lock(descriptor, "the audit is", _SECONDS)
            append(descriptor, line)
        finally:
            os.close(descriptor)

    def _make_folder(self, day: date) -> None:
        """Make the folder of a day, and remove those of days that are too old."""
        claim_data_folder(self._data)
        folder = self._data
        for part in (*FOLDER.parts, day.isoformat()):
            folder /= part
            folder.mkdir(mode=0o700, exist_ok=True)
            narrow(folder)
        oldest = day - timedelta(self._days)
        for past in self._all_days() if self._days else ():
            if date.fromisoformat(past.name) < oldest and not past.is_symlink():
                with suppress(OSError):  # what is not ours stays, and its folder with it
                    (past / FILE).unlink(missing_ok=True)
                    past.rmdir()

    def _all_days(self) -> list[Path]:
        """Return the folders of days, the newest first."""
        try:
            return sorted(filter(_is_day, self.path.iterdir()), reverse=True)
        except FileNotFoundError:
            return []
        except OSError as error:
            self.problem = f"{self.path} cannot be read ({error.strerror})"
            return []

    def _lines(self, first: date | None = None) -> Iterator[bytes]:
        for folder in self._all_days():
            if first and date.fromisoformat(folder.name) < first:
                return
            try:
                with os.fdopen(_opened(folder / FILE, os.O_RDONLY), "rb") as file:
                    yield from _backwards(file)
            except FileNotFoundError:
                continue
            except OSError as error:
                self.problem = f"{folder / FILE} cannot be read ({error.strerror})"

    def _parsed(self, line: bytes) -> AuditRecord | None:
        try:
            return decoded(line)
        except (ValueError, RecursionError):  # ValidationError is a ValueError
            self.skipped += 1
            return None


def _opened(path: Path, flags: int) -> int:
    """Open a file; a pipe in its place would let us wait, and a device read for ever.

    :raises OSError: when it is no file, or cannot be opened.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a file", str(path))


def encoded(record: AuditRecord) -> bytes:
    """Return a record as a line of at most `LARGEST` bytes; what is too long for it is cut.

    :raises ValueError: when it cannot be cut so short, or holds what JSON cannot say.
    """
    whole, longest = record.model_dump(), _LONGEST
    while longest >= _SHORTEST:
        kept = _shortened(whole, longest)
        line = _line(kept if kept == whole else {**kept, "cut": True})
        if len(line) <= LARGEST:
            return line
        longest //= 2
    raise ValueError("it is too large")


def decoded(line: bytes) -> AuditRecord:
    """Read a line.

    :raises ValueError: when it is no record.
    """
    return AuditRecord.model_validate(json.loads(line))


def _line(data: Mapping[str, Any]) -> bytes:
    # Half a surrogate pair is written as JSON escapes it, and read back as it was.
    text = json.dumps(data, ensure_ascii=False, default=_as_text)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _shortened(value: Any, longest: int) -> Any:
    if isinstance(value, str | list):
        value = value[:longest]
    if isinstance(value, list):
        return [_shortened(item, longest) for item in value]
    if isinstance(value, dict):
        kept = islice(value.items(), longest)
        return {key: _shortened(item, longest) for key, item in kept}
    return value


def _is_day(folder: Path) -> bool:
    with suppress(ValueError):
        return date.fromisoformat(folder.name).isoformat() == folder.name
    return False


def _backwards(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, the last first; empty ones are left out."""
    at, rest = file.seek(0, os.SEEK_END), b""
    while at > 0:
        size = min(_BLOCK, at)
        at -= size
        file.seek(at)
        first, *lines = (file.read(size) + rest).split(b"\n")
        yield from filter(None, reversed(lines))
        rest = first[: LARGEST + 1]  # of a line that is no record, and may have no end
    if rest:
        yield rest


def _new_id(time: datetime) -> str:
    """Return eight digits of time, in milliseconds, and four by chance."""
    number, digits = int(time.timestamp() * 1000) % 36**8, ""
    for _ in range(8):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits + "".join(secrets.choice(_DIGITS) for _ in range(4))

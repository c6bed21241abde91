"""The programs around `rag`: clients of its server for agents, the scheduler of its job, and the
watcher."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from rag.app.doctor.check import CheckResult, Checks, Examination, failure, passed, warning
from rag.app.service import how_often, read_service
from rag.app.serving.program_start import BARE, program_start
from rag.app.watch_state import read_watcher
from rag.exceptions import UPDATE_INDEX
from rag.support.json_reports import to_json

_SECONDS = 30.0  # for a server that starts, and answers
_CLIENT = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "doctor", "version": "1"}}
_REQUESTS = (
    {"id": 1, "method": "initialize", "params": {**_CLIENT, "capabilities": {}}},
    {"id": 2, "method": "tools/call", "params": {"name": "status"}},
)


def check_agents(examination: Examination) -> Iterator[CheckResult]:
    """Start the server for agents as a client does that gives it next to nothing, and ask it which
    index it reads."""
    if not examination.has_index:
        return
    start, own = program_start(examination.config), examination.config.index_dir
    environment = {name: os.environ[name] for name in BARE if name in os.environ}
    environment |= start.environment
    if start.config_file:
        environment["RAG_CONFIG"] = str(start.config_file)
    requests = "\n".join(json.dumps({"jsonrpc": "2.0", **request}) for request in _REQUESTS)
    output = b""
    try:
        ran = subprocess.run(
            [*start.program, "mcp"],
            input=requests.encode(),
            capture_output=True,
            env=environment,
            cwd="/",  # where clients with windows start programs
            timeout=_SECONDS,
            check=False,
        )
        output = ran.stderr or ran.stdout
        replies = {reply["id"]: reply for reply in map(json.loads, ran.stdout.splitlines())}
        index = str(replies[2]["result"]["_meta"]["rag/index"])
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError) as error:
        why = output[-300:].decode("utf-8", "replace") or f"{type(error).__name__}: {error}"
        message = f"the server for agents does not answer: {why}"
        yield failure("agents", message[:500], "If `rag index --rebuild` does not help, report it.")
        return
    if Path(index) == own:
        yield passed("agents", "a client with a bare environment reads this index", index=index)
    else:
        message = f"the server for agents reads another index: {index}, not {own}"
        hint = "Give clients the configuration that is printed for them."
        yield failure("agents", message, hint, index=index)


def check_service(_examination: Examination) -> Iterator[CheckResult]:
    """Tell whether a job of a scheduler that indexes at intervals can run, and how it last did."""
    report = read_service()
    schedulers = [job.scheduler for job in report.installed]
    for problem in report.problems:
        cause, _, hint = problem.rpartition(". ")
        if not cause:  # nothing here mends it
            cause, hint = hint, ""
        yield warning("service", cause, hint, schedulers=schedulers)
    for unknown in report.unknown:
        yield warning("service", unknown, schedulers=schedulers)
    if schedulers and not report.problems and not report.unknown:
        jobs = " and ".join(f"{job.scheduler}, {how_often(job.every)}" for job in report.installed)
        yield passed("service", f"the index is kept up to date by {jobs}", schedulers=schedulers)


def check_watcher(examination: Examination) -> Iterator[CheckResult]:
    """Tell whether the watcher that was started still watches, and how its last run went."""
    watcher = read_watcher(examination.config)
    if watcher is None:
        return
    facts = to_json(watcher)
    if not watcher.alive:
        message = f"the watcher ended unexpectedly after {watcher.heartbeat}"
        yield warning("watcher", message, "`rag watch` starts it again.", **facts)
    elif watcher.is_late:
        message = f"process {watcher.process} watches, but gives no sign of life"
        message += f" since {watcher.heartbeat}"
        yield warning("watcher", message, "End it, and start `rag watch` again.", **facts)
    elif watcher.last_run and watcher.last_run.error:
        message = f"the last run of the watcher failed: {watcher.last_run.error}"
        yield warning("watcher", message, UPDATE_INDEX, **facts)
    elif watcher.missing:
        message = f"folders that are watched are not there: {', '.join(watcher.missing)}"
        yield warning("watcher", message, "Mount them, or `rag vault remove` them.", **facts)
    else:
        message = f"process {watcher.process} watches the notes since {watcher.started}"
        yield passed("watcher", message, **facts)


CHECKS: Checks = [
    ("agents", check_agents),
    ("service", check_service),
    ("watcher", check_watcher),
]

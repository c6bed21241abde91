"""The job that indexes at intervals, in schema 1."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.app.service import InstallReport, RemovalReport, ServiceReport
    from rag.app.service.scheduler import Installed, LastRun, Step


def install_to_json(report: InstallReport) -> dict[str, Any]:
    """Return a job that was installed, or would be, and what that took."""
    return {
        "scheduler": report.scheduler,
        "every": report.every,
        "command": report.job.command,
        "folder": str(report.job.folder),
        "environment": report.job.environment,
        "replaced": report.replaced,
        "steps": [_step(step) for step in report.steps],
        "deleted": report.deleted,
        "installed": _installed(report.installed) if report.installed else None,
        "notices": report.notices,
    }


def removal_to_json(report: RemovalReport) -> dict[str, Any]:
    """Return what was taken out of which scheduler."""
    return {"removed": report.removed, "notices": report.notices, "failures": report.failures}


def service_to_json(report: ServiceReport) -> dict[str, Any]:
    """Return the jobs that are installed, and what is wrong with them."""
    return {
        "installed": [_installed(found) for found in report.installed],
        "problems": report.problems,
        "notices": report.notices,
        "unknown": report.unknown,
    }


def _step(step: Step) -> dict[str, Any]:
    from rag.app.service.scheduler import Call, Edit, Write

    if isinstance(step, Call | Edit):
        return {"run": step.words, "line": step.line if isinstance(step, Edit) else ""}
    return {"write" if isinstance(step, Write) else "delete": str(step.path)} | (
        {"text": step.text} if isinstance(step, Write) else {}
    )


def _installed(found: Installed) -> dict[str, Any]:
    return {
        "scheduler": found.scheduler,
        "places": found.places,
        "every": found.every,
        "command": found.command,
        "folder": found.folder,
        "environment": found.environment,
        "waits": found.waits,
        "running": found.is_running,
        "next_run": _time(found.next_run),
        "last_run": _last_run(found.last_run) if found.last_run else None,
        "missing": found.missing,
        "log": found.log,
    }


def _last_run(last: LastRun) -> dict[str, Any]:
    return {
        "ended": _time(last.ended),
        "exit_code": last.exit_code,
        "failed": last.failed,
        "line": last.line,
    }


def _time(when: datetime | None) -> str | None:
    return when.isoformat(timespec="seconds") if when else None

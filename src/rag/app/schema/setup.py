"""Settings, trust and the warm process in schema 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag.app.serving.program_start import ClientConfig
    from rag.app.settings import (
        SettingsReport,
        TrustListReport,
        TrustRemovedReport,
        TrustReport,
    )
    from rag.app.warm_process import StoppedReport, WarmReport


def client_config_to_json(made: ClientConfig) -> dict[str, Any]:
    """Return what to paste into the configuration of a client, and where that is."""
    return {"client": made.client, "text": made.text, "place": made.place}


def settings_to_json(report: SettingsReport) -> dict[str, Any]:
    """Return every setting, its value, where that came from, and what does not count."""
    from rag.config import values

    config = report.config
    settings: dict[str, Any] = {}
    for name, value in values(config).items():
        settings[name] = {"value": value, "origin": config.origins.get(name, "default")}
        if one := config.left_out.get(name):
            settings[name]["left_out"] = {"value": one.value, "reason": one.reason}
    return {"settings": settings}


def trust_to_json(report: TrustReport) -> dict[str, Any]:
    """Return what a project's file asks for."""
    asks = [{"name": ask.name, "value": ask.value} for ask in report.asks]
    return {"file": str(report.file), "asks": asks, "trusted": bool(asks)}


def trust_list_to_json(report: TrustListReport) -> dict[str, Any]:
    """Return the files that were asked about."""
    return {
        "files": [
            {"file": path, "trusted": entry.trusted, "since": entry.since, "sha256": entry.digest}
            for path, entry in report.files.items()
        ]
    }


def trust_removed_to_json(report: TrustRemovedReport) -> dict[str, Any]:
    """Return which file is not trusted any more."""
    return {"file": str(report.file), "removed": report.removed}


def warm_to_json(report: WarmReport) -> dict[str, Any]:
    """Return the warm process."""
    return {"warm": vars(report.warm) if report.warm else None}


def stopped_to_json(report: StoppedReport) -> dict[str, Any]:
    """Return the processes that were ended."""
    return {"stopped": report.stopped}

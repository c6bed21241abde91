"""Whether everything that `rag` relies on is well, one check after the other.

No check takes the writer's lock or writes, except that it takes away what spares others the
reading of a damaged index. Each ends: what waits for a server waits for about
`ollama.query_timeout`, what walks folders for some seconds, what reads files until all are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rag.app.doctor.agents import check_agents
from rag.app.doctor.check import Check, Examination, Status, from_error
from rag.app.doctor.chunks import check_chunks
from rag.app.doctor.environment import check_configuration, check_data_folder, check_disk
from rag.app.doctor.index import check_index
from rag.app.doctor.index_files import check_files
from rag.app.doctor.marks import check_marks
from rag.app.doctor.model_servers import check_models, check_servers
from rag.app.doctor.plugins import check_transforms
from rag.app.doctor.qdrant_server import check_server
from rag.app.doctor.server_catalog import check_catalog
from rag.app.doctor.service import check_service
from rag.app.doctor.vaults import check_vaults
from rag.app.doctor.vectors import check_vectors
from rag.config import RAGConfig
from rag.exceptions import Message, RAGError, Remedy

__all__ = ["Check", "DoctorReport", "run_checks"]

STATUSES: tuple[Status, ...] = ("pass", "warn", "fail")


@dataclass(frozen=True)
class DoctorReport:
    """What all checks found."""

    checks: list[Check]

    def count(self, status: Status) -> int:
        """Return how many checks found it so."""
        return sum(check.status == status for check in self.checks)


Checker = Callable[[Examination], Iterator[Check]]

# Vectors come after Ollama: they are compared only with a server that is known to answer.
_CHECKS: dict[str, Checker] = {
    "configuration": check_configuration,
    "transforms": check_transforms,
    "data folder": check_data_folder,
    "marks": check_marks,
    "disk": check_disk,
    "vault": check_vaults,
    "index": check_index,
    "files": check_files,
    "chunks": check_chunks,
    "ollama": check_servers,
    "models": check_models,
    "vectors": check_vectors,
    "qdrant": check_server,
    "catalog": check_catalog,
    "agents": check_agents,
    "service": check_service,
}


def run_checks(config: RAGConfig) -> Iterator[Check]:
    """Yield what each check says as soon as it is known; a check that breaks is a failure."""
    examination = Examination(config)
    for name, check in _CHECKS.items():
        yield from _guarded(name, check, examination)


def _guarded(name: str, check: Checker, examination: Examination) -> Iterator[Check]:
    try:
        yield from check(examination)
    except RAGError as error:
        yield from_error(name, error)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        text = str(error).split("\n")[0][:300]
        message = f"the check broke: {type(error).__name__}: {text}"
        yield Check(name, "fail", message, Message(remedy=Remedy.REBUILD_OR_REPORT))

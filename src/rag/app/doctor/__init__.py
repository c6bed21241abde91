"""Whether everything that `rag` relies on is well: a module for each thing that is examined, with
its checks.

No check takes the writer's lock or writes. Each ends: what waits for a model waits for about
`ollama.query_timeout`, what walks folders for some seconds, what reads files until all are read.
"""

from __future__ import annotations

from collections.abc import Iterator

from rag.app.doctor import environment, index, models, server, settings
from rag.app.doctor.check import CheckResult, DoctorReport, Examination, failure, from_error
from rag.config import RAGConfig
from rag.exceptions import RAGError

__all__ = ["CHECKS", "CheckResult", "DoctorReport", "run_checks"]

# In this order: models are compared with the index, which is read before.
CHECKS = settings.CHECKS + index.CHECKS + models.CHECKS + server.CHECKS + environment.CHECKS


def run_checks(config: RAGConfig) -> Iterator[CheckResult]:
    """Yield the results of each check as soon as they are there; one that breaks is a failure."""
    examination = Examination(config)
    for name, check in CHECKS:
        try:
            yield from check(examination)
        except RAGError as error:
            yield from_error(name, error)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a panic of the engine is no Exception
            text, *_ = str(error).split("\n")
            message = f"the check broke: {type(error).__name__}: {text[:300]}"
            yield failure(name, message, "If `rag index --rebuild` does not help, report it.")

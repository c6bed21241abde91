"""The errors against the table of exit codes in the design."""

import pytest

from rag import exceptions
from rag.exceptions import ConnectionError, RAGError
from tables import rows

EXIT_CODES = {
    "RAGError": 1,
    "NotFoundError": 1,
    "UsageError": 2,
    "ArgumentError": 2,
    "ConfigError": 2,
    "QueryError": 2,
    "ContextError": 2,
    "PipelineExecutionError": 2,
    "RetrieverError": 2,
    "FormatterError": 2,
    "TokenBudgetExceededError": 2,
    "StorageError": 2,
    "IndexUnavailableError": 3,
    "ConnectionError": 4,
    "StoreConnectionError": 4,
    "ModelMissingError": 4,
    "ModelError": 4,
    "TooLongError": 4,
    "UnfinishedError": 4,
    "IndexingError": 5,
    "DiskFullError": 5,
    "LockedError": 75,
    "RunInterruptedError": 130,
}
ERRORS = [e for e in vars(exceptions).values() if isinstance(e, type) and issubclass(e, RAGError)]


def test_every_error_has_the_exit_code_of_the_design():
    assert {error.__name__: error.exit_code for error in ERRORS} == EXIT_CODES


def test_no_two_errors_share_a_kind_but_a_server_is_a_server_and_an_argument_is_usage():
    alike = (exceptions.StoreConnectionError, exceptions.ArgumentError)
    others = [error for error in ERRORS if error not in alike]
    assert len({error.kind for error in others}) == len(others)
    assert [error.kind for error in alike] == ["connection", "usage"]


@rows("error", ERRORS)
def test_every_error_is_caught_as_a_rag_error_and_carries_its_hint(error):
    with pytest.raises(RAGError) as caught:
        raise error("it broke", hint="type this")
    assert (caught.value.message, caught.value.hint) == ("it broke", "type this")


def test_a_connection_error_names_the_server_and_is_not_the_builtin_one():
    error = ConnectionError("no answer", "http://localhost:11434")
    assert error.server == "http://localhost:11434"
    assert not isinstance(error, OSError)

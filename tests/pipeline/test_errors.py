"""Errors pass through worker processes: what is pickled comes out as it went in."""

import pickle

import pytest

from agentv_stream.errors import AgentvStreamError, EmptyInput, NotALog, SinkError, SourceError, UsageError


@pytest.mark.parametrize(
    "error",
    [
        AgentvStreamError("x"),
        UsageError("x"),
        SourceError("x"),
        NotALog("x"),
        EmptyInput("x"),
        SinkError("out/a.jsonl", OSError(28, "No space left on device")),
    ],
)
def test_an_error_survives_pickling(error: AgentvStreamError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.exit_code) == (type(error), str(error), error.exit_code)

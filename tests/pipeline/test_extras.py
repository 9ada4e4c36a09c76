"""Libraries that are extras: what is told where one is missing."""

import pytest

from agentv_stream.errors import UsageError
from agentv_stream.extras import arrow, extra


def test_a_library_that_is_there_is_imported() -> None:
    assert extra("json.decoder", "none", "this").JSONDecoder


def test_a_missing_one_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"the plot needs an extra: pip install 'agentv-stream\[plot\]'") as caught:
        extra("no_such_library", "plot", "the plot")
    assert caught.value.exit_code == 2
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"agentv-stream\[parquet\]"):
        arrow()

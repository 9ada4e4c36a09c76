"""Libraries that are extras: what is told where one is missing."""

from pathlib import Path

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


def test_one_that_is_installed_but_cannot_be_loaded_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken_library.py").write_text("raise ImportError('libpq.so.5: no such file')")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(
        UsageError, match=r"the plot needs broken_library, which cannot be loaded: libpq\.so\.5"
    ) as caught:
        extra("broken_library", "plot", "the plot")
    assert "pip install" not in str(caught.value)

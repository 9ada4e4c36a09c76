"""What holds for all tests: settings of whoever runs them do not reach the code under test."""

import os

import pytest

FOR_TESTS = ("AGENTV_STREAM_CORPUS", "AGENTV_STREAM_AGENTV")


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """`AGENTV_STREAM_*` variables are settings; only those that tests themselves read stay."""
    for name in os.environ:
        if name.startswith("AGENTV_STREAM_") and name not in FOR_TESTS:
            monkeypatch.delenv(name)

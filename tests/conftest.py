"""What holds for all tests: neither the settings of whoever runs them nor what other tests tuned reach the code."""

import gc
import os
import signal
from collections.abc import Iterator
from itertools import count

import pytest

from support.following import Desk

_NUMBERS = count()
FOR_TESTS = ("AGENTV_STREAM_CORPUS", "AGENTV_STREAM_AGENTV", "AGENTV_STREAM_HARBOR")


@pytest.fixture(autouse=True, scope="session")
def signals_as_in_a_terminal() -> None:
    """What started the tests may ignore signals (`nohup`, a background job of a shell), and children inherit that."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """`AGENTV_STREAM_*` variables are settings; only those that tests themselves read stay."""
    for name in os.environ:
        if name.startswith("AGENTV_STREAM_") and name not in FOR_TESTS:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def cursors_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Followers keep cursors in the home folder: those of tests stay out of it. The folder is made where it is used."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / f"state-{next(_NUMBERS)}"))


@pytest.fixture(autouse=True)
def cache_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commands keep figures and headers in the user's cache: those of tests stay out of it, and of each other's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache-{next(_NUMBERS)}"))


@pytest.fixture(autouse=True)
def cursors_are_closed() -> Iterator[None]:
    """A database that is left open is told of in whatever test runs when it is collected."""
    yield
    for desk in list(Desk.in_use):
        desk.close()


@pytest.fixture(autouse=True)
def collector_as_it_was() -> Iterator[None]:
    """A command that is called in this process freezes what is there, for a process that it thinks its own.

    Frozen objects stand to the very end, where DuckDB's are then listed as leaks behind the outcome of the tests.
    """
    threshold = gc.get_threshold()
    yield
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.set_threshold(*threshold)

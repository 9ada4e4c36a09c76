"""The conformance kit: the checks that every provider of this project passes, as tests for the author of a plug-in.

    class TestAbacus(ProviderTests):
        provider = PROVIDER
        logs = {"abacus-json": ["abacus.jsonl"]}

        figures = {"abacus.jsonl": {"status": "complete", "calls": 3, "failed": 1, "input": 1500, "output": 120}}

pytest runs a test for each log and each rule. Paths are relative to the file of the tests; a database gives a log for
each of its sessions, `state.db::SESSION`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest

from agentv_stages.figures.result import Result
from agentv_stages.model.batch import Record
from agentv_stages.model.event import FAILED_OUTCOMES, UserText
from agentv_stages.model.provider import MODEL, PROMPT, Dialect, Provider
from agentv_stages.model.store import StoreTable
from agentv_stages.providers import all_providers, get_provider
from agentv_stages.session.detect import rank
from agentv_stream.discovery.places import is_database
from agentv_stream.errors import SourceError
from agentv_stream.stores.opening import list_sessions
from agentv_stream.stores.rows import read_session
from agentv_stream.stores.store import STORE_SIGN, split_stored, without_children
from agentv_stream.summary import summarize
from agentv_stream.testing.laws import (
    check_hostile,
    check_laws,
    check_memory,
    check_odd_shapes,
    decode,
    head_of,
    record_log,
)

_HERE = Path(__file__)
_SHIPPED = _HERE.with_name("fixtures")  # of the wheel
_SOURCES = _HERE.parents[3] / "tests" / "fixtures"  # of a checkout
_NO_LOGS = ("meta.json",)


def fixtures() -> Iterator[tuple[str, Path]]:
    """Small logs of the built-in providers, each with the name of its provider."""
    root = _SHIPPED if _SHIPPED.is_dir() else _SOURCES
    for path in sorted(root.rglob("*.json*")):
        if not path.name.endswith(_NO_LOGS):
            yield path.relative_to(root).parts[0], path


@cache
def _data(place: Path) -> bytes:
    """The bytes of a log: of a file, or of a session in a database. Raises: SourceError."""
    store, session = split_stored(str(place))
    return b"\n".join(read_session(store, session)) if session else place.read_bytes()


@cache
def _records(place: Path) -> tuple[Record, ...]:
    return tuple(record_log(_data(place)))


def _places(path: Path) -> list[Path]:
    """The log at a path; for a database each of its sessions."""
    if not is_database(str(path)):
        return [path]
    try:
        return [Path(f"{path}{STORE_SIGN}{session.id}") for session in without_children(list_sessions(path))]
    except SourceError:
        return [path]  # its tests show what is wrong


@cache
def _result(place: Path) -> Result:
    return summarize(_data(place) if split_stored(str(place))[1] else place)


def check_detection(provider: Provider, dialect: Dialect, records: Sequence[Record]) -> None:
    """The log is recognised as this dialect, among all providers that are installed."""
    found = rank(list(head_of(records)))
    assert found, f"no dialect fits the log; {dialect.name} is {dialect.detect(head_of(records))} sure"
    sure, owner, best = found[0]
    assert best.name == dialect.name, f"the log is taken for {best.name} of {owner.name} (sure by {sure})"
    own = max((other.detect(head_of(records)), other.name) for other in provider.dialects)
    assert own[1] == dialect.name, f"{own[1]} is {own[0]} sure of a log of {dialect.name}"


def check_takes_no_other_log(provider: Provider) -> None:
    """No dialect is as sure of a log of a built-in provider as that provider's own."""
    for name, path in fixtures():
        head = head_of(_records(path))
        theirs = max((dialect.detect(head) for dialect in get_provider(name).dialects), default=0.0)
        for dialect in provider.dialects if name != provider.name else ():
            sure = dialect.detect(head)
            assert sure < theirs or not sure, f"{dialect.name} is {sure} sure of {name}'s {path.name}"


def check_is_taken_by_no_other(provider: Provider, records: Sequence[Record]) -> None:
    """No other provider is certain of the log."""
    head = head_of(records)
    for other in all_providers():
        for dialect in other.dialects if other.name != provider.name else ():
            assert dialect.detect(head) < 1.0, f"{dialect.name} of {other.name} is certain of the log"


def check_facts(provider: Provider) -> None:
    """Names are unique, every dialect names its command and its end, every tool a canonical name or its own."""
    names = [dialect.name for dialect in provider.dialects]
    assert names and len(set(names)) == len(names), f"dialects of one name: {names}"
    for dialect in provider.dialects:
        assert dialect.name.startswith(provider.name), f"{dialect.name} does not begin with {provider.name}"
        assert dialect.about.made_by, f"{dialect.name}: `about` does not say how to get such a log"
        assert dialect.about.end, f"{dialect.name}: `about` does not say how a run ends"
        assert not isinstance(dialect.losses, str), f"{dialect.name}: losses are a tuple of texts"
    for other in all_providers():
        if other.name != provider.name:
            taken = {other.name, *other.aliases} & {provider.name, *provider.aliases}
            assert not taken, f"{other.name} has the names {sorted(taken)} already"
    natives = [row.native for row in provider.tools.rows]
    assert len(set(natives)) == len(natives), f"several rows of one tool: {sorted(natives)}"
    start = provider.start
    if start is not None:
        assert PROMPT in start.command, "the command of `start` has no PROMPT"
        assert start.model is None or MODEL in start.model, "the option words of `start` have no MODEL"
        assert any(dialect.live for dialect in provider.dialects), "`run` starts the agent, but no dialect is live"
    for root in provider.roots:
        assert root.patterns and not root.default.endswith("/"), f"the root {root.default} has no pattern"
        assert not isinstance(root.patterns, str), f"the patterns of the root {root.default} are a tuple of texts"
    if provider.store is not None:
        assert provider.store.provider == provider.name, "`store` has another provider's name"
        searched = any(root.database for root in provider.roots) or not provider.roots
        assert searched, "no root is a database, so `store` is never searched"
        assert any(dialect.stored for dialect in provider.dialects), "no dialect is `stored`: its rows are in `store`"
    if isinstance(provider.store, StoreTable):
        assert "id" in provider.store.message_columns, "messages are known by their column `id`"


LOSSES = (("cost", "cost_usd"), ("tokens", "input"), ("times", "duration_ms"), ("times", "call_ms"))
"""Words of a loss, and the figure that must then be null; `call_ms` is the time of all calls."""


def check_reading(provider: Provider, dialect: Dialect, place: Path) -> None:
    """The log is read without faults and unknown records, has no figure that its losses deny, and each call of a
    complete session has a result."""
    result, name = _result(place), place.name
    assert (result.session.provider, result.session.dialect) == (provider.name, dialect.name)
    assert not result.faults, f"faults in {name}: {dict(result.faults)}"
    assert not result.unknown, f"record types that the decoder does not know in {name}: {dict(result.unknown)}"
    assert result.events, f"{name} gives no event"
    durations = [tool.total_ms for tool in result.tool_use_summary.tools.values() if tool.total_ms is not None]
    figures = {"cost_usd": result.cost_usd, "input": result.tokens["input"], "duration_ms": result.duration_ms}
    figures["call_ms"] = sum(durations) if durations else None
    for loss in dialect.losses:
        for word, figure in LOSSES:
            if loss == word or loss.startswith((f"{word},", f"{word} (", f"{word} and ")):
                assert figures[figure] is None, f"{dialect.name} loses {loss!r}, but {figure} is {figures[figure]}"
    if not any("time" in loss for loss in dialect.losses):
        assert result.session.started_at is not None, f"{name} gives no time, which no loss of {dialect.name} says"
    open_calls = result.tool_use_summary.by_outcome.get("unpaired", 0)
    assert result.status != "complete" or not open_calls, f"{name} is complete, but {open_calls} calls have no result"


NEEDED_FIGURES = frozenset(("status", "prompts", "calls", "failed", "input", "output"))


def check_figures(dialect: Dialect, place: Path, expected: Mapping[str, object]) -> None:
    """The figures are those that the author has counted: `status`, `prompts` of the user, `calls` and the `failed` ones
    among them, tokens (`input` with cached ones, `cached`, `output`), `turns`, `edits`, `cost_usd`, calls by tool
    (`tools`); None for what the log does not say."""
    missing = NEEDED_FIGURES - expected.keys()
    assert not missing, f"count {sorted(missing)} of {place.name} by hand, and write them into `figures`"
    result, prompts = _result(place), set[str]()
    for event in decode(dialect, _records(place)).events:
        if isinstance(event, UserText) and not event.injected and event.text.strip():
            prompts.add(event.message_id or str(event.source.row))
    summary = result.tool_use_summary
    found: dict[str, object] = {
        "status": result.status,
        "prompts": len(prompts),
        "turns": summary.turns,
        "calls": summary.total_tool_calls,
        "failed": sum(summary.by_outcome.get(outcome, 0) for outcome in FAILED_OUTCOMES),
        "edits": sum(stream.edits for stream in summary.by_stream.values()),
        "input": result.tokens["input"],
        "cached": result.tokens["cached"],
        "output": result.tokens["output"],
        "cost_usd": result.cost_usd,
        "tools": dict(summary.by_tool),
    }
    unknown = sorted(expected.keys() - found.keys())
    assert not unknown, f"`figures` of {place.name} has {unknown}; there are {sorted(found)}"
    assert {name: found[name] for name in expected} == dict(expected), f"the figures of {place.name}"


class ProviderTests:
    """Tests of a provider. Give a subclass `provider`, `logs`: the paths of logs by the name of their dialect, and
    `figures`: for the name of each log, the figures that you have counted (`check_figures`)."""

    provider: ClassVar[Provider]
    logs: ClassVar[Mapping[str, Sequence[str]]]
    figures: ClassVar[Mapping[str, Mapping[str, object]]] = {}

    @pytest.fixture
    def log(self, request: pytest.FixtureRequest) -> tuple[Dialect, Path]:
        name, path = request.param
        return next(dialect for dialect in self.provider.dialects if dialect.name == name), path

    def test_every_dialect_has_a_log(self) -> None:
        assert {dialect.name for dialect in self.provider.dialects} == set(self.logs)

    def test_facts(self) -> None:
        check_facts(self.provider)

    def test_it_takes_no_other_log(self) -> None:
        check_takes_no_other_log(self.provider)

    def test_it_is_installed(self) -> None:
        assert self.provider.name in {provider.name for provider in all_providers()}, "the entry point is missing"

    def test_laws(self, log: tuple[Dialect, Path]) -> None:
        check_laws(log[0], _records(log[1]))

    def test_odd_shapes(self, log: tuple[Dialect, Path]) -> None:
        check_odd_shapes(self.provider, _records(log[1]))
        check_hostile(log[0], _records(log[1]))

    def test_memory(self, log: tuple[Dialect, Path]) -> None:
        check_memory(log[0], _records(log[1]))

    def test_detection(self, log: tuple[Dialect, Path]) -> None:
        check_detection(self.provider, log[0], _records(log[1]))
        check_is_taken_by_no_other(self.provider, _records(log[1]))

    def test_reading(self, log: tuple[Dialect, Path]) -> None:
        check_reading(self.provider, *log)

    def test_figures(self, log: tuple[Dialect, Path]) -> None:
        check_figures(*log, self.figures.get(log[1].name, {}))


def parametrize_logs(metafunc: pytest.Metafunc) -> None:
    """One test for each log of a subclass of `ProviderTests`; the plugin of pytest calls it."""
    tests: type[object] | None = metafunc.cls  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - pytest's
    if "log" not in metafunc.fixturenames or tests is None or not issubclass(tests, ProviderTests):
        return
    folder = metafunc.definition.path.parent
    logs = [(dialect, folder / path) for dialect, paths in tests.logs.items() for path in paths]
    found = [(dialect, place) for dialect, path in logs for place in _places(path)]
    metafunc.parametrize("log", found, ids=[path.name for _, path in found], indirect=True)

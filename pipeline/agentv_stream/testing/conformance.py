"""The conformance kit: the checks that every provider of this project passes, as tests for the author of a plug-in.

    class TestAbacus(ProviderTests):
        provider = PROVIDER
        logs = {"abacus-json": ["abacus.jsonl"]}

pytest runs a test for each log and each rule. Paths are relative to the file of the tests.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

import pytest

from agentv_stages.model.batch import Record
from agentv_stages.model.provider import MODEL, PROMPT, Dialect, Provider
from agentv_stages.providers import all_providers, get_provider
from agentv_stages.session.detect import rank
from agentv_stream.summary import summarize
from agentv_stream.testing.laws import check_laws, check_odd_shapes, head_of, record_log

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
def _records(path: Path) -> tuple[Record, ...]:
    return tuple(record_log(path.read_bytes()))


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
    natives = [row.native for row in provider.tools.rows]
    assert len(set(natives)) == len(natives), f"several rows of one tool: {sorted(natives)}"
    start = provider.start
    if start is not None:
        assert PROMPT in start.command, "the command of `start` has no PROMPT"
        assert start.model is None or MODEL in start.model, "the option words of `start` have no MODEL"
        assert any(dialect.live for dialect in provider.dialects), "`run` starts the agent, but no dialect is live"
    for root in provider.roots:
        assert root.patterns and not root.default.endswith("/"), f"the root {root.default} has no pattern"


LOSSES = (("cost", "cost_usd"), ("tokens", "input"))
"""Words of a loss, and the figure that must then be null."""


def check_reading(provider: Provider, dialect: Dialect, path: Path) -> None:
    """The log is read without faults and unknown records, and has no figure that its losses deny."""
    result = summarize(path)
    assert (result.session.provider, result.session.dialect) == (provider.name, dialect.name)
    assert not result.faults, f"faults in {path.name}: {dict(result.faults)}"
    assert not result.unknown, f"record types that the decoder does not know in {path.name}: {dict(result.unknown)}"
    assert result.events, f"{path.name} gives no event"
    figures = {"cost_usd": result.cost_usd, "input": result.tokens["input"]}
    for loss in dialect.losses:
        for word, name in LOSSES:
            if loss == word or loss.startswith((f"{word},", f"{word} (")):
                assert figures[name] is None, f"{dialect.name} loses {loss!r}, but {name} is {figures[name]}"


class ProviderTests:
    """Tests of a provider. Give a subclass `provider`, and `logs`: the paths of logs by the name of their dialect."""

    provider: ClassVar[Provider]
    logs: ClassVar[Mapping[str, Sequence[str]]]

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

    def test_detection(self, log: tuple[Dialect, Path]) -> None:
        check_detection(self.provider, log[0], _records(log[1]))
        check_is_taken_by_no_other(self.provider, _records(log[1]))

    def test_reading(self, log: tuple[Dialect, Path]) -> None:
        check_reading(self.provider, *log)


def parametrize_logs(metafunc: pytest.Metafunc) -> None:
    """One test for each log of a subclass of `ProviderTests`; the plugin of pytest calls it."""
    tests: type[object] | None = metafunc.cls  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - pytest's
    if "log" not in metafunc.fixturenames or tests is None or not issubclass(tests, ProviderTests):
        return
    folder = metafunc.definition.path.parent
    found = [(dialect, folder / path) for dialect, paths in tests.logs.items() for path in paths]
    metafunc.parametrize("log", found, ids=[path.name for _, path in found], indirect=True)

"""Every stage through the conformance kit, on logs of every dialect."""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import LineReader
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.facts import FactsObserver
from agentv_stages.figures.result import Observer
from agentv_stages.figures.stats import Stats
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Chunk
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers import all_providers
from agentv_stages.session.inputs import DecodeInputs, ReadLines
from support.conformance import (
    Make,
    Subject,
    check_any_cut_gives_the_same,
    check_flush_on_nothing,
    check_flush_twice_is_refused,
    check_ids,
    check_observer,
    check_prefix_law,
    check_restored_goes_on,
    check_stage,
    detected,
    run,
)
from support.decoding import FIXTURES, corpus, read

# Dialects that have no small log among the fixtures: one of the recordings.
RECORDED = {
    "codex-exec": "clients/codex/s2/stream.jsonl",
    "codex-exec-old": "samples/codex-0.27.0/exec.jsonl",
    "codex-rollout": "clients/codex/s2/home/.codex/sessions/**/rollout-*.jsonl",
    "codex-rollout-old": "wild/codex-rollout-old/*.jsonl",
    "gemini-stream": "clients/gemini/s2/stream.jsonl",
    "gemini-chat": "clients/gemini/s2/home/**/session-*.jsonl",
    "gemini-chat-json": "agtrace/samples/gemini_session.json",
    "qwen-stream": "clients/qwen/s2/stream.jsonl",
    "qwen-session": "clients/qwen/s2/home/**/*.jsonl",
    "vscode-chat": "wild/vscode-chat/*.json*",
}
SMALL = sorted(p.relative_to(FIXTURES).as_posix() for p in FIXTURES.rglob("*.json*") if p.suffix in (".jsonl", ".json"))
LOGS = [name for name in SMALL if "meta.json" not in name and "/subagents/" not in name]


@cache
def log(name: str) -> bytes:
    """A small log: a fixture by its path, or a recording by its dialect."""
    if name not in RECORDED:
        return (FIXTURES / name).read_bytes()
    folder, _, pattern = RECORDED[name].partition("/")
    inner, _, rest = pattern.partition("/")
    found: list[Path] = sorted(corpus(f"{folder}/{inner}").glob(rest), key=lambda p: p.stat().st_size)
    return read(next(p for p in found if p.stat().st_size > 200))


def chain(name: str, upto: int) -> Subject:
    """The chain of a log's dialect: 0 lines, 1 decode, 2 normalize, 3 pair, 4 consolidate."""
    data = log(name)
    provider, dialect = detected(data)
    makes: Sequence[Make] = [
        partial(LineReader, "log"),
        lambda: Decode(dialect, DecodeContext("log")),
        lambda: Normalize(provider.tools),
        Pair,
        Consolidate,
    ]
    return Subject(makes[: upto + 1], data)


def stride(name: str) -> int:
    """Of long logs not every place is tried."""
    return 1 + log(name).count(b"\n") // 40


EVERY = [*LOGS, *RECORDED]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("upto", range(5), ids=["lines", "decode", "normalize", "pair", "consolidate"])
def test_a_stage_conforms(upto: int, name: str) -> None:
    subject = chain(name, upto)
    check_stage(subject, stride(name))
    if upto:
        check_ids(subject)


@pytest.mark.parametrize("name", EVERY)
def test_an_observer_conforms(name: str) -> None:
    subject = chain(name, 3)
    provider, dialect = detected(subject.data)

    def plain(value: Any) -> Any:
        return msgspec.to_builtins(value)

    check_observer(subject, Stats, lambda stats: stats.summary())
    check_observer(subject, Totals, lambda totals: [plain(totals.tokens()), totals.cost_usd, totals.duration_ms])
    check_observer(subject, FactsObserver, lambda facts: msgspec.json.encode(facts.facts))
    observer = Observer(provider, dialect)
    assert msgspec.json.decode(observer.result([]).to_json())["tool_use_summary"]["total_tool_calls"] == 0


def test_every_dialect_is_tried() -> None:
    of_fixtures = {detected(log(name))[1].name for name in LOGS}
    # What only public repositories and other tools write is tried by its own tests.
    elsewhere = {"codex-app-server", "copilot-acp", "pi-subagent", "opencode-rows", "agentv-trace", "vscode-chat-jsonl"}
    elsewhere |= {"antigravity-steps"}
    elsewhere |= {"agentv-transcript", "atif", "kilo-rows"}
    assert {d.name for p in all_providers() for d in p.dialects} <= of_fixtures | set(RECORDED) | elsewhere


def test_recordings_are_of_the_dialect_that_they_stand_for() -> None:
    for name in RECORDED:
        assert detected(log(name))[1].name == name


def test_the_stages_for_several_inputs_conform() -> None:
    data = log("claude/stream.jsonl")
    _, dialect = detected(data)
    lines = Subject([partial(ReadLines, "")], data)
    decode = Subject([partial(ReadLines, ""), partial(DecodeInputs, dialect)], data)
    for subject in (lines, decode):
        check_any_cut_gives_the_same(subject)
        check_flush_on_nothing(subject)
        check_flush_twice_is_refused(subject)
    check_restored_goes_on(decode)
    check_prefix_law(decode)


@pytest.mark.parametrize("name", ["claude/stream.jsonl", "pi/stream.jsonl"])
def test_a_line_reader_goes_on_from_its_position(name: str) -> None:
    data = log(name)
    whole = run(LineReader("log"), [Chunk(data)])
    for at in range(0, len(data), 331):
        before, after = LineReader("log"), LineReader("log")
        begun = run(before, [Chunk(data[:at])], flush=False)
        position = before.snapshot()
        after.restore(msgspec.json.decode(msgspec.json.encode(position)))
        rest = run(after, [Chunk(data[position.offset :])])
        assert begun.records + rest.records == whole.records

"""Two runs in one input: records of several on one line, runs that wrote at the same time."""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from agentv_stages.chain.decode import Decode
from agentv_stages.figures.result import Result
from agentv_stages.model.batch import Batch
from agentv_stages.providers import all_providers
from agentv_stream.summary import summarize
from support.decoding import dialect, lines
from support.scenarios.dialects import WRITERS
from support.scenarios.scenario import Scenario

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
EXAMPLES = settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=SLOW)
LINES = [name for name, writer in WRITERS.items() if writer.lines and not name.startswith("openhands")]
"""OpenHands prints records over several lines, and has a file for each on disk."""
DIALECTS = {d.name: (p.name, d) for p in all_providers() for d in p.dialects}
LIVE = [name for name in LINES if DIALECTS[WRITERS[name].dialect][1].live]
NAMELESS = (
    *("cline-stream", "codex-exec-old", "copilot-stream", "grok-stream", "grok-acp", "grok-acp-agent", "kimi-stream"),
    "vibe-stream-old",
)
"""Dialects in which not every run names its session: that two wrote at the same time may not show."""


def figures(result: Result) -> dict[str, Any]:
    """What must not change where records stand on one line."""
    summary = {key: value for key, value in result.tool_use_summary.items() if key != "first_edit_turn_lines"}
    return {"status": result.status, "summary": summary, "tokens": result.tokens, "cost": result.cost_usd}


@EXAMPLES
@given(choice=st.data())
@pytest.mark.parametrize("name", LINES)
def test_records_that_share_a_line_are_read_from_the_first_line_on(name: str, choice: st.DataObject) -> None:
    """`}{`, as an interrupted append leaves it: short logs were taken for no log at all."""
    writer = WRITERS[name]
    records = writer.write(choice.draw(writer.sessions)).data.splitlines()
    pairs = [b"".join(records[i : i + 2]) for i in range(0, len(records), 2)]
    if not records or len(pairs) == len(records):
        return
    provider = next(p.name for p in all_providers() if any(d.name == writer.dialect for d in p.dialects))
    plain = summarize(b"\n".join(records) + b"\n", provider=provider)
    welded = summarize(b"\n".join(pairs) + b"\n", provider=provider)
    assert figures(welded) == figures(plain)
    assert welded.faults == {**plain.faults, "welded": len(records) // 2}
    if len(records) > 4:
        assert summarize(b"\n".join(pairs) + b"\n").session.provider == summarize(b"\n".join(records)).session.provider


def renamed(data: bytes, word: str) -> list[bytes]:
    """The lines of a run with other ids, on another day: equal records of one time are one that came twice."""
    data = data.replace(b"2026-03-02T", b"2026-03-02T" if word == "a" else b"2026-03-03T")

    def of(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: of(v, k) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - decoded JSON
        if isinstance(value, list):
            return [of(v, key) for v in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        if isinstance(value, int | float) and 1.7e12 < value < 1.9e12 and word != "a":
            return value + 86_400_000
        named = key.lower().endswith(("id", "uuid")) and isinstance(value, str)
        return word + str(value) if named and value else value

    return [json.dumps(of(json.loads(line)), separators=(",", ":")).encode() for line in data.splitlines()]


@EXAMPLES
@given(choice=st.data())
@pytest.mark.parametrize("name", LIVE)
def test_runs_that_wrote_at_the_same_time_have_no_wrong_total(name: str, choice: st.DataObject) -> None:
    writer = WRITERS[name]

    def run(word: str) -> tuple[Scenario, list[bytes]]:
        scenario = choice.draw(writer.sessions)
        return scenario, renamed(writer.write(scenario).data, word)

    first, second = run("a")[1], run("b")[1]
    if not first or not second:
        return
    chance = random.Random(choice.draw(st.integers(0, 1000)))
    rest, mixed = [first[1:], second[1:]], [first[0], second[0]]
    while any(rest):
        mixed.append(chance.choice([lines for lines in rest if lines]).pop(0))
    provider = DIALECTS[writer.dialect][0]
    alone = [summarize(b"\n".join(lines), provider=provider) for lines in (first, second)]
    assume(first[-1] != second[-1])  # equal ends without an id are one that came twice
    found = summarize(b"\n".join(mixed), provider=provider)
    for key in ("input", "output"):
        known = sum(one.tokens[key] or 0 for one in alone)  # of a run that was cut, it may be that nothing is known
        assert found.tokens[key] in (None, known), (found.faults, key)
    assert name in NAMELESS or found.faults.get("foreign-record") or found.faults.get("interleaved")


A = {"type": "system", "subtype": "init", "session_id": "a", "claude_code_version": "2.1.0"}
B = {**A, "session_id": "b"}


def said(session: str) -> dict[str, Any]:
    message = {"id": f"m-{session}", "content": [{"type": "text", "text": "x"}]}
    return {"type": "assistant", "session_id": session, "parent_tool_use_id": None, "message": message}


def ended(session: str) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 2}
    return {"type": "result", "subtype": "success", "session_id": session, "total_cost_usd": 0.5, "usage": usage}


def test_runs_one_after_the_other_are_not_interleaved() -> None:
    for first in ([A, said("a"), ended("a")], [A, said("a")]):  # the second was killed
        data = b"\n".join(json.dumps(line).encode() for line in [*first, B, said("b"), ended("b"), ended("b")])
        assert set(summarize(data).faults) == {"foreign-record"}
    again = [A, said("a"), ended("a"), B, said("b"), ended("b"), A, said("a"), ended("a")]  # resumed
    assert set(summarize(b"\n".join(json.dumps(line).encode() for line in again)).faults) == {"foreign-record"}


def test_interleaved_runs_are_a_fault_once_and_no_total_is_given() -> None:
    mixed = [A, B, said("a"), said("b"), said("a"), ended("a"), ended("b")]
    result = summarize(b"\n".join(json.dumps(line).encode() for line in mixed))
    assert result.faults == {"foreign-record": 1, "interleaved": 1}
    assert (result.status, result.cost_usd, result.tokens["input"], result.duration_ms) == ("unknown", None, None, None)
    assert result.evidence.reason == "records of several sessions are interleaved"
    assert result.tool_use_summary["turns"] == 2


def test_a_decoder_that_is_restored_between_interleaved_records_notices_them() -> None:
    claude = next(p for p in all_providers() if p.name == "claude")
    before = Decode(dialect(claude, "claude-stream"))
    before.push(Batch("log", records=lines(A, B)))
    after = Decode(dialect(claude, "claude-stream"))
    after.restore(before.snapshot())
    [batch] = after.push(Batch("log", records=lines(said("a"))))
    assert [fault.reason for fault in batch.faults] == ["interleaved"]


def test_conversations_of_antigravity_that_are_mixed_have_no_total() -> None:
    def run(name: str) -> list[dict[str, Any]]:
        step = {"conversation_id": name, "state": "DONE", "step_type": "AGENT_RESPONSE", "text_delta": "x"}
        usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
        return [
            {"event": "init", "conversation_id": name, "init": {"model": "m", "cwd": "/w"}},
            *({"event": "step_update", "step_update": {**step, "step_index": n}} for n in range(2)),
            {"event": "result", "result": {"conversation_id": name, "status": "SUCCESS", "usage": usage}},
        ]

    one, other = run("a"), run("b")
    mixed = [line for pair in zip(one, other, strict=True) for line in pair]
    for lines_of, total in ((mixed, None), ([*one, *other], 10)):
        data = b"\n".join(json.dumps(line).encode() for line in lines_of)
        result = summarize(data, provider="antigravity")
        assert ("interleaved" in result.faults, result.tokens["input"]) == (total is None, total)

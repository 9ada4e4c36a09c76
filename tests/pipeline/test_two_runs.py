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
NAMELESS = (
    *("cline-stream", "codex-exec-old", "copilot-stream", "grok-stream", "kimi-stream", "vibe-stream-old"),
    *("antigravity-transcript", "antigravity-transcript-full"),
    *("cursor-transcript", "pi-subagent", "vibe-session", "vibe-session-old", "kiro-session", "langchain-messages"),
    "openai-agents-items",
)
"""Dialects in which not every run names its session: that two wrote at the same time may not show."""
PATCHED = ("vscode-chat-jsonl",)
"""Records change a document, so that of two mixed ones nothing is right."""
TRACED = ("otlp", "otlp-openinference", "otlp-client")
"""Each span names its trace, so that nothing is mixed."""
UNTOLD = ("goose-stream",)
"""No line names the session, and totals are those of the session so far: the last one counts."""


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
        if not isinstance(value, str) or not value or not key.lower().endswith(("id", "uuid")):
            return value
        return f"{value}{word}" if value.startswith("T-") else word + value  # Amp is known by how its ids begin

    return [json.dumps(of(json.loads(line)), separators=(",", ":")).encode() for line in data.splitlines()]


@settings(EXAMPLES, max_examples=4)
@given(choice=st.data())
@pytest.mark.parametrize("name", [name for name in LINES if name not in (*PATCHED, *UNTOLD)])
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
    assume(first[-1] != second[-1] or name == "codex-rollout-old")  # equal ends without an id are one that came twice
    found = summarize(b"\n".join(mixed), provider=provider)
    for key in ("input", "output"):
        known = sum(one.tokens[key] or 0 for one in alone)  # of a run that was cut, it may be that nothing is known
        assert found.tokens[key] in (None, known), (found.faults, key)
    assert name in (*NAMELESS, *TRACED) or found.faults.get("foreign-record") or found.faults.get("interleaved")


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


def thread(session: str, second: int, *totals: int, turn: str | None = None, call: str = "") -> list[dict[str, Any]]:
    """A rollout of Codex with a model call for each total; `turn`: the version names its turns."""

    def line(kind: str, **payload: Any) -> dict[str, Any]:
        nonlocal second
        second += 2
        named = {"turn_id": turn} if turn and kind != "response_item" else {}
        return {"timestamp": f"2026-03-02T09:30:{second:02}.000Z", "type": kind, "payload": {**payload, **named}}

    def count(total: int, last: int) -> dict[str, Any]:
        used = [{"input_tokens": n, "output_tokens": n // 10, "total_tokens": n + n // 10} for n in (total, last)]
        info = {"total_token_usage": used[0], "last_token_usage": used[1]}
        return line("event_msg", type="token_count", info=info)

    told = [line("session_meta", id=session, cli_version="0.90.0"), line("turn_context", model="m")]
    before = 0
    for n, total in enumerate(totals):
        said = [{"type": "output_text", "text": f"{session} {n}"}]
        told.append(line("response_item", type="message", role="assistant", content=said))
        if call and n == 0:
            told.append(line("response_item", type="function_call", name="shell", call_id=call, arguments="{}"))
        told.append(count(total, total - before))
        if call and n == 1:
            told.append(line("response_item", type="function_call_output", call_id=call, output="x"))
        before = total
    return told


OLDER, YOUNGER = "019a0000-0000-7000-8000-00000000000a", "019a0000-0bb8-7000-8000-00000000000b"


def in_turns(one: list[Any], other: list[Any], size: int = 1) -> list[Any]:
    """Both lists, by turns so many of each."""
    out: list[Any] = []
    for i in range(0, max(len(one), len(other)), size):
        out += one[i : i + size] + other[i : i + size]
    return out


def codex(records: list[Any]) -> Result:
    return summarize(b"\n".join(json.dumps(record).encode() for record in records), provider="codex")


@pytest.mark.parametrize("ids", [(OLDER, YOUNGER), ("a", "b")])
@pytest.mark.parametrize("turns", [(OLDER, YOUNGER), (None, None)])
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("call", ["", "c"])
def test_two_threads_in_one_rollout(ids: tuple[str, str], turns: tuple[str, str], size: int, call: str) -> None:
    """Cumulative totals of two threads: their differences are no one's."""
    one = thread(ids[0], 0, 100, 300, 700, turn=turns[0], call=call)
    other = thread(ids[1], 3, 1_000, 1_500, 1_900, turn=turns[1], call=call and call + "2")
    mixed = codex(in_turns(one, other, size))
    assert (mixed.status, mixed.tokens["input"], mixed.faults.get("interleaved", 0) > 0) == ("unknown", None, True)
    joined = codex([*one, *other])
    assert (joined.tokens["input"], joined.faults) == (2_600, {"foreign-record": 1})
    killed = codex([*one[:4], *other])
    assert (killed.tokens["input"], killed.faults) == (1_900 + (100 if not call else 0), {"foreign-record": 1})


def test_a_result_after_another_session_began_belongs_to_the_one_before() -> None:
    """Nothing else in these streams names the session of a record."""

    def started(session: str) -> list[dict[str, Any]]:
        return [{"type": "init", "session_id": session, "model": "m"}]

    def call(name: str) -> dict[str, Any]:
        return {"type": "tool_use", "tool_name": "read_file", "tool_id": name, "parameters": {"path": name}}

    def result(name: str) -> dict[str, Any]:
        return {"type": "tool_result", "tool_id": name, "status": "success", "output": "x"}

    def found(*records: dict[str, Any]) -> Result:
        return summarize(b"\n".join(json.dumps(record).encode() for record in records), provider="gemini")

    ended = {"type": "result", "status": "success", "stats": {"input_tokens": 10, "output_tokens": 1, "tool_calls": 1}}
    mixed = found(*started("a"), call("i1"), *started("b"), result("i1"), call("i2"), ended)
    assert (mixed.tokens["input"], mixed.faults) == (None, {"foreign-record": 1, "interleaved": 1})
    assert found(*started("a"), call("i1"), result("i1"), ended, *started("b"), ended).tokens["input"] == 20
    assert found(*started("a"), call("i1"), *started("b"), call("i2"), result("i2"), ended).tokens["input"] == 10

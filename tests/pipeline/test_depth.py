"""Values nested up to 5,000 deep in any field of any dialect: every output is right, or the record is a fault."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, cast

import pytest

from agentv_stages.model.event import ToolCall
from agentv_stages.model.payload import MAX_DEPTH, TooDeep, decode_json, plain_text, printable_json, too_deep
from agentv_stages.model.tool_payload import encode_payload, payload_of
from agentv_stages.sinks import raw_log
from agentv_stages.sinks.atif import Trajectory
from agentv_stages.sinks.case import CaseLine
from agentv_stages.sinks.event_lines import EventLines
from agentv_stages.sinks.summary_log import SummaryLog
from agentv_stages.trajectory import trace_events
from agentv_stream import summarize
from support.fixture_logs import unwritten
from support.log_laws import Chain, Told, batches
from support.mutating import Log, drawn, marked, places, read_back, record_of, value_of, written
from support.scenarios.dialects import WRITERS

DEPTHS = (330, 390, 401, 450, 700, 930, 960, 990, 1_500, 5_000)
SLOT = "slot for a deep value"
ROUNDS = 25  # values put into one log
UNWRITTEN = {log.dialect.name: log for log in unwritten()}
writers = pytest.mark.parametrize("name", WRITERS)


def lists(depth: int) -> bytes:
    return b"[" * depth + b'"deep"' + b"]" * depth


def objects(depth: int) -> bytes:
    return b'{"text":' * depth + b'"deep"' + b"}" * depth


def blocks(depth: int) -> bytes:
    return b'[{"type":"text","text":"first","content":' * (depth // 2) + b"1" + b"}]" * (depth // 2)


def quoted(depth: int) -> bytes:
    """JSON in a text, as the arguments of calls are in some dialects."""
    return json.dumps(objects(depth).decode()).encode()


def claude_session(output: bytes) -> bytes:
    record: dict[str, Any] = {"parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/w"}
    record |= {"sessionId": "5bc8fbbc-bde5-c099-4164-d8399f767c45", "timestamp": "2026-11-01T00:00:00.000Z"}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    rows: list[tuple[str, dict[str, Any]]] = [
        ("user", {"content": "hi"}),
        ("assistant", {"id": "m1", "model": "m", "content": [call]}),
        ("user", {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": SLOT}]}),
    ]
    lines = [
        record | {"type": role, "uuid": f"u{n}", "message": {"role": role} | m} for n, (role, m) in enumerate(rows)
    ]
    return b"\n".join(map(record_of, lines)).replace(record_of(SLOT), output) + b"\n"


SHAPES: tuple[Callable[[int], bytes], ...] = (lists, objects, blocks, quoted)


def kinds_of_places(log: Log) -> Iterator[tuple[int, Any, Any, Any]]:
    """A place for each member name and type in each kind of record: number and value of the record, holder, key."""
    known = set[tuple[Any, ...]]()
    for number, record in enumerate(log.records):
        try:
            value: Any = value_of(record)
        except ValueError:
            continue
        for holder, at in places(value):
            name: Any = cast("dict[str, Any]", value).get("type") if isinstance(value, dict) else None
            kind: tuple[Any, ...] = (name, at, type(holder[at]), len(holder))  # pyright: ignore[reportUnknownVariableType] - decoded JSON
            if kind not in known:
                known.add(kind)
                yield number, value, holder, at


def with_deep(log: Log, place: tuple[int, Any, Any, Any], deep: bytes) -> Log:
    number, value, holder, at = place
    kept, holder[at] = holder[at], SLOT
    record = record_of(value).replace(json.dumps(SLOT).encode(), deep)
    holder[at] = kept
    return log._replace(records=[*log.records[:number], record, *log.records[number + 1 :]])


def outputs(log: Log) -> Told:
    """Runs a log through every stage and every sink, and a snapshot."""
    chain = Chain(log)
    events, summary, steps = EventLines("session"), SummaryLog(), Trajectory()
    case, traces = CaseLine(), trace_events.TraceList()
    lines: list[bytes] = []
    for batch in batches(record + b"\n" for record in log.records):
        chain.push(batch)
        traces.observe(batch)
        lines += [raw_log.render(batch), summary.render(batch), trace_events.render(batch)]
        lines += [events.line(event) for event in batch.events]
        lines += [encode_payload(payload_of(event)) for event in batch.events if isinstance(event, ToolCall)]
    chain.restored()
    told = chain.end()
    for message in told.messages:
        lines += [case.element(message), steps.step(message)]
    printable_json(traces.events)
    return told


def facts(told: Told) -> Any:
    """What must be the same for a deep value and for a shallow one of the same shape."""
    kinds = Counter((type(event).__name__, event.source.row) for event in told.events)
    summary = told.summary
    return kinds, summary["turns"], sorted(summary["by_tool"].values()), summary["by_outcome"], told.result["tokens"]


@writers
def test_a_deep_value_in_any_field_is_right_or_a_fault(name: str) -> None:
    chance, writer = Random(name), WRITERS[name]
    logs = [log for scenario in drawn(writer, 3, 4) if (log := written(writer, marked(scenario)))]
    if not logs:
        pytest.skip("its sessions are folders")
    check_deep(min(logs, key=lambda log: abs(len(log.data) - 6_000)), chance)


@pytest.mark.parametrize("name", sorted(UNWRITTEN))
def test_a_deep_value_in_any_field_of_a_fixture_is_right_or_a_fault(name: str) -> None:
    """Of the dialects that nothing makes up."""
    check_deep(UNWRITTEN[name], Random(name))


def check_deep(log: Log, chance: Random) -> None:
    """Puts deep values into a log, and compares its outputs with those for shallow ones."""
    found = list(kinds_of_places(log))
    for place in chance.sample(found, min(len(found), ROUNDS)):
        shape = chance.choice(SHAPES)
        shallow, deep = (outputs(with_deep(log, place, shape(d))) for d in (4, chance.choice(DEPTHS)))
        capped = any(fault.reason == "too-deep" for fault in deep.faults)
        assert capped or facts(deep) == facts(shallow), (place[0], place[3], shape.__name__, deep.faults)


def test_a_deep_payload_costs_itself_and_not_its_record() -> None:
    log = claude_session(lists(MAX_DEPTH + 1))
    result = summarize(log)
    assert (result.tool_use_summary["by_outcome"]["ok"], result.faults) == (1, {"too-deep": 1})


def test_what_is_just_under_the_cap_is_kept() -> None:
    assert lists(MAX_DEPTH) in claude_session(lists(MAX_DEPTH))
    assert outputs(read_back("session.jsonl", claude_session(lists(MAX_DEPTH)))).faults == []


def test_depth_is_counted_outside_texts_only() -> None:
    chance = Random(5)
    for _ in range(300):
        depth = chance.choice((1, 60, 399, 400, 401, 402, 900))
        pad = b",".join(chance.choice((b'"[{["', rb'"\\\""', rb'"\"[[["', b"[]", b"{}", b"[[1]]")) for _ in range(300))
        data = b"[[%s]," % pad + b"[" * (depth - 1) + b"1" + b"]" * (depth - 1) + b"," + pad + b"]"
        assert too_deep(data) == (depth > MAX_DEPTH)
        assert json.loads(data)  # it is JSON


def test_the_text_of_a_deep_value() -> None:
    value: Any = ["a", {"text": "b"}]
    for n in range(50_000):
        value = ["<", value, ">"] if n % 2 else [value]
    assert plain_text(value) == "<" * 25_000 + "ab" + ">" * 25_000


def test_a_value_beyond_the_cap_is_refused_at_any_depth() -> None:
    for depth in (MAX_DEPTH + 1, 5_000, 1_000_000):
        with pytest.raises(TooDeep):
            decode_json(lists(depth))

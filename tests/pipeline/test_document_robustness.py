"""Logs that are one JSON document, damaged by chance: elements of their arrays removed, doubled, replaced by other
JSON, the bytes cut off anywhere: no crash, faults counted, everything else intact.

What is done to a document follows from its name and the round alone; AGENTV_STREAM_ROUNDS sets the number of rounds.
"""

import copy
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple, cast

import pytest

from agentv_stages.model.event import AssistantText
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.summary import SessionReader
from support.decoding import FIXTURES
from support.recorded_logs import LARGEST, ROUNDS, Log, Outcome, logs, run
from support.vscode_chats import ONE, asks, markdown, request, rounds, session, tool

OTHER_JSON: tuple[Any, ...] = (None, True, 7, -1.5, "text", [], {}, [[]], [1, "x"], {"a": {"b": [None]}})
ROOTS = ("messages", "history", "requests", "turns", "trace", "steps", "events")


class Damaged(NamedTuple):
    """A document with one element of an array damaged: the bytes, and the element as it was."""

    data: bytes
    hurt: str
    where: str


def made() -> Iterator[tuple[str, bytes]]:
    """Documents of our own, so that a run without recordings tests something too."""
    yield "opencode", (FIXTURES / "opencode" / "export-ses_1.json").read_bytes()
    stream = [json.loads(line) for line in (FIXTURES / "claude" / "stream.jsonl").read_bytes().splitlines()]
    yield "claude-array", json.dumps(stream, indent=2).encode()
    yield "claude-array-on-one-line", json.dumps(stream).encode()
    hidden = rounds(("Now.", [asks("h1", "read_file", filePath="/x")]), ("Well.", []), h1="ok")
    chat = session(
        ONE,
        request("r2", markdown("Well."), result=hidden),
        request("r3", *(part for i in range(4) for part in (markdown(f"Step {i}."), tool(f"t{i}")))),
    )
    yield "vscode", json.dumps(chat, indent=1).encode()
    for name in ("run", "responses", "v1"):
        yield f"mini-swe-agent-{name}", (FIXTURES / "mini-swe-agent" / f"{name}.traj.json").read_bytes()
    yield "continue", (FIXTURES / "continue" / "session.json").read_bytes()
    yield "gemini", json.dumps(GEMINI).encode()


def gemini_call(own: str, name: str, **given: Any) -> dict[str, Any]:
    response = {"functionResponse": {"id": own, "name": name, "response": {"output": "done"}}}
    return {"id": own, "name": name, "args": given, "status": "success", "result": [response],
            "timestamp": "2026-03-01T10:00:05.000Z"}  # fmt: skip


def gemini_message(number: int, kind: str, content: str, **members: Any) -> dict[str, Any]:
    return {"id": f"g{number}", "timestamp": f"2026-03-01T10:00:{number:02d}.000Z", "type": kind, "content": content,
            **members}  # fmt: skip


TOKENS = {"input": 100, "output": 10, "cached": 0, "thoughts": 1, "tool": 0, "total": 111}
GEMINI = {
    "sessionId": "5d0c7c1e-0000-4000-8000-000000000001",
    "projectHash": "0" * 64,
    "startTime": "2026-03-01T10:00:00.000Z",
    "lastUpdated": "2026-03-01T10:01:00.000Z",
    "messages": [
        gemini_message(0, "user", "fix it"),
        gemini_message(1, "gemini", "Looking.", tokens=TOKENS, model="gemini-2.5-pro", thoughts=[
            {"subject": "Plan", "description": "Read it.", "timestamp": "2026-03-01T10:00:01.000Z"}],
            toolCalls=[gemini_call("k1", "read_file", absolute_path="/w/x"), gemini_call("k2", "glob", pattern="a")]),
        gemini_message(2, "gemini", "Again.", tokens=TOKENS, toolCalls=[gemini_call("k3", "replace", file_path="/w")]),
        gemini_message(3, "info", "note"),
        gemini_message(4, "gemini", "Done.", tokens=TOKENS),
    ],
}  # fmt: skip


def opened_made() -> Iterator[Log]:
    for name, data in made():
        reader = SessionReader([data], name)
        yield Log(name, data, reader.provider, reader.dialect)


@pytest.fixture(scope="module")
def documents() -> list[Log]:
    found = list(opened_made())
    assert {log.dialect.name for log in found} >= {
        "vscode-chat",
        "opencode-export",
        "claude-stream",
        "gemini-chat-json",
        "mini-swe-agent",
        "continue-session",
    }
    return found


@pytest.fixture(scope="module")
def recorded() -> list[Log]:
    found = [log for log in logs(10**9 if ROUNDS else LARGEST) if arrays(parsed(log.data))]
    assert len(found) > 40
    return found


def parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


def arrays(value: Any) -> list[list[Any]]:
    """The arrays of objects in a document: that of its messages first, then those within them."""
    found: list[list[Any]] = []
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        value = next((members[key] for key in ROOTS if isinstance(members.get(key), list)), None)
    if isinstance(value, list):
        _gather(value, found, 0)
    return found


def _gather(value: Any, found: list[list[Any]], depth: int) -> None:
    if depth > 8:
        return
    if isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        if items and all(isinstance(item, dict) for item in items):
            found.append(items)
        for item in items:
            _gather(item, found, depth + 1)
    elif isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            if key not in ("input", "args", "arguments"):  # a tool's own, in which nothing is a shape of the format
                _gather(item, found, depth + 1)


def damaged(log: Log, how: str, dice: Random) -> Damaged:
    value = copy.deepcopy(parsed(log.data))
    every = arrays(value)
    array = every[0] if dice.random() < 0.5 else dice.choice(every)
    at = dice.randrange(len(array))
    hurt = json.dumps(array[at])
    where = f"{every.index(array)}[{at}]"
    if how == "removed":
        del array[at]
    elif how == "doubled":
        array.insert(at, copy.deepcopy(array[at]))
    else:
        array[at] = dice.choice(OTHER_JSON)
        where += f" = {json.dumps(array[at])}"
    return Damaged(json.dumps(value, indent=dice.choice((None, 1))).encode(), hurt, where)


def chances(log: Log, what: str) -> Iterator[Random]:
    for number in range(max(ROUNDS, 6)):
        yield Random(zlib.crc32(f"{what}:{log.name}:{number}".encode()))


def said(outcome: Outcome, hurt: Any) -> list[str]:
    """The texts of answers in which nothing of the damaged element stands."""
    texts = (event.text for event in outcome.events if isinstance(event, AssistantText) and not event.delta)
    words = list(leaves(hurt))
    return [text for text in texts if not any(word in text for word in words)]


def leaves(value: Any) -> Iterator[str]:
    """The texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in cast("dict[str, Any]", value).values():
            yield from leaves(member)
    elif isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        for item in items:
            yield from leaves(item)


def check(log: Log, how: str) -> None:
    whole = run(log, [log.data])
    for dice in chances(log, how):
        one = damaged(log, how, dice)
        found = run(log, [one.data])
        about = (log.name, how, one.where, one.hurt[:200])

        def untouched(call_id: str, log: Log = log, hurt: str = one.hurt) -> bool:
            return call_id.encode() in log.data and call_id not in hurt

        doubled = how == "doubled"
        assert whole.calls(bool if doubled else untouched) - found.calls() == Counter(), about
        told = "".join(said(found, None))
        assert not [text for text in said(whole, None if doubled else json.loads(one.hurt)) if text not in told], about
        if how == "replaced" and one.where.startswith("0[") and not one.where.endswith("}"):
            assert found.faults, about


@pytest.mark.parametrize("how", ["removed", "doubled", "replaced"])
def test_one_damaged_element_costs_no_other(documents: list[Log], how: str) -> None:
    for log in documents:
        check(log, how)


@pytest.mark.parametrize("how", ["removed", "doubled", "replaced"])
def test_one_damaged_element_of_a_recording_costs_no_other(recorded: list[Log], how: str) -> None:
    for log in recorded:
        check(log, how)


def cut_off(log: Log) -> None:
    """The documents that are no lines: cut anywhere they are read up to the tear, or are no log."""
    whole = run(log, [log.data])
    for dice in chances(log, "cut"):
        end = dice.randrange(1, len(log.data))
        torn = run(log, [log.data[:end]])
        assert torn.calls() - whole.calls() == Counter() or torn.faults, (log.name, end)
        assert torn.faults or not log.data[end:].strip(), (log.name, end)
        try:
            reader = SessionReader([log.data[:end]], log.name)
        except (NotALog, EmptyInput):
            continue
        for _ in reader.batches(companions=False):
            pass
        assert reader.result().status


def test_a_document_that_was_cut_off(documents: list[Log]) -> None:
    for log in documents:
        cut_off(log)


def test_a_recorded_document_that_was_cut_off(recorded: list[Log]) -> None:
    for log in recorded:
        cut_off(log)


def test_many_odd_members_cost_only_themselves(documents: list[Log]) -> None:
    """More of them than the ladder of `Decode` takes out of a record."""
    for log in documents:
        value = parsed(log.data)
        root = arrays(value)[0]
        root[:] = [item for thing in root for item in (thing, *OTHER_JSON[:6])]
        whole, found = run(log, [log.data]), run(log, [json.dumps(value).encode()])
        assert found.calls() == whole.calls(), log.name
        assert found.faults, log.name

"""The order of calls and results in our own transcripts: any order of several agents is read back as it was."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agentv_stages.chain.consolidate import Consolidate, ConsolidateState
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.generic.places import MOST_WAITING, Places
from agentv_stages.providers.generic.transcript import State, TranscriptDecoder
from agentv_stages.sinks.transcript import Identity, TranscriptRows
from support.events import batch, call, result, text

IDENTITY = Identity("case", "claude", "claude", "s", "claude-session")


def session(steps: list[tuple[int, int]]) -> list[AnyEvent]:
    """Events of three streams: texts, calls, and results of any open call."""
    events: list[AnyEvent] = []
    waiting: list[tuple[str, str]] = []
    messages = [0, 0, 0]
    for row, (number, what) in enumerate(steps):
        stream = ("main", "a", "b")[number]
        if what == 0:
            messages[number] += 1
        if what > 3 and waiting:
            call_id, of = waiting.pop(what % len(waiting))
            events.append(result(row, call_id, stream=of))
        elif what % 2:
            waiting.append((f"c{row}", stream))
            events.append(call(row, f"c{row}", message=f"{stream}{messages[number]}", stream=stream))
        else:
            events.append(text(row, "x", f"{stream}{messages[number]}", stream=stream))
    return events


def rows_of(events: list[AnyEvent], cut: int) -> list[bytes]:
    """The rows of the transcript, in the order in which they leave; the stage is saved and restored at `cut`."""
    first, second = Consolidate(), Consolidate()
    messages = [message for one in first.push(batch(*events[:cut])) for message in one.messages]
    saved = msgspec.json.encode(first.snapshot())
    second.restore(msgspec.json.decode(saved, type=ConsolidateState))
    for done in (*second.push(batch(*events[cut:])), *second.flush()):
        messages += done.messages
    return TranscriptRows(IDENTITY, gap=False).render(messages).splitlines(keepends=True)


def read(rows: list[bytes], cut: int) -> list[AnyEvent]:
    """The events of the rows; the decoder is saved and restored at `cut`."""
    out = Batch("log")
    decoder = TranscriptDecoder(DecodeContext("log"))
    for n, row in enumerate(rows):
        if n == cut:
            saved = msgspec.json.encode(decoder.state)
            decoder.state = msgspec.json.decode(saved, type=State)
        decoder.decode(Record(row, 0, n), out)
    decoder.flush(out)
    return out.events


def order(events: list[AnyEvent], kind: type[ToolCall | ToolResult]) -> list[str]:
    return [event.call_id for event in events if isinstance(event, kind)]


STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=40)


@given(STEPS, st.integers(0, 40), st.integers(0, 12))
def test_any_order_of_calls_and_of_results_is_read_back(steps: list[tuple[int, int]], cut: int, read_cut: int) -> None:
    events = session(steps)
    found = read(rows_of(events, cut), read_cut)
    assert order(found, ToolCall) == order(events, ToolCall)
    assert order(found, ToolResult) == order(events, ToolResult)


@given(STEPS, st.sets(st.integers(0, 12)))
def test_a_transcript_that_lacks_rows_gives_the_calls_of_the_others_once(
    steps: list[tuple[int, int]], gone: set[int]
) -> None:
    rows = [row for n, row in enumerate(rows_of(session(steps), 0)) if n not in gone]
    whole = read(rows, -1)
    for kind in (ToolCall, ToolResult):
        each = [one for row in rows for one in order(read([row], -1), kind)]
        assert sorted(order(whole, kind)) == sorted(each)


def test_calls_that_follow_one_another_need_no_order() -> None:
    natural: tuple[list[AnyEvent], ...] = (
        [call(0, "a"), call(1, "b"), result(2, "a"), result(3, "b"), text(4, "x", "m2"), call(5, "c", message="m2")],
        [call(0, "a"), result(1, "a"), call(2, "b"), result(3, "b")],
    )
    for events in natural:
        assert not any(b'"order"' in row for row in rows_of(events, 0))
    (first, second) = rows_of([call(0, "a"), call(1, "s", stream="a", message="m9"), result(2, "a")], 0)
    assert b'"order":[1,3]' in first
    assert b'"order"' not in second


def test_places_that_nothing_fits_put_no_event_away() -> None:
    def placed(*numbers: int) -> list[str]:
        events: list[AnyEvent] = [call(0, "a"), result(1, "a"), call(2, "b"), result(3, "b")]
        places = Places()
        places.row(events, 0, numbers)
        places.release(events)
        return [
            f"{type(event).__name__[4]}{event.call_id}" for event in events if isinstance(event, ToolCall | ToolResult)
        ]

    plain = ["Ca", "Ra", "Cb", "Rb"]
    assert placed() == placed(3, 4) == placed(1, 2, 3, 4, 5) == plain
    for strange in ((0, 0, 0, 0), (-5, -5, -5, -5), (7, 7, 7, 7), (2**70, 3, -1, 2**70)):
        assert sorted(placed(*strange)) == sorted(plain)
    assert placed(1, 4, 2, 3) == ["Ca", "Cb", "Rb", "Ra"]


def test_what_waits_for_places_that_never_come_is_bounded() -> None:
    places, events = Places(), list[AnyEvent]()
    for n in range(3 * MOST_WAITING):
        first = len(events)
        events.append(call(n, f"c{n}"))
        places.row(events, first, (n + 2, 0))
        assert len(places.waiting) <= MOST_WAITING
    places.release(events)
    assert order(events, ToolCall) == [f"c{n}" for n in range(3 * MOST_WAITING)]

"""One set of checks that every stage and every observer has to pass, whatever it does.

A subject is the chain of stages up to the one under test, run over the bytes of a log. The contents of outputs are
compared, not how they are divided into batches.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import msgspec
import pytest
from msgspec import Struct

from agentv_stages.chain.lines import LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.event import AnyEvent
from agentv_stages.model.provider import Dialect, Provider
from agentv_stages.model.stage import Stage, Stateful
from agentv_stages.session.detect import Detector
from agentv_stages.sinks.event_lines import event_id, session_uuid

AnyStage = Stage[Any, Any]
Make = Callable[[], AnyStage]


class Observing(Protocol):
    """An observer: takes batches and keeps figures."""

    def observe(self, batch: Batch) -> None: ...
    def snapshot(self) -> Struct: ...
    def restore(self, snapshot: object, /) -> None: ...


@dataclass
class Subject:
    """The chain up to the stage under test, which is its last one, and the log that it reads."""

    makes: Sequence[Make]
    data: bytes

    @property
    def stage(self) -> Make:
        return self.makes[-1]

    def given(self, pieces: Iterable[bytes]) -> list[Any]:
        """What the stage under test gets if the log comes in these pieces; the last batches come from flushes."""
        items: list[Any] = [Chunk(piece) for piece in pieces]
        for make in self.makes[:-1]:
            stage = make()
            items = [out for item in items for out in stage.push(item)] + list(stage.flush())
        return items


@dataclass
class Told:
    """The contents of the output, however it was divided into batches."""

    records: list[tuple[bytes, int, int]]
    events: list[AnyEvent]
    messages: list[bytes]
    faults: list[tuple[str, int, bytes]]
    ignored: dict[str, int]
    unknown: dict[str, int]


def told(batches: Iterable[Batch]) -> Told:
    whole = Told([], [], [], [], {}, {})
    for batch in batches:
        whole.records += [(r.data, r.offset, r.row) for r in batch.records]
        whole.events += batch.events
        whole.messages += [msgspec.json.encode(m) for m in batch.messages]
        for fault in batch.faults:
            if fault.part in ("middle", "end") and whole.faults:  # pieces of a record that was too large
                reason, offset, data = whole.faults[-1]
                whole.faults[-1] = (reason, offset, data + fault.data)
            else:
                whole.faults.append((fault.reason, fault.offset, fault.data))
        for counts, more in ((whole.ignored, batch.ignored), (whole.unknown, batch.unknown)):
            for name, n in more.items():
                counts[name] = counts.get(name, 0) + n
    return whole


def run(stage: AnyStage, items: Iterable[Any], *, flush: bool = True) -> Told:
    out = [batch for item in items for batch in stage.push(item)]
    return told([*out, *stage.flush()] if flush else out)


def pieces(data: bytes, at: Iterable[int]) -> list[bytes]:
    places = sorted({min(a, len(data)) for a in at})
    return [data[i:j] for i, j in zip([0, *places], [*places, len(data)], strict=True)]


def by_line(data: bytes) -> list[bytes]:
    """The lines with their line ends, and what follows the last one."""
    *lines, rest = data.split(b"\n")
    return [*(line + b"\n" for line in lines), rest] if rest else [line + b"\n" for line in lines]


def is_document(data: bytes) -> bool:
    """Whether a log is one pretty-printed document."""
    return data.partition(b"\n")[0].strip() in (b"{", b"[", b"[{")


def cuts(data: bytes) -> Iterable[list[bytes]]:
    """Ways to cut a log: whole, by lines, by odd sizes, at random."""
    chance = Random(len(data))
    yield [data]
    yield by_line(data)
    for size in (1, 7, 64, 1021) if len(data) < 20_000 else (257, 4096):
        yield pieces(data, range(size, len(data), size))
    for _ in range(4):
        yield pieces(data, (chance.randrange(len(data) + 1) for _ in range(9)))


def check_any_cut_gives_the_same(subject: Subject) -> None:
    whole = run(subject.stage(), subject.given([subject.data]))
    for cut in cuts(subject.data):
        assert run(subject.stage(), subject.given(cut)) == whole


def check_flush_on_nothing(subject: Subject) -> None:
    assert told(subject.stage().flush()) == told([])


def check_flush_twice_is_refused(subject: Subject) -> None:
    stage = subject.stage()
    run(stage, subject.given([subject.data]))
    with pytest.raises(RuntimeError):
        list(stage.flush())


def check_a_fault_in_the_middle(subject: Subject) -> None:
    """A broken line is a fault, and does not change what the other lines give."""
    lines = subject.data.split(b"\n")
    if len(lines) < 4 or is_document(subject.data):
        return
    plain = run(subject.stage(), subject.given([subject.data]))
    middle = len(lines) // 2
    broken = b"\n".join([*lines[:middle], b'{"torn":"in the mid', *lines[middle:]])
    hurt = run(subject.stage(), subject.given([broken]))
    assert len(hurt.events) == len(plain.events)
    assert [type(e) for e in hurt.events] == [type(e) for e in plain.events]
    assert len(hurt.messages) == len(plain.messages)
    if plain.events:
        assert [reason for reason, _, _ in hurt.faults].count("torn-middle") == 1
        assert len(hurt.faults) == len(plain.faults) + 1


def written_and_read(state: Struct) -> Struct:
    """A snapshot as a follower reads it back: written as JSON and decoded."""
    again: Struct = msgspec.json.decode(msgspec.json.encode(state), type=type(state))
    return again


def check_restored_goes_on(subject: Subject, every: int = 1) -> None:
    """A stage restored from a snapshot that was written as JSON continues as if it had not been interrupted."""
    stage = subject.stage()
    if not isinstance(stage, Stateful):
        return
    lines = by_line(subject.data)
    if isinstance(stage, LineReader):
        return  # its position is checked by continuing to read from an offset
    whole = run(stage, subject.given(lines))
    for at in range(0, len(subject.given(lines)) + 1, every):
        items = subject.given(lines)
        before = subject.stage()
        first = [batch for item in items[:at] for batch in before.push(item)]
        assert isinstance(before, Stateful)
        state = written_and_read(before.snapshot())
        begun = told(first)
        after = subject.stage()
        assert isinstance(after, Stateful)
        after.restore(state)
        rest = run(after, items[at:])
        assert begun.events + rest.events == whole.events
        assert begun.messages + rest.messages == whole.messages
        assert [f[0] for f in begun.faults + rest.faults] == [f[0] for f in whole.faults]


def check_prefix_law(subject: Subject, every: int = 1) -> None:
    """The output for a prefix of the input, before flush, is a prefix of the output for the whole input."""
    lines = by_line(subject.data)
    whole = run(subject.stage(), subject.given([subject.data]))
    for at in range(0, len(lines) + 1, every):
        items: list[Any] = [Chunk(line) for line in lines[:at]]
        for make in subject.makes[:-1]:
            stage = make()
            items = [out for item in items for out in stage.push(item)]  # nothing is flushed
        begun = run(subject.stage(), items, flush=False)
        assert begun.events == whole.events[: len(begun.events)]
        assert begun.messages == whole.messages[: len(begun.messages)]
        assert begun.records == whole.records[: len(begun.records)]


def check_ids(subject: Subject) -> None:
    """Event ids are the same in every reading, and no two events of a log share one."""
    session = session_uuid("s")

    def ids(cut: list[bytes]) -> list[str]:
        return [str(event_id(session, "s", e)) for e in run(subject.stage(), subject.given(cut)).events]

    first = ids([subject.data])
    assert ids(pieces(subject.data, range(97, len(subject.data), 97))) == first
    assert len(set(first)) == len(first)


def check_stage(subject: Subject, every: int = 1) -> None:
    """All checks but that of the ids, which exist only from the decoder on."""
    check_any_cut_gives_the_same(subject)
    check_flush_on_nothing(subject)
    check_flush_twice_is_refused(subject)
    check_a_fault_in_the_middle(subject)
    check_restored_goes_on(subject, every)
    check_prefix_law(subject, every)


def check_observer(subject: Subject, make: Callable[[], Observing], figures: Callable[[Any], Any]) -> None:
    """An observer after the chain: equal figures for any cut, none for an empty input, equal ones when restored."""

    def figures_of(batches: Iterable[Batch]) -> Any:
        observer = make()
        for batch in batches:
            observer.observe(batch)
        return figures(observer)

    def seen(cut: list[bytes]) -> list[Batch]:
        stage = subject.stage()
        return [out for item in subject.given(cut) for out in stage.push(item)] + list(stage.flush())

    whole = figures_of(seen([subject.data]))
    for cut in cuts(subject.data):
        assert figures_of(seen(cut)) == whole
    assert figures_of([]) == figures_of([Batch()])
    lines = by_line(subject.data)
    batches = seen(lines)
    for at in range(len(batches) + 1):
        before, after = make(), make()
        for batch in batches[:at]:
            before.observe(batch)
        after.restore(written_and_read(before.snapshot()))
        for batch in batches[at:]:
            after.observe(batch)
        assert figures(after) == whole


def detected(data: bytes) -> tuple[Provider, Dialect]:
    """The provider and dialect of a log."""
    reader, detector = LineReader(), Detector()
    for batch in (*reader.push(Chunk(data)), *reader.flush()):
        detector.push(batch)
    return detector.finish()

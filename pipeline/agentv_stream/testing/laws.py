"""The laws of any decoder, as checks that raise AssertionError: for authors of plug-ins and for the tests of our own.

In: a dialect, and records of a log. `record_log` cuts a log into records; `record_values` makes some from plain values.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, cast

import msgspec

from agentv_stages.chain.lines import LineReader
from agentv_stages.chain.objects import objects
from agentv_stages.model.batch import Batch, Chunk, Record
from agentv_stages.model.event import Reasoning
from agentv_stages.model.provider import DecodeContext, Dialect, Head, Provider

REFUSED = (msgspec.MsgspecError, UnicodeDecodeError)
MOST_HEAD = 64  # records that detection examines
MOST_CUTS = 64  # places of a log at which it is cut
_ODD: tuple[Any, ...] = (None, True, 0, -1, 1.5, 10**25, 1e30, "", "x", [], {}, [1], {"a": 1}, [[]], '{"a":1}', "[")
_decode = msgspec.json.Decoder().decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


def record_log(data: bytes) -> list[Record]:
    """The records of a log: its lines, or the whole of a pretty-printed document; of an array each element."""
    reader = LineReader("log")
    records = [record for batch in (*reader.push(Chunk(data)), *reader.flush()) for record in batch.records]
    if len(records) == 1 and records[0].data.lstrip()[:1] == b"[":
        elements = _elements(records[0].data)
        return [Record(bytes(element), records[0].offset, row) for row, element in enumerate(elements)]
    return records


def record_values(*values: Any) -> list[Record]:
    """Plain values as records: one compact JSON line each."""
    return record_log(b"\n".join(msgspec.json.encode(value) for value in values))


def head_of(records: Sequence[Record]) -> Head:
    """The objects of the first records, in the form in which detection gets them."""
    return [value for record in records[:MOST_HEAD] for value in objects(record)][:MOST_HEAD]


def decode(
    of: Dialect, records: Sequence[Record], context: DecodeContext | None = None, *, flush: bool = True
) -> Batch:
    """One batch with the events of the records."""
    decoder = of.decoder(context or DecodeContext("log"))
    batch = Batch("log", records=list(records))
    for record in records:
        decoder.decode(record, batch)
    if flush:
        decoder.flush(batch)
    return batch


def check_laws(of: Dialect, records: Sequence[Record]) -> None:
    """A prefix of the log gives a prefix of the events; a decoder restored after any record continues as if nothing had
    happened; the ids of events are unique."""
    before_end = decode(of, records, flush=False).events
    whole = decode(of, records).events
    for cut in _cuts(len(records)):
        begun = decode(of, records[:cut], flush=False).events
        assert begun == before_end[: len(begun)], f"{of.name}: the events of {cut} records change when more follow"
        assert _restored(of, records, cut) == whole, f"{of.name}: a decoder restored after {cut} records differs"
    ids = [(event.source.base_id or event.source.row, event.part, type(event)) for event in whole]
    twice = {name for name in ids if ids.count(name) > 1} if len(ids) > len(set(ids)) else set[Any]()
    assert not twice, f"{of.name}: several events have one id; they need different parts: {sorted(map(str, twice))[:3]}"


def _cuts(records: int) -> list[int]:
    step = records // MOST_CUTS + 1
    return [*range(0, records, step), records]


def _restored(of: Dialect, records: Sequence[Record], cut: int) -> list[Any]:
    before, batch = of.decoder(DecodeContext("log")), Batch("log")
    for record in records[:cut]:
        before.decode(record, batch)
    state: msgspec.Struct = before.state
    after = of.decoder(DecodeContext("log"))
    after.state = msgspec.json.decode(msgspec.json.encode(state), type=type(state))
    for record in records[cut:]:
        after.decode(record, batch)
    after.flush(batch)
    return list(batch.events)


def check_odd_shapes(provider: Provider, records: Sequence[Record], rounds: int = 150) -> None:
    """Whatever shape members have, a decoder uses a record, or refuses it before it appends an event; detection gives a
    number from 0.0 to 1.0; state and events can be written as JSON."""
    chance = Random(7)
    values = [_decode(record.data) for record in records]
    for _ in range(rounds):
        bent = [msgspec.json.encode(_bent(value, chance)) for value in values]
        odd = [Record(data, 0, row) for row, data in enumerate(bent)]
        for dialect in provider.dialects:
            sure = dialect.detect(head_of(odd))
            assert 0.0 <= sure <= 1.0, f"{dialect.name}: detection gives {sure}"
            decoder, batch = dialect.decoder(DecodeContext("log")), Batch("log")
            for record in odd:
                before = len(batch.events)
                try:
                    decoder.decode(record, batch)
                except REFUSED:
                    assert len(batch.events) == before, f"{dialect.name}: refused after an event: {record.data[:200]!r}"
            decoder.flush(batch)
            thoughts = [bytes(event.text_json) for event in batch.events if isinstance(event, Reasoning)]
            assert all(thought[:1] == b'"' for thought in thoughts), f"{dialect.name}: reasoning is a JSON string"
            msgspec.json.encode(decoder.state)
            msgspec.json.encode(batch.events)


def _bent(value: Any, chance: Random) -> Any:
    """A copy in which some members are missing or have another shape."""
    if chance.random() < 0.06:
        return chance.choice(_ODD)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {key: _bent(member, chance) for key, member in members if chance.random() > 0.03}
    if isinstance(value, list):
        return [_bent(member, chance) for member in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return value

"""The laws of any decoder, as checks that raise AssertionError: for authors of plug-ins and for the tests of our own.

In: a dialect, and records of a log. `record_log` cuts a log into records; `record_values` makes some from plain values.
"""

import gc
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast

import msgspec

from agentv_stages.chain.lines import LineReader
from agentv_stages.chain.objects import objects
from agentv_stages.model.batch import Batch, Chunk, Record
from agentv_stages.model.event import AnyEvent, AssistantText, Reasoning, TokenUsage, ToolCall, ToolResult, UserText
from agentv_stages.model.provider import REFUSED, DecodeContext, Dialect, Head, Provider, RecordDecoder

MOST_HEAD = 64  # records that detection examines
MOST_CUTS = 64  # places of a log at which it is cut
MOST_REPEATED = 4_096  # records of each half of a long session
MOST_BYTES = 4 * 1024 * 1024
DEEPEST = 5_000
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
    happened; decoders of one dialect share nothing; the ids of events are unique; each event can be paired, counted and
    written (`check_events`)."""
    before_end = decode(of, records, flush=False).events
    whole = decode(of, records).events
    assert whole[: len(before_end)] == before_end, f"{of.name}: `flush` changes events that were appended before"
    for cut in _cuts(len(records)):
        begun = decode(of, records[:cut], flush=False).events
        assert begun == before_end[: len(begun)], f"{of.name}: the events of {cut} records change when more follow"
        assert _restored(of, records, cut) == whole, f"{of.name}: a decoder restored after {cut} records differs"
    both = (of.decoder(DecodeContext("log")), Batch("log")), (of.decoder(DecodeContext("log")), Batch("log"))
    assert both[0][0].state is not both[1][0].state, f"{of.name}: two decoders have one state"
    for record in records:
        for decoder, batch in both:
            decoder.decode(record, batch)
    for _, batch in both:
        assert batch.events == before_end, f"{of.name}: a decoder differs if another one reads beside it"
    ids = [(event.source.base_id or event.source.row, event.part, type(event)) for event in whole]
    twice = {name for name in ids if ids.count(name) > 1} if len(ids) > len(set(ids)) else set[Any]()
    assert not twice, f"{of.name}: several events have one id; they need different parts: {sorted(map(str, twice))[:3]}"
    check_events(of, whole)


def check_events(of: Dialect, events: Sequence[AnyEvent]) -> None:
    """Ids are not empty, payloads are JSON, texts are JSON strings, and parts of tokens are not more than the whole."""
    for event in events:
        at = f"{of.name}, row {event.source.row}: {type(event).__name__}"
        if isinstance(event, (AssistantText, Reasoning, ToolCall)):
            assert event.message_id, f"{at} has no message_id"
        if isinstance(event, (AssistantText, Reasoning)):
            assert isinstance(_decoded(event.text_json, at), str), f"{at}: the text is no JSON string"
        elif isinstance(event, UserText):
            assert isinstance(_decoded(event.body, at), (str, list)), f"{at}: the body is no JSON string or list"
        elif isinstance(event, ToolCall):
            assert event.call_id and event.name, f"{at} has no call_id, or no name"
            _decoded(event.input_json, at)
        elif isinstance(event, ToolResult) and event.output_json is not None:
            _decoded(event.output_json, at)
        elif isinstance(event, TokenUsage):
            parts = (event.cached or 0) + (event.cache_write or 0)
            assert event.input is None or parts <= event.input, f"{at}: `input` does not include the {parts} of caches"
            assert event.output is None or (event.reasoning or 0) <= event.output, (
                f"{at}: `output` does not include the {event.reasoning} of reasoning"
            )


def _decoded(payload: msgspec.Raw, at: str) -> Any:
    try:
        return _decode(payload)
    except REFUSED as error:
        raise AssertionError(f"{at}: the payload is no JSON ({error}): {bytes(payload)[:200]!r}") from None


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


def check_hostile(of: Dialect, records: Sequence[Record]) -> None:
    """Whatever bytes a record has, a decoder uses it or refuses it: text that is not UTF-8, values nested thousands of
    levels deep, other values than objects, half a record."""
    deep = b"[" * DEEPEST + b"]" * DEEPEST
    for record in records[:MOST_HEAD]:
        members = _decode(record.data)
        values = [b"", b"\xff\xfe", b"null", b"[]", b"7", b'"text"', record.data[: len(record.data) // 2], deep]
        values.append(record.data.replace(b'":"', b'":"\xff', 1))
        if isinstance(members, dict):
            known = cast("dict[str, Any]", members)
            values += [msgspec.json.encode({**known, name: msgspec.Raw(deep)}) for name in known]
        for value in values:
            decoder, batch = of.decoder(DecodeContext("log")), Batch("log")
            try:
                decoder.decode(Record(value, 0, 0), batch)
            except REFUSED:
                assert not batch.events, f"{of.name}: refused after an event: {value[:200]!r}"
            except Exception as error:
                raise AssertionError(f"{of.name}: {type(error).__name__} for {value[:200]!r}") from error


def check_memory(of: Dialect, records: Sequence[Record]) -> None:
    """What a decoder holds does not grow with the session, neither in itself nor in its modules: the second half of a
    long session, in which each round of the records has ids of its own, adds nothing."""
    length = sum(len(record.data) for record in records)
    rounds = min(MOST_REPEATED // len(records), MOST_BYTES // max(length, 1)) + 2
    values = [_decode(record.data) for record in records]
    decoder, row, offset = of.decoder(DecodeContext("log")), 0, 0
    held: list[int] = []
    for half in range(2):
        for n in range(rounds):
            batch = Batch("log")
            for value in values:
                data = msgspec.json.encode(_renamed(value, f"-{half}-{n:06}"))
                with suppress(*REFUSED):
                    decoder.decode(Record(data, offset, row), batch)
                row, offset = row + 1, offset + len(data) + 1
        held.append(_held(decoder))
    grown = held[1] - held[0]
    assert grown <= 4_096 + 2 * rounds * len(records), (
        f"{of.name}: {rounds * len(records)} records add {grown} bytes to the {held[0]} that a decoder holds"
    )


_ID = re.compile(r"(?=.*\d)(?!\d{4}-\d\d)[\w.:-]{4,64}")
_NO_MEMORY = (type, ModuleType, FunctionType, BuiltinFunctionType)


def _renamed(value: Any, suffix: str) -> Any:
    """A copy in which strings that look like ids have a suffix."""
    if isinstance(value, dict):
        return {key: _renamed(member, suffix) for key, member in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_renamed(member, suffix) for member in value]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return value + suffix if isinstance(value, str) and _ID.fullmatch(value) else value


def _held(decoder: RecordDecoder) -> int:
    """The bytes of everything to which a decoder, its modules and their classes refer."""
    module = type(decoder).__module__
    package = module if hasattr(sys.modules[module], "__path__") else module.rpartition(".")[0] or module
    waiting: list[Any] = [decoder]
    for name, found in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            values = list(vars(found).values())
            waiting += values
            waiting += [member for value in values if isinstance(value, type) for member in vars(value).values()]
    seen: set[int] = set()
    size = 0
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _NO_MEMORY):
            continue
        seen.add(id(value))
        size += sys.getsizeof(value)
        waiting += gc.get_referents(value)
    return size


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

"""The opening of a session gives every event of a log, and none before its dialect is known."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.event import AnyEvent
from agentv_stages.model.provider import DecodeContext, Provider
from agentv_stages.session.detect import UnknownFormat
from agentv_stages.session.opening import Opening
from support.fixture_logs import LOGS


def context(provider: Provider) -> DecodeContext:
    return DecodeContext("log")


def batches(data: bytes) -> Iterator[Batch]:
    """A batch for each line."""
    reader = LineReader("log")
    for line in data.splitlines(keepends=True):
        yield from reader.push(Chunk(line, None, "log"))
    yield from reader.flush()


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_it_gives_every_event_of_the_log_in_order(log: Path) -> None:
    data = log.read_bytes()
    opening, events = Opening(context), list[AnyEvent]()
    for batch in batches(data):
        decoded = list(opening.push(batch))
        assert opening.named is not None or not decoded
        events += [event for one in decoded for event in one.events]
    events += [event for one in opening.finish(whole=True) for event in one.events]
    assert opening.named is not None
    decode = Decode(opening.named[1], DecodeContext("log"))
    whole = [event for batch in batches(data) for one in decode.push(batch) for event in one.events]
    whole += [event for one in decode.flush() for event in one.events]
    assert events == whole


def test_a_log_of_nobody_is_unknown() -> None:
    opening = Opening(context)
    for batch in batches(b'{"a":1}\n{"b":2}\n'):
        assert list(opening.push(batch)) == []
    with pytest.raises(UnknownFormat):
        list(opening.finish(whole=True))
    assert opening.named is None

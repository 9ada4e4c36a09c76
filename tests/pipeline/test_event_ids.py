"""Events of one session, sub-agents' files included, have ids of their own."""

from collections import Counter
from pathlib import Path

import pytest

from agentv_stages.sinks.event_lines import event_id, session_uuid
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from agentv_stream.summary import SessionReader, read_file
from support.decoding import FIXTURES, corpus


def shared_ids(folder: Path) -> dict[str, Counter[str]]:
    """The kinds of events that share an id with another one, by log."""
    found: dict[str, Counter[str]] = {}
    for session in find_sessions(find_roots([str(folder)])):
        if "::" in session.path or session.size > 3_000_000:
            continue
        reader = SessionReader(read_file(session.path), session.path)
        events = [event for batch in reader.batches() for event in batch.events]
        own = session_uuid(session.id)
        ids = [event_id(own, session.id, event) for event in events]
        times = Counter(ids)
        twice = Counter(type(event).__name__ for event, one in zip(events, ids, strict=True) if times[one] > 1)
        if twice:
            found[session.path] = twice
    return found


def test_in_made_up_sessions() -> None:
    assert shared_ids(FIXTURES) == {}


@pytest.mark.parametrize("name", ["clients", "samples", "agtrace"])
def test_in_recorded_sessions(name: str) -> None:
    assert shared_ids(corpus(name)) == {}

"""The sequence of calls: in order, small, and the same after a snapshot."""

import msgspec
import pytest

from agentv_stages.figures import call_sequence
from agentv_stages.figures.call_sequence import CallSequence, SequenceState


def test_it_gives_back_what_was_added_in_order() -> None:
    sequence = CallSequence()
    for tool, kind in (("Read", "read"), ("Bash", "execute"), ("Read", "read"), ("Bash", "read")):
        sequence.add(tool, kind)
    assert sequence.tools().whole() == ["Read", "Bash", "Read", "Bash"]
    assert sequence.kinds().whole() == ["read", "execute", "read", "read"]
    assert len(sequence) == 4


def test_a_snapshot_goes_on_as_the_original() -> None:
    first, second = CallSequence(), CallSequence()
    for sequence in (first, second):
        sequence.add("Edit", "write")
    second.restore(msgspec.json.decode(msgspec.json.encode(first.snapshot()), type=SequenceState))
    for sequence in (first, second):
        sequence.add("Grep", "search")
        sequence.add("Edit", "write")
    assert second.tools().whole() == first.tools().whole() == ["Edit", "Grep", "Edit"]


def test_more_names_than_two_bytes_tell_apart_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_sequence, "MOST_NAMES", 2)
    sequence = CallSequence()
    for name in ("a", "b", "c", "d", "a"):
        sequence.add(name, "read")
    assert sequence.tools().whole() == ["a", "b", "(other)", "(other)", "a"]

"""Steps that wait for the end of a session: each stream's in the order of its messages, whatever came first."""

from collections.abc import Iterable

import pytest

from agentv_stages.model.event import Source
from agentv_stages.model.message import Message
from agentv_stream.outputs import step_spool
from agentv_stream.outputs.step_spool import StepSpool


def message(index: int, stream: str) -> Message:
    return Message(index, "assistant", Source("log", index, 0, 0, stream=stream), f"m{index}")


def spooled(order: Iterable[int], streams: str) -> StepSpool:
    spool = StepSpool()
    for index in order:
        spool.add(message(index, streams[index]), b"%d %s\n" % (index, b"x" * (index % 7)))
    return spool


def read(spool: StepSpool, stream: str) -> list[int]:
    return [int(line.split()[0]) for line in spool.lines(stream)]


@pytest.mark.parametrize("most", [1, 1024 * 1024])
def test_each_stream_comes_in_the_order_of_its_messages_as_often_as_it_is_asked_for(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_spool, "MEMORY_BYTES", most)
    spool = spooled([3, 0, 1, 7, 2, 5, 6], "abacbbca")  # 4 never came
    for _ in range(2):
        assert {stream: read(spool, stream) for stream in "cab"} == {"a": [0, 2, 7], "b": [1, 5], "c": [3, 6]}
        assert [int(line.split()[0]) for line in spool.all_lines()] == [0, 1, 2, 3, 5, 6, 7]
    spool.close()

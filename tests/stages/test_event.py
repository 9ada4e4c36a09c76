"""Events as plain values."""

import json
from pathlib import Path

from msgspec import Raw

from agentv_stages.model.event import SUFFIXES, AssistantText, Event, Source, ToolCall, ToolResult, UserText
from agentv_stages.model.message import Message
from agentv_stream.summary import SessionReader
from support.consuming import SESSION, STREAM

SOURCE = Source("log.jsonl", 3, 120, 40, 1_700_000_000_000)


def events_of(path: Path) -> list[Event]:
    return [e for batch in SessionReader([path.read_bytes()], str(path)).batches() for e in batch.events]


def test_every_event_is_a_row_of_plain_values() -> None:
    events = [*events_of(STREAM), *events_of(SESSION)]
    assert {type(event) for event in events} > {ToolCall, ToolResult, UserText, AssistantText}
    for event in events:
        row = event.as_dict()
        assert json.loads(json.dumps(row)) == row
        assert (row["file"], row["row"], row["time_ms"]) == (event.source.file, event.source.row, event.source.time_ms)
        assert not {"source", "part", "call"} & set(row)
    assert set(SUFFIXES) == set(Event.__subclasses__())


def test_payloads_are_decoded_and_a_result_names_its_tool() -> None:
    call = ToolCall(SOURCE, "", "m", "c", "view", Raw(b'{"path":"a.py"}'), tool="Read", files=("a.py",))
    assert call.as_dict() | {"input": {"path": "a.py"}, "files": ["a.py"], "type": "tool_call"} == call.as_dict()
    result = ToolResult(SOURCE, "", "c", Raw(b'[{"type":"text","text":"x"}]'), "ok", call=call).as_dict()
    assert (result["tool"], result["output"]) == ("Read", [{"type": "text", "text": "x"}])
    assert ToolResult(SOURCE, "", "c").as_dict()["output"] is None
    said = UserText(SOURCE, "", Raw(b'[{"type":"text","text":"hi"},{"type":"image","source":{}}]')).as_dict()
    assert said["text"] == "hi"


def test_the_text_of_a_message_is_that_of_its_blocks() -> None:
    blocks = [Raw(b'"one, "'), Raw(b'{"type":"image","source":{}}'), Raw(b'"two \\ud800"')]
    assert Message(0, "user", SOURCE, "m", blocks).text == "one, two \ufffd"
    assert Message(0, "assistant", SOURCE, "m").text == ""

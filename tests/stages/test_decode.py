"""The decode ladder: every record that can be used is used, the rest is a fault with its bytes, nothing is made up."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import LineReader
from agentv_stages.model.batch import Batch, Chunk, Record
from agentv_stages.model.event import AnyEvent, AssistantText, Source, ToolCall, ToolResult
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.claude import PROVIDER
from agentv_stages.session.detect import sure_dialect
from agentv_stages.sinks.dead_letters import render
from support.decoding import dialect

STREAM = dialect(PROVIDER, "claude-stream")
DISK = dialect(PROVIDER, "claude-session")


def says(text: str, message_id: str = "msg_1", **more: Any) -> bytes:
    message = {"id": message_id, "model": "m", "content": [{"type": "text", "text": text}]}
    value = {"type": "assistant", "session_id": "s", "uuid": f"u-{message_id}", "message": message, **more}
    return json.dumps(value, separators=(",", ":")).encode()


def read(data: bytes) -> tuple[list[AnyEvent], list[str], Batch]:
    """Events, reasons of faults, and all batches as one."""
    reader, stage = LineReader("log"), Decode(STREAM, DecodeContext("log"), sure_dialect)
    whole = Batch("log")
    for batch in (*reader.push(Chunk(data)), *reader.flush()):
        stage.push(batch)
        whole.events += batch.events
        whole.faults += batch.faults
        for name, n in batch.unknown.items():
            whole.unknown[name] = whole.unknown.get(name, 0) + n
        for name, n in batch.ignored.items():
            whole.ignored[name] = whole.ignored.get(name, 0) + n
    for fault in whole.faults:
        assert data[fault.offset : fault.offset + fault.length] == fault.data or fault.reason == "not-object"
        msgspec.json.decode(render(fault, None))
    return whole.events, [f.reason for f in whole.faults], whole


def texts(events: list[AnyEvent]) -> list[str]:
    return [e.text for e in events if isinstance(e, AssistantText)]


def test_a_lone_surrogate_before_a_closing_quote_is_no_torn_record() -> None:
    events, faults, _ = read(says("cut \\ud83d").replace(b"\\\\u", b"\\u") + b"\n" + says("next", "msg_2") + b"\n")
    assert texts(events) == ["cut \ufffd", "next"]
    assert faults == []


@pytest.mark.parametrize("before", [b"", b"noise "])
def test_a_number_of_more_digits_than_python_reads_ends_nothing(before: bytes) -> None:
    line = before + says("cut \\ud83d", big=0).replace(b"\\\\u", b"\\u").replace(b'"big":0', b'"big":' + b"7" * 5_000)
    events, _, _ = read(line + b"\n" + says("next", "msg_2") + b"\n")
    assert texts(events) == ["cut \ufffd", "next"]


def test_lone_surrogates_pass_in_text_name_and_key() -> None:
    line = rb'{"type":"assistant","message":{"id":"m\udc00","content":['
    line += rb'{"type":"tool_use","id":"t\ud800","name":"R\ud800","input":{"k\ud800":"\udfff"}}]}}'
    events, faults, _ = read(line + b"\n")
    (call,) = [e for e in events if isinstance(e, ToolCall)]
    assert call.name == "R\ufffd"
    assert list(call.input.values()) == ["\ufffd"]
    assert faults == []


def test_bad_utf8_in_a_used_field_is_a_fault_and_the_record_is_used() -> None:
    line = says("x", model_note="y").replace(b'"id":"msg_1"', b'"id":"msg_\xff"')
    events, faults, _ = read(line + b"\n")
    assert texts(events) == ["x"]
    assert faults == ["bad-utf8"]


def test_bad_utf8_in_a_skipped_field_harms_nothing() -> None:
    events, _, _ = read(says("x", note="NOTE").replace(b"NOTE", b"\xff\xfe") + b"\n")
    assert texts(events) == ["x"]


def test_bad_utf8_in_a_passed_on_payload_reads_as_replacement() -> None:
    events, _, _ = read(says("TEXT").replace(b"TEXT", b"a\xffb") + b"\n")
    assert texts(events) == ["a\ufffdb"]


@pytest.mark.parametrize("number", [b"1e400", b"NaN", b"-Infinity", b"Infinity", b"123456789012345678901234567890"])
def test_numbers_that_strict_readers_refuse_cost_no_record(number: bytes) -> None:
    line = says("x").replace(b'"model":"m"', b'"model":"m","usage":{"input_tokens":' + number + b"}")
    events, _, whole = read(line + b"\n" + says("y", "msg_2") + b"\n")
    assert texts(events) == ["x", "y"]
    assert whole.unknown == {}


def test_a_byte_order_mark_is_dropped_at_the_beginning_only() -> None:
    events, faults, _ = read(b"\xef\xbb\xbf" + says("x") + b"\n" + b"\xef\xbb\xbf" + says("y", "msg_2") + b"\n")
    assert texts(events) == ["x", "y"]
    assert faults == ["not-json"]  # the second mark is no part of a record


@pytest.mark.parametrize("depth", [400, 5_000, 200_000])
def test_deep_nesting_ends_nothing(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    line = says("x").replace(b'"model":"m"', b'"model":"m","deep":' + deep)
    inside = says("z", "msg_3").replace(b'"model":"m"', b'"model":' + deep)
    events, _, whole = read(line + b"\n" + inside + b"\n" + deep + b"\n" + says("y", "msg_2") + b"\n")
    assert texts(events)[-1] == "y"
    assert whole.unknown == {}


def test_of_duplicate_keys_the_last_one_holds() -> None:
    events, faults, _ = read(b'{"type":"system","type":"assistant","message":{"id":"a","id":"b","content":"x"}}\n')
    (text,) = [e for e in events if isinstance(e, AssistantText)]
    assert (text.message_id, text.text) == ("b", "x")
    assert faults == []


def test_welded_records_are_cut_and_counted() -> None:
    events, faults, _ = read(says("a", "m1") + says("b", "m2") + says("c", "m3") + b"\n" + says("d", "m4") + b"\n")
    assert texts(events) == ["a", "b", "c", "d"]
    assert faults == ["welded"]


def test_nul_runs_are_taken_out() -> None:
    line = says("x")
    events, faults, _ = read(b"\0" * 64 + line + b"\n" + line[:20] + b"\0\0" + line[20:] + b"\n" + b"\0" * 9 + b"\n")
    assert texts(events) == ["x", "x"]
    assert faults == ["nul-run"] * 3


@pytest.mark.parametrize(
    "prefix", [b"[stdout] ", b"\x1b[32m[recv]\x1b[0m ", b"2026-01-31 09:30:00 INFO ", b"data: ", b"\xe2\x80\xa2 "]
)
def test_noise_before_a_record_is_cut_off(prefix: bytes) -> None:
    events, faults, _ = read(prefix + says("x") + b"\x1b[0m\n")
    assert texts(events) == ["x"]
    assert faults == ["not-json"]


@pytest.mark.parametrize(
    "noise", [b"npm warn deprecated", b"\x1b[2J\x1b[31mred", b"]]", b"'quoted'", b"\xff\xfe\xfa", b"{not json", b"{}}{"]
)
def test_noise_lines_stand_in_nobodys_way(noise: bytes) -> None:
    events, faults, _ = read(says("x") + b"\n" + noise + b"\n" + says("y", "m2") + b"\n")
    assert texts(events) == ["x", "y"]
    assert faults


def test_a_torn_last_line_costs_only_itself_and_is_not_searched_inside() -> None:
    whole = says("inner")
    for end in range(1, len(whole)):
        events, faults, batch = read(says("x", "m0") + b"\n" + whole[:end])
        assert texts(events) == ["x"]
        assert faults == ["torn"]
        assert batch.unknown == {}


def test_a_whole_last_line_without_an_end_is_used() -> None:
    events, faults, _ = read(says("x"))
    assert (texts(events), faults) == (["x"], [])


def test_a_line_torn_in_the_middle_is_not_searched_inside() -> None:
    """A torn record holds content blocks that look like records: they were salvaged as such, and counted as unknown."""
    whole = says("inner", tool={"type": "text", "text": "deeper"})
    for end in range(1, len(whole)):
        events, faults, batch = read(whole[:end] + b"\n" + says("y", "m2") + b"\n")
        assert texts(events) == ["y"]
        assert faults == ["torn-middle"]
        assert batch.unknown == {}


def test_a_record_behind_a_torn_one_on_the_same_line_is_found() -> None:
    torn, whole = says("torn away", "m1", note={"a": [1, True, None, "\\u00e9"]}), says("whole", "m2")
    lost = 0
    for end in range(1, len(torn)):
        events, faults, batch = read(torn[:end] + whole + b"\n")
        assert faults == ["torn-middle"]
        assert batch.unknown == {}
        lost += texts(events) != ["whole"]
    # Where a value was to follow, what follows reads as that value: nobody can tell.
    assert lost <= 16


def test_an_escape_that_a_redaction_broke_invents_no_records() -> None:
    broken = says("secret ***").replace(b"***", b"\\***@\\***")
    events, faults, batch = read(broken + b"\n" + says("y", "m2") + b"\n")
    assert texts(events) == ["y"]
    assert faults == ["torn-middle"]
    assert batch.unknown == {}


def test_a_member_of_a_broken_record_is_no_record() -> None:
    inner = b'{"type":"text","text":"x"}'
    for behind in (b',"uuid":"u"}', b"]}", b"}"):
        events, faults, batch = read(b'{"type":"assistant","message":\\*' + inner + behind + b"\n" + says("y") + b"\n")
        assert (texts(events), faults, batch.unknown) == (["y"], ["torn-middle"], {})


def test_a_record_far_behind_the_break_of_another_one_is_found() -> None:
    events, faults, _ = read(b'{"a":x,"pad":"' + b"y" * 500 + b'"}' + says("whole") + b"\n")
    assert (texts(events), faults) == (["whole"], ["torn-middle"])


def test_what_a_decoder_told_before_it_refused_a_record_stands_once() -> None:
    class Hasty:
        """Tells a record's text before it looks at the rest, which it cannot take as it is."""

        state = msgspec.structs.replace(STREAM.decoder(DecodeContext("log")).state)

        def decode(self, record: Record, batch: Batch) -> None:
            batch.events.append(AssistantText(Source("log", record.row, record.offset, 1), "", "m", Raw(b'"x"')))
            if b" " in record.data:
                raise msgspec.ValidationError("a space")

        def flush(self, batch: Batch) -> None: ...

    stage = Decode(STREAM)
    stage.decoder = Hasty()
    records = [Record(b'{"a":1}', 0, 0), Record(b'{"a": 1}', 8, 1), Record(b'{"a":1}', 17, 2)]
    (batch,) = stage.push(Batch("log", records=records))
    assert [(e.source.row, e.source.offset) for e in batch.events] == [(0, 0), (1, 8), (2, 17)]
    assert batch.faults == []


def test_a_line_of_many_breaks_is_given_up_in_linear_time() -> None:
    line = b'{"a":x}' * 20_000
    events, faults, _ = read(line + b"\n" + says("y") + b"\n")
    assert texts(events) == ["y"]
    assert faults == ["torn-middle"]


def test_an_array_is_one_record_per_element() -> None:
    data = b"[" + says("a", "m1") + b",\n" + b" " + says("b", "m2") + b"]\n"
    events, faults, _ = read(data.replace(b"\n ", b""))
    assert texts(events) == ["a", "b"]
    assert [e.source.row for e in events if isinstance(e, AssistantText)] == [0, 1]
    assert faults == []


@pytest.mark.parametrize("value", [b"[[1]]", b"[1,2]", b"3", b'"text"', b"null", b"true", b"[null]"])
def test_what_is_no_object_is_a_fault(value: bytes) -> None:
    events, faults, _ = read(says("x") + b"\n" + value + b"\n")
    assert texts(events) == ["x"]
    assert faults == ["not-object"] * (1 + value.count(b","))


def test_an_array_with_half_of_a_surrogate_pair_is_opened() -> None:
    cut = says("cut \\ud83d", "msg_2").replace(b"\\\\u", b"\\u")
    events, faults, _ = read(b"[" + says("first") + b"," + cut + b"]\n")
    assert texts(events) == ["first", "cut \ufffd"]
    assert faults == []


@pytest.mark.parametrize(
    ("text", "behind", "faults"),
    [(rb"cut \ud83d", b"", []), (b"a\x01b", b"", []), (b"a", b"\0" * 9, ["nul-run"]), (b"a", b"\n", [])],
)
def test_what_strict_parsers_refuse_in_one_record_costs_no_other(text: bytes, behind: bytes, faults: list[str]) -> None:
    log = b"[" + says("one") + b"," + says("two", "msg_2").replace(b"two", text) + b"]" + behind
    events, found, _ = read(log)
    assert (len(texts(events)), found) == (2, faults)


def test_an_array_within_the_array_of_records_is_not_opened() -> None:
    events, faults, _ = read(b"[" + says("a", "m1") + b",[" + says("b", "m2") + b"]," + says("c", "m3") + b"]\n")
    assert (texts(events), faults) == (["a", "c"], ["not-object"])


def test_of_an_array_that_breaks_off_the_torn_element_is_the_fault() -> None:
    whole = b"[" + says("a", "m1") + b"," + says("b", "m2") + b","
    events, faults, batch = read(whole + says("c", "m3")[:40])
    assert (texts(events), faults) == (["a", "b"], ["torn"])
    assert [e.source.row for e in events if isinstance(e, AssistantText)] == [0, 1]
    assert batch.faults[0].offset in (len(whole) - 1, len(whole))


@pytest.mark.parametrize(
    "message",
    [
        {"id": 7, "content": [{"type": "text", "text": "x"}]},
        {"id": "m", "content": [{"type": "text", "text": "x"}, 5, None]},
        {"id": "m", "content": [{"type": "text", "text": "x", "id": {"a": 1}}]},
        {"id": "m", "model": [], "stop_reason": 1, "content": [{"type": "text", "text": "x"}]},
        {"id": "m", "usage": "none", "content": [{"type": "text", "text": "x"}]},
        {"id": "m", "usage": {"input_tokens": "12"}, "content": [{"type": "text", "text": "x"}]},
    ],
)
def test_members_of_the_wrong_shape_cost_only_themselves(message: dict[str, Any]) -> None:
    line = msgspec.json.encode({"type": "assistant", "session_id": "s", "message": message})
    events, faults, batch = read(line + b"\n" + says("y", "m2") + b"\n")
    assert texts(events) == ["x", "y"]
    assert set(faults) <= {"schema"}
    assert batch.unknown == {}


def test_a_message_that_is_no_object_leaves_the_record_counted() -> None:
    _, faults, batch = read(b'{"type":"assistant","session_id":"s","message":"hello"}\n')
    assert faults == ["schema"]
    assert sum(batch.ignored.values()) == 1


def test_crlf_and_blank_lines_are_nothing() -> None:
    events, faults, _ = read(b"\r\n\n" + says("x") + b"\r\n \r\n\r\n" + says("y", "m2") + b"\r\n")
    assert (texts(events), faults) == (["x", "y"], [])


def test_line_separators_in_text_end_no_record() -> None:
    events, faults, _ = read(says("SEP").replace(b"SEP", "a\u2028b\u2029c\x85".encode()) + b"\n")
    assert (texts(events), faults) == (["a\u2028b\u2029c\x85"], [])


def test_a_foreign_record_in_the_log_is_told() -> None:
    other = {"type": "thread.started", "thread_id": "0199a213-81c0-7800-8aa1-bbab2a035a53"}
    _, faults, batch = read(says("x") + b"\n" + msgspec.json.encode(other) + b"\n")
    assert faults == ["foreign-record"]
    assert batch.unknown == {"thread.started": 1}


@pytest.mark.parametrize("odd", [b"NaN", b'"\xff"', b"1e400", b'"\x00"'])
def test_a_foreign_record_that_was_repaired_keeps_its_own_bytes(odd: bytes) -> None:
    """`read` compares them with the input."""
    init = b'{"type": "system", "subtype": "init",  "session_id": "other", "uuid": "u", "cwd": %b}' % odd
    _, faults, batch = read(says("x") + b"\n" + init + b"\n")
    assert "foreign-record" in faults
    [fault] = [fault for fault in batch.faults if fault.reason == "foreign-record"]
    assert fault.data == init


def test_a_foreign_document_keeps_its_line_breaks() -> None:
    document = b'{\n  "type": "thread.started",\n  "thread_id": "0199a213-81c0-7800-8aa1-bbab2a035a53"\n}'
    stage, batch = (
        Decode(STREAM, DecodeContext("log"), sure_dialect),
        Batch("log", records=[Record(document, 0, 0)], document=True),
    )
    stage.push(batch)
    assert [(fault.reason, fault.data, fault.length) for fault in batch.faults] == [
        ("foreign-record", document, len(document))
    ]


def test_what_strange_records_there_were_is_part_of_the_state() -> None:
    header = {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/w"}
    message = {"role": "user", "content": "hello", "timestamp": 1772359200500}
    entry = {
        "type": "message",
        "id": "e1",
        "parentId": None,
        "timestamp": "2026-03-01T10:00:00.000Z",
        "message": message,
    }
    log = [says("x"), *(msgspec.json.encode(value) for value in (header, entry, {"type": "odd"}))]

    def told(restarts: bool) -> tuple[list[str], bytes]:
        stage, faults = Decode(STREAM, DecodeContext("log"), sure_dialect), list[str]()
        for row, data in enumerate(log):
            (batch,) = stage.push(Batch("log", records=[Record(data, row, row)]))
            faults += [fault.reason for fault in batch.faults]
            if restarts:
                snapshot = msgspec.json.decode(msgspec.json.encode(stage.snapshot()))
                stage = Decode(STREAM, DecodeContext("log"), sure_dialect)
                stage.restore(snapshot)
        return faults, stage.save()

    assert told(restarts=True) == told(restarts=False)
    assert told(restarts=True)[0] == ["foreign-record"]


def test_an_array_output_of_disk_results_stays_whole() -> None:
    line = b'{"type":"user","sessionId":"s","uuid":"u","isSidechain":false,"toolUseResult":["a",{"b":1}],'
    line += b'"message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"o"}]}]}}'
    stage, batch = Decode(DISK), Batch()
    (whole,) = LineReader().push(Chunk(line + b"\n"))
    stage.push(whole)
    assert [e.output for e in whole.events if isinstance(e, ToolResult)] == [[{"type": "text", "text": "o"}]]
    assert batch.faults == []


@given(st.binary(max_size=400))
def test_any_bytes_give_faults_but_never_an_exception(data: bytes) -> None:
    read(says("x") + b"\n" + data)


@given(st.text(max_size=40), st.integers(0, 400), st.integers(0, 400))
def test_any_damage_to_a_record_leaves_its_neighbours_alone(text: str, begin: int, end: int) -> None:
    line = says(text, "hurt")
    hurt = line[:begin] + line[max(begin, end) :]
    before, after = says("before", "m1"), says("after", "m2")
    events, _, _ = read(before + b"\n" + hurt + b"\n" + after + b"\n")
    got = [e for e in events if isinstance(e, AssistantText)]
    assert (got[0].text, got[-1].text) == ("before", "after")
    assert len(got) <= 3


def rows_of(*cut: bytes) -> tuple[list[tuple[int, str]], Batch]:
    """Row and text of each answer, of an input that comes in these pieces; and all batches as one."""
    reader, stage, whole = LineReader("log"), Decode(STREAM, DecodeContext("log"), sure_dialect), Batch("log")
    for batch in (*(b for piece in cut for b in reader.push(Chunk(piece))), *reader.flush()):
        again = Decode(STREAM, DecodeContext("log"), sure_dialect)
        again.restore(msgspec.json.decode(msgspec.json.encode(stage.snapshot())))
        stage = again
        stage.push(batch)
        whole.records += batch.records
        whole.events += batch.events
        whole.faults += batch.faults
    return [(e.source.row, e.text) for e in whole.events if isinstance(e, AssistantText)], whole


@pytest.mark.parametrize("several", [b"[%b,%b,%b]", b"%b%b%b", b"%b noise %b%b"], ids=["array", "welded", "noise"])
def test_each_of_several_objects_on_a_line_has_a_row_of_its_own(several: bytes) -> None:
    """Ids of events and of messages are made of rows."""
    one = several % (says("a", "1"), says("b", "2"), says("c", "3"))
    lines = [says("before", "0"), one, says("d", "4"), one, says("e", "5")]
    told, whole = rows_of(b"\n".join(lines) + b"\n")
    assert told == list(enumerate(["before", "a", "b", "c", "d", "a", "b", "c", "e"]))
    assert [record.row for record in whole.records] == [0, 1, 4, 5, 8]
    assert rows_of(*(line + b"\n" for line in lines))[0] == told


def test_faults_stand_in_the_order_of_the_input_whatever_the_cut() -> None:
    """Another agent's record is known at the end of a batch, a line over the cap at its beginning."""
    said = b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}'
    foreign = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%b}}' % said
    lines = [says("a"), foreign, b'{"torn', says("b", "2"), b"noise", foreign]
    _, whole = rows_of(b"\n".join(lines) + b"\n")
    _, parts = rows_of(*(line + b"\n" for line in lines))
    assert [fault.offset for fault in whole.faults] == sorted(fault.offset for fault in parts.faults)
    assert whole.faults == parts.faults
    assert {"foreign-record", "torn-middle", "not-json"} == {fault.reason for fault in whole.faults}

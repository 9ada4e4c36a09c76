"""Several inputs as one session: each has its own lines, its own offsets, its own decoder."""

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers import get_provider
from agentv_stages.session.inputs import DecodeInputs, ReadLines
from support.consuming import SESSION

SIDE = next(SESSION.with_suffix("").rglob("*.jsonl"))
DIALECT = next(d for d in get_provider("claude").dialects if d.name == "claude-session")
CONTEXT = DecodeContext(str(SIDE), stream="sidechain:a1")


def read(*chunks: Chunk, file: str = "a") -> list[Batch]:
    lines = ReadLines(file)
    out = [batch for chunk in chunks for batch in lines.push(chunk)]
    return [batch for batch in (*out, *lines.flush()) if batch.records or batch.faults]


def test_a_line_never_goes_on_in_another_file() -> None:
    batches = read(Chunk(b'{"a":1}\n{"torn"', None, "a"), Chunk(b":2}\n", None, "b"))
    assert [(b.file, [r.data for r in b.records]) for b in batches] == [
        ("a", [b'{"a":1}']),
        ("a", [b'{"torn"']),
        ("b", [b":2}"]),
    ]
    assert [b.unterminated for b in batches] == [False, True, False]


def test_offsets_and_rows_count_from_the_beginning_of_each_file() -> None:
    batches = read(Chunk(b'{"a":1}\n{"a":2}\n', None, "a"), Chunk(b'{"b":1}\n', None, "b"))
    assert [(r.offset, r.row) for b in batches for r in b.records] == [(0, 0), (8, 1), (0, 0)]


@pytest.mark.parametrize(
    ("data", "rest"),
    [(b'{"a":1}\n{"torn"', []), (b'{\n  "messages": [\n    {"a": 1},\n    {"b"', [True])],
    ids=["lines", "document"],
)
def test_reading_that_stops_early_leaves_half_a_line_but_not_the_document(data: bytes, rest: list[bool]) -> None:
    lines = ReadLines("a")
    list(lines.push(Chunk(data, None, "a")))
    lines.cut_short = True
    assert [batch.document for batch in lines.flush() if batch.records] == rest


def decoded(inputs: dict[str, bytes], cut: int = 1 << 20) -> list[Batch]:
    main, *_ = inputs
    lines, decode = ReadLines(main), DecodeInputs(DIALECT, main, {str(SIDE): CONTEXT})
    out: list[Batch] = []
    for file, data in inputs.items():
        for at in range(0, len(data), cut):
            for batch in lines.push(Chunk(data[at : at + cut], None, file)):
                out += decode.push(batch)
    for batch in lines.flush():
        out += decode.push(batch)
    return [*out, *decode.flush()]


def events_of(batches: list[Batch]) -> list[object]:
    return [event for batch in batches for event in batch.events]


@pytest.mark.parametrize("cut", [7, 1 << 20])
def test_each_file_is_decoded_as_if_it_stood_alone_with_what_its_context_says(cut: int) -> None:
    inputs = {str(SESSION): SESSION.read_bytes(), str(SIDE): SIDE.read_bytes()}
    alone: list[object] = []
    for file, data in inputs.items():
        decode = Decode(DIALECT, CONTEXT if file == str(SIDE) else DecodeContext(file))
        lines = ReadLines(file)
        for batch in (*lines.push(Chunk(data, None, file)), *lines.flush()):
            alone += events_of([*decode.push(batch)])
        alone += events_of([*decode.flush()])
    together = events_of(decoded(inputs, cut))
    assert together == alone
    assert {getattr(event, "source").stream for event in together} >= {"main", "sidechain:a1"}  # noqa: B009 - an object


def test_it_goes_on_in_the_file_in_which_it_was_stopped() -> None:
    data = SIDE.read_bytes().splitlines(keepends=True)
    half = len(data) // 2
    whole = DecodeInputs(DIALECT, str(SIDE), {str(SIDE): CONTEXT})
    first = DecodeInputs(DIALECT, "elsewhere", {str(SIDE): CONTEXT})
    lines = ReadLines(str(SIDE))
    batches = [batch for line in data for batch in lines.push(Chunk(line, None, str(SIDE)))]
    wanted = [e for b in batches for out in whole.push(_fresh(b)) for e in out.events]
    got = [e for b in batches[:half] for out in first.push(_fresh(b)) for e in out.events]
    second = DecodeInputs(DIALECT, "elsewhere", {str(SIDE): CONTEXT})
    second.restore(first.snapshot())
    got += [e for b in batches[half:] for out in second.push(_fresh(b)) for e in out.events]
    assert got == wanted != []


def _fresh(batch: Batch) -> Batch:
    return Batch(batch.file, records=list(batch.records))


def test_a_second_flush_is_refused() -> None:
    for stage in (ReadLines("a"), DecodeInputs(DIALECT, "a")):
        stage.flush()
        with pytest.raises(RuntimeError, match="twice"):
            stage.flush()

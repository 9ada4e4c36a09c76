"""`summarize` and the reader behind it: a finished session in one synchronous chain."""

import gc
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentv_stages.chain.lines import DEFAULT_CAP
from agentv_stages.session import detect as detection
from agentv_stream import EmptyInput, NotALog, SourceError, UsageError, summarize
from agentv_stream.errors import DamagedArchive
from agentv_stream.summary import SessionReader, without_collector
from support.consuming import SESSION, STREAM
from support.made_sessions import make_folder


def test_summarize_is_what_the_stream_gives() -> None:
    result = summarize(STREAM)
    assert (result.status, result.tool_use_summary["turns"], result.tokens["input"]) == ("complete", 8, 1170)
    assert summarize(str(SESSION)).tool_use_summary["total_tool_calls"] == 5
    assert summarize(SESSION).status == "complete"  # which the end of the log tells, no record
    assert summarize(SESSION, subagents=False).tool_use_summary["total_tool_calls"] == 4
    assert summarize(STREAM, watch="python") == summarize(STREAM, watch=("python",))
    assert summarize(STREAM, watch=("python",)).tool_use_summary["watched_commands"]["python"] == [
        {"command": "python -m pytest -q", "turn": 6, "stream": "main"}
    ]


def test_an_output_that_was_captured_is_summarized_as_its_file_is() -> None:
    assert summarize(STREAM.read_bytes()).tool_use_summary == summarize(STREAM).tool_use_summary
    with pytest.raises(EmptyInput, match="<memory>"):
        summarize(b"")


def test_summarize_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "words").write_bytes(b"hello\n")
    for name, error in (("missing", SourceError), ("", SourceError), ("empty", EmptyInput), ("words", NotALog)):
        with pytest.raises(error):
            summarize(tmp_path / name)
    with pytest.raises(UsageError):
        summarize(STREAM, provider="nobody")


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_the_size_of_the_pieces_changes_nothing(size: int) -> None:
    data = STREAM.read_bytes()
    reader = SessionReader((data[at : at + size] for at in range(0, len(data), size)), str(STREAM))
    for _ in reader.batches():
        pass
    assert reader.result().to_json() == summarize(STREAM).to_json()


def test_companions_are_read_behind_their_session_unless_told_not_to() -> None:
    reader = SessionReader([SESSION.read_bytes()], str(SESSION))
    files = [batch.file for batch in reader.batches()]
    (companion,) = reader.companions
    assert companion.path in files
    assert files.index(companion.path) > files.index(str(SESSION))
    alone = SessionReader([SESSION.read_bytes()], str(SESSION))
    assert {batch.file for batch in alone.batches(companions=False)} == {str(SESSION)}


def test_a_companion_that_has_gone_is_left_out() -> None:
    def read(path: str) -> list[bytes]:
        raise SourceError(path) from FileNotFoundError(path)

    reader = SessionReader([SESSION.read_bytes()], str(SESSION), read=read)
    for _ in reader.batches():
        pass
    assert reader.result().tool_use_summary["total_tool_calls"] == 4


def test_a_companion_that_is_damaged_is_an_error_as_a_log_is(tmp_path: Path) -> None:
    main = make_folder(tmp_path, 1)[0]
    (agent,) = main.with_suffix("").rglob("agent-*.jsonl")
    agent.write_bytes(gzip.compress(agent.read_bytes() * 200)[:-200])
    with pytest.raises(DamagedArchive, match=agent.name):
        summarize(main)
    assert summarize(main, subagents=False).status == "complete"


def test_detection_gives_back_every_batch_that_it_read() -> None:
    lines = STREAM.read_bytes().splitlines(keepends=True)
    reader = SessionReader(iter(lines), "log")
    assert (reader.provider.name, reader.dialect.name) == ("claude", "claude-stream")
    held = [record.row for batch in reader.held for record in batch.records]
    assert held == list(range(len(reader.held)))
    assert [record.row for batch in reader.batches() for record in batch.records] == list(range(len(lines)))


def test_the_collector_rests_and_is_then_as_it_was() -> None:
    with without_collector():
        assert not gc.isenabled()
        with without_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), without_collector():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_log_of_one_giant_record_is_no_empty_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "MOST_GIANT", DEFAULT_CAP)
    read = 0

    def pieces() -> Iterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b"[" * (1024 * 1024)

    with pytest.raises(NotALog, match="no record is under the cap"):
        SessionReader(pieces(), "bomb")
    assert read <= 2 * DEFAULT_CAP // (1024 * 1024)


def test_a_result_without_a_call_is_a_fault_in_the_summary_too(tmp_path: Path) -> None:
    """It waits for its call to the end of the log."""
    lines = SESSION.read_bytes().splitlines(keepends=True)
    orphans = [
        line.replace(b'"tool_use_id":"', b'"tool_use_id":"lost-') for line in lines if b'"tool_use_id":"' in line
    ]
    assert orphans
    (tmp_path / "log.jsonl").write_bytes(b"".join([*lines[:3], orphans[0].replace(b'"uuid":"', b'"uuid":"f')]))
    assert summarize(tmp_path / "log.jsonl").faults == {"orphan-result": 1}

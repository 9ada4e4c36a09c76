"""What a session leaves behind, held against its schemas: real outputs of every agent's fixtures."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator

from agentv_stages.figures.result import Result
from agentv_stages.sinks.event_lines import EventLines
from agentv_stream.documentation.schemas import SHAPES, VERSIONS, about, schema
from agentv_stream.live.session import StreamSession
from agentv_stream.live.session_report import Report
from agentv_stream.settings import Settings, StreamLog
from agentv_stream.sources.source import FileSource
from agentv_stream.summary import SessionReader
from support.fixture_logs import EXAMPLES, LOGS
from support.schemas import fits, validator

DAMAGED = b"""Warning: no configuration\n{"type":"assistant","message":{"id":"m\n{"type":"tool_u\xff\n"""


def lines(path: Path) -> Iterator[Any]:
    for line in path.read_bytes().splitlines():
        yield json.loads(line)


def consume(source: Path, out: Path, log: StreamLog = "raw") -> Report:
    settings = Settings(out=out, stream_log=log, transcript_shape="case", target="t", test_id="case", attempt=1)

    async def run() -> Report:
        return await StreamSession(FileSource(source), settings).run()

    return anyio.run(run)


def check_outputs(out: Path, result: Result) -> None:
    (transcript,) = out.glob("*.transcript.jsonl")
    rows = list(lines(transcript))
    for row in rows:
        fits("transcript", row)
    assert sorted(row["message_index"] for row in rows) == list(range(len(rows)))
    (case,) = out.glob("*.case.jsonl")
    for row in lines(case):
        fits("case", row)
    (raw,) = out.glob("*.stream.jsonl")
    for row in lines(raw):
        fits("stream-log", row)
    for letters in out.glob("*.dead-letters.jsonl"):
        for row in lines(letters):
            fits("dead-letter", row)
    written = json.loads(result.to_json())
    fits("result", written)
    fits("tool-use-summary", written["tool_use_summary"])


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_consume_writes_fits_its_schemas(log: Path, tmp_path: Path) -> None:
    report = consume(log, tmp_path)
    assert not report.failures
    assert report.result is not None
    check_outputs(tmp_path, report.result)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_events_fit_their_schema(log: Path) -> None:
    reader = SessionReader([log.read_bytes()], log.name)
    written = EventLines("session")
    ids: list[str] = []
    for batch in reader.batches(companions=False):
        for event in batch.events:
            value = json.loads(written.line(event))
            fits("event", value)
            ids.append(value["id"])
    assert ids
    assert len(ids) == len(set(ids))


def test_dead_letters_and_damaged_input_fit_their_schemas(tmp_path: Path) -> None:
    whole = (EXAMPLES / "claude.jsonl").read_bytes().splitlines(keepends=True)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(
        b"".join([*whole[:4], DAMAGED, *whole[4:9], whole[9].strip() + whole[10], b'{"type":"user","me'])
    )
    report = consume(damaged, tmp_path / "out")
    assert report.result is not None
    assert report.result.faults.keys() >= {"not-json", "torn", "welded"}
    assert len(list((tmp_path / "out").glob("*.dead-letters.jsonl"))) == 1
    check_outputs(tmp_path / "out", report.result)


@pytest.mark.parametrize("name", SHAPES)
def test_every_schema_is_versioned_and_sound(name: str) -> None:
    made = schema(name)
    Draft202012Validator.check_schema(made)
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert made["title"] == VERSIONS[name]
    assert re.fullmatch(r"agentv(_stream)?\.[a-z_]+\.(v\d+|case)|ATIF-v1\.\d", VERSIONS[name])
    assert re.fullmatch(r"[A-Z`].+\.", about(name))


def test_a_schema_refuses_what_it_should() -> None:
    assert not validator("transcript").is_valid({"role": "assistant"})
    assert not validator("result").is_valid({**json.loads(_empty_result()), "surprise": 1})


def _empty_result() -> bytes:
    reader = SessionReader([(EXAMPLES / "codex.jsonl").read_bytes()], "codex.jsonl")
    for _ in reader.batches(companions=False):
        pass
    return reader.result().to_json()

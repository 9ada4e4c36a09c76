"""One session over several files of OTLP JSON: whatever is in which file, nothing counts twice."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from agentv_stream import import_sessions, summarize
from agentv_stream.discovery.discover import find_sessions
from agentv_stream.discovery.places import find_roots
from support.decoding import FIXTURES

GENAI = FIXTURES / "otlp" / "genai.otlp.jsonl"
LINES = GENAI.read_bytes().splitlines(keepends=True)


def figures(result: Any) -> tuple[Any, ...]:
    made = result.tool_use_summary
    return made["turns"], made["by_tool"], made["by_outcome"], dict(result.tokens), result.status, dict(result.faults)


WHOLE = figures(summarize(GENAI))


def imported(folder: Path) -> list[dict[str, Any]]:
    import_sessions([folder], jsonl=folder / "all.out", engine="serial")
    return [json.loads(line) for line in (folder / "all.out").read_bytes().splitlines()]


@pytest.mark.parametrize("first", [*combinations(range(len(LINES)), 2), (0, 2, 4, 6, 8), (1, 2, 3, 4, 5, 6, 7)])
def test_spans_in_two_files_are_one_session(first: tuple[int, ...], tmp_path: Path) -> None:
    one, two = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    one.write_bytes(b"".join(LINES[n] for n in first))
    two.write_bytes(b"".join(line for n, line in enumerate(LINES) if n not in first or n == first[0]))  # one in both
    assert figures(summarize(one)) == WHOLE


def test_a_folder_has_one_session_where_its_files_share_it(tmp_path: Path) -> None:
    for n, name in enumerate(("c", "a", "b")):
        (tmp_path / f"{name}.jsonl").write_bytes(b"".join(LINES[n::3]))
    other = FIXTURES / "otlp" / "vercel.otlp.jsonl"
    (tmp_path / "0.jsonl").write_bytes(other.read_bytes())
    (tmp_path / "notes.json").write_text("{}")
    found = find_sessions(find_roots([f"otlp={tmp_path}"]))
    assert [(Path(s.path).name, [Path(f).name for f in s.further]) for s in sorted(found, key=lambda s: s.path)] == [
        ("0.jsonl", []),
        ("a.jsonl", ["b.jsonl", "c.jsonl"]),
    ]
    rows = imported(tmp_path)
    assert sorted(row["tool_use_summary"]["total_tool_calls"] for row in rows) == [1, 4]
    assert sorted(row["tokens"]["input"] for row in rows) == [50, 480]


@pytest.mark.parametrize(
    "folders", [("traces", "logs"), ("2026-11-28", "2026-11-29"), ("hour=03/minute=05", "hour=04/minute=00")]
)
def test_folders_that_are_parts_of_an_export_are_one(folders: tuple[str, str], tmp_path: Path) -> None:
    for n, folder in enumerate(folders):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "spans.jsonl").write_bytes(b"".join(LINES[n::2]))
    (tmp_path / "other" / folders[0]).mkdir(parents=True)
    (tmp_path / "other" / folders[0] / "spans.jsonl").write_bytes(LINES[7])
    assert figures(summarize(tmp_path / sorted(folders)[0] / "spans.jsonl")) == WHOLE
    found = find_sessions(find_roots([f"otlp={tmp_path}"]))
    assert sorted(len(session.further) for session in found) == [0, 1]


def test_contents_in_a_file_of_log_records_are_those_of_the_spans_whatever_its_name(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in LINES]
    records: list[dict[str, Any]] = []
    for line in lines:
        for span in line["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            moved = [pair for pair in span["attributes"] if pair["key"] == "gen_ai.output.messages"]
            span["attributes"] = [pair for pair in span["attributes"] if pair not in moved]
            if moved:
                own = {"traceId": span["traceId"], "spanId": span["spanId"], "attributes": moved}
                records.append(own | {"eventName": "gen_ai.client.inference.operation.details"})
    (tmp_path / "z.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "a.jsonl").write_text(json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}) + "\n")
    assert figures(summarize(tmp_path / "z.jsonl")) == WHOLE
    (session,) = find_sessions(find_roots([f"otlp={tmp_path}"]))
    assert (Path(session.path).name, [Path(f).name for f in session.further]) == ("z.jsonl", ["a.jsonl"])


def test_log_records_and_spans_of_one_session_may_be_in_files_of_their_own(tmp_path: Path) -> None:
    records = (FIXTURES / "otlp" / "gemini-cli-records.otlp.jsonl").read_bytes()
    session = json.loads(records.splitlines()[0])["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["attributes"]
    own = next(pair["value"]["stringValue"] for pair in session if pair["key"] == "session.id")
    traces = GENAI.read_bytes().replace(b"conv-7", own.encode())
    (tmp_path / "logs.jsonl").write_bytes(records)
    (tmp_path / "traces.jsonl").write_bytes(traces)
    (row,) = imported(tmp_path)
    assert (row["tool_use_summary"]["turns"], row["tokens"]["input"]) == (3, 40841)

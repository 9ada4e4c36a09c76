"""The generator writes what it says: valid records, every call answered, counts that match its truth file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

GENERATE = Path(__file__).resolve().parents[2] / "benchmarks" / "generate.py"


def generate(*arguments: str | Path) -> bytes:
    return subprocess.run([sys.executable, GENERATE, *map(str, arguments)], check=True, capture_output=True).stdout


def blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = record.get("message", {}).get("content")
    return content if isinstance(content, list) else []  # pyright: ignore[reportUnknownVariableType] - decoded JSON


@pytest.mark.parametrize("dialect", ["stream", "session"])
def test_records_are_valid_and_match_the_truth(dialect: str, tmp_path: Path) -> None:
    out, truth_file = tmp_path / "one.jsonl", tmp_path / "truth.json"
    generate("--size", "2MB", "--dialect", dialect, "--truth", truth_file, "-o", out)
    truth = json.loads(truth_file.read_bytes())
    data = out.read_bytes()
    records = [json.loads(line) for line in data.split(b"\n")[:-1]]

    assert data.endswith(b"\n")
    assert len(data) == truth["bytes"] >= 2_000_000
    assert len(records) == truth["records"]
    uses = [block for record in records for block in blocks(record) if block["type"] == "tool_use"]
    answered = [
        block["tool_use_id"] for record in records for block in blocks(record) if block["type"] == "tool_result"
    ]
    assert Counter(use["name"] for use in uses) == truth["by_tool"]
    assert sorted(use["id"] for use in uses) == sorted(answered)
    assert len(set(answered)) == len(answered) == sum(truth["by_outcome"].values())
    uuids = [record["uuid"] for record in records if "uuid" in record]
    assert len(set(uuids)) == len(uuids)


def test_a_stream_begins_with_init_and_ends_with_a_result_that_sums_up(tmp_path: Path) -> None:
    truth_file = tmp_path / "truth.json"
    lines = generate("--size", "1MB", "--truth", truth_file).splitlines()
    truth, first, last = json.loads(truth_file.read_bytes()), json.loads(lines[0]), json.loads(lines[-1])
    assert (first["type"], first["subtype"]) == ("system", "init")
    assert (last["type"], last["subtype"]) == ("result", "success")
    (usage,) = last["modelUsage"].values()
    assert usage["outputTokens"] == truth["output_tokens"]
    read = usage["cacheReadInputTokens"] + usage["cacheCreationInputTokens"] + usage["inputTokens"]
    assert read == truth["input_tokens"]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    arguments = ("--size", "200KB", "--long", "0")
    assert generate(*arguments) == generate(*arguments)
    assert generate(*arguments) != generate(*arguments, "--seed", "2")


def test_text_outside_ascii_is_written_as_utf8_like_javascript_does() -> None:
    assert "日本語".encode() in generate("--size", "300KB", "--long", "0")


def test_a_folder_holds_sessions_of_the_wanted_total_with_sub_agents_beside_them(tmp_path: Path) -> None:
    truth_file = tmp_path / "truth.json"
    root = tmp_path / "projects"
    generate("--dialect", "session", "--sessions", "12", "--total", "8MB", "-o", root, "--truth", truth_file)
    sessions = list(root.glob("*/*.jsonl"))
    assert len(sessions) == len(json.loads(truth_file.read_bytes())) == 12
    total = sum(path.stat().st_size for path in root.rglob("*.jsonl"))
    assert 6_000_000 < total < 16_000_000
    companions = list(root.glob("*/*/subagents/agent-*.jsonl"))
    assert companions
    for path in companions:
        meta = json.loads(path.with_suffix("").with_suffix(".meta.json").read_bytes())
        assert meta["toolUseId"].startswith("toolu_")
        assert all(json.loads(line)["isSidechain"] for line in path.read_bytes().splitlines())

"""AgentV itself reads our transcripts back: its messages, calls and totals are ours.

Needs Node and AgentV's package: `make judge` installs it; AGENTV_STREAM_AGENTV names its folder.
"""

import json
import os
import shutil
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.consuming import LIMIT_SECONDS, SESSION, STREAM, consume
from support.decoding import FIXTURES, corpus

SCRIPT = """
import { pathToFileURL } from "node:url";
const agentv = await import(pathToFileURL(process.argv[2]).href);
const out = [];
for (const path of process.argv.slice(3)) {
  const lines = await agentv.readTranscriptJsonl(path);
  const groups = agentv.groupTranscriptJsonLines(lines);
  const trace = agentv.traceFromTranscriptJsonLines(lines);
  out.push({ groups, trace: { calls: trace.messages.flatMap((m) => m.toolCalls ?? []).length } });
}
process.stdout.write(JSON.stringify(out));
"""
LOGS = [
    STREAM,
    SESSION,
    FIXTURES / "copilot" / "session.jsonl",
    FIXTURES / "cursor" / "stream.jsonl",
    FIXTURES / "pi" / "stream.jsonl",
    FIXTURES / "opencode" / "stream.jsonl",
    FIXTURES / "acp" / "qwen.jsonl",
]
RECORDED = ["claude", "codex", "codex_classic", "copilot", "gemini", "opencode", "pi", "qwen", "copilot_acp"]


@cache
def reader() -> Path:
    """The module of AgentV's package that reads transcripts."""
    package = os.environ.get("AGENTV_STREAM_AGENTV")
    if not package or shutil.which("node") is None:
        pytest.skip("needs node, and AGENTV_STREAM_AGENTV to name AgentV's package (make judge)")
    found = [p for p in sorted(Path(package, "dist").glob("dist-*.js")) if "readTranscriptJsonl" in p.read_text()]
    return found[0] if found else Path(package, "dist", "index.js")


def read_back(folder: Path, *paths: Path) -> list[dict[str, Any]]:
    script = folder / "read.mjs"
    script.write_text(SCRIPT)
    done = subprocess.run(
        ["node", script, reader(), *paths], capture_output=True, check=True, timeout=LIMIT_SECONDS, cwd=folder
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def check(folder: Path, log: Path) -> None:
    reader()
    ran = consume(folder, log, "--out", "o", "--stats", "s.json")
    (path,) = ran.transcripts()
    ours: dict[str, Any] = json.loads((folder / "s.json").read_bytes())
    (theirs,) = read_back(folder, path)
    (group,) = theirs["groups"]
    rows = ran.rows()
    assert len(group["messages"]) == len(rows)
    calls = [call for message in group["messages"] for call in message.get("toolCalls", [])]
    assert dict(Counter(call["tool"] for call in calls)) == ours["tool_use_summary"]["by_tool"]
    assert theirs["trace"]["calls"] == ours["tool_use_summary"]["total_tool_calls"]
    tokens: dict[str, Any] = ours["tokens"]
    seen: dict[str, Any] = group.get("tokenUsage") or {}
    assert {key: seen.get(key) for key in ("input", "output", "cached")} == {
        key: tokens[key] for key in ("input", "output", "cached")
    }
    assert group.get("costUsd") == ours["cost_usd"]
    assert group.get("durationMs") == ours["duration_ms"]
    assert group["source"]["sessionId"] == (ours["session"]["id"] or group["source"]["sessionId"])
    statuses = Counter(call["status"] for call in calls)
    outcomes = ours["tool_use_summary"]["by_outcome"]
    assert statuses["ok"] == outcomes["ok"]
    assert statuses["error"] == outcomes["error"] + outcomes["denied"] + outcomes["cancelled"]
    assert statuses["unknown"] == outcomes["unpaired"]


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.parent.name + "/" + path.name[:12])
def test_agentv_reads_our_transcripts(tmp_path: Path, log: Path) -> None:
    check(tmp_path, log)


@pytest.mark.parametrize("scenario", ["s2", "s4"])
@pytest.mark.parametrize("client", RECORDED)
def test_agentv_reads_transcripts_of_recordings(tmp_path: Path, client: str, scenario: str) -> None:
    log = corpus(f"clients/{client}") / scenario / "stream.jsonl"
    if not log.is_file():
        pytest.skip("this agent has no such scenario")
    check(tmp_path, log)


@pytest.mark.parametrize("log", [STREAM, SESSION], ids=["stream", "session"])
def test_agentv_takes_the_totals_of_a_piped_transcript_when_its_last_row_comes_first(tmp_path: Path, log: Path) -> None:
    """It takes them from the first row that it reads, whatever its index, and sorts the messages by their indexes."""
    reader()
    rows = consume(tmp_path, log, "--transcript", "-", "--stats", "s.json").out.splitlines(keepends=True)
    piped, turned = tmp_path / "piped.jsonl", tmp_path / "turned.jsonl"
    piped.write_bytes(b"".join(rows))
    turned.write_bytes(b"".join(reversed(rows)))
    ours = json.loads((tmp_path / "s.json").read_bytes())
    straight, backwards = [one["groups"][0] for one in read_back(tmp_path, piped, turned)]
    assert straight["messages"] == backwards["messages"]
    assert "durationMs" not in straight  # nothing wrong is taken for a total
    assert backwards["tokenUsage"]["input"] == ours["tokens"]["input"] is not None
    assert (backwards.get("costUsd"), backwards.get("durationMs")) == (ours["cost_usd"], ours["duration_ms"])


def test_a_transcript_of_a_killed_run_is_read_too(tmp_path: Path) -> None:
    reader()
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(STREAM.read_bytes()[:9000])
    ran = consume(tmp_path, cut, "--out", "o")
    (theirs,) = read_back(tmp_path, *ran.transcripts())
    assert len(theirs["groups"]) == 1

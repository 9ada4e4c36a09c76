"""The measurement of decoders runs, on the fixtures: a figure of nothing would look like a fast decoder."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"


def test_every_way_of_reading_is_measured_beside_claudes(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "dialects.py"), str(FIXTURES), "--only", "pi-stream"]
    ran = subprocess.run([*command, "--rounds", "1", "--out", str(out)], capture_output=True, text=True, check=True)
    assert all(f"## {way}" in ran.stdout for way in ("decode", "calls", "statistics"))
    measured = {case["dialect"]: case["files"] for case in json.loads(out.read_text(encoding="utf-8"))["dialects"]}
    assert measured.keys() >= {"pi-stream", "claude-stream", "claude-session"}
    for files in measured.values():
        for one in files:
            assert one["events"] > 0
            assert one["seconds"].keys() == {"decode", "calls", "statistics", "skip"}

#!/usr/bin/env python3
"""Measures the page of one large session beside other programs that make pages: processor time and memory.

    python benchmarks/peers.py benchmarks/out/peers        # once: the other programs
    python benchmarks/pages.py --peers benchmarks/out/peers -o docs/performance-pages.json

The session is made up (`generate.py`). Rounds are interleaved. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from generate import parse_size, write_session
from harness.measure import Program, interleave

NAME = "11111111-2222-4333-8444-555555555555.jsonl"


def programs(peers: Path | None, log: Path, scratch: Path) -> list[Program]:
    """Ours, and the others as far as they are there."""
    out = scratch / "out"
    clear = partial(shutil.rmtree, out, ignore_errors=True)
    own = {"HOME": str(scratch / "home"), "AGENTV_STREAM_STATE": str(scratch / "state")}
    ours = [sys.executable, "-m", "agentv_stream", "page", str(log), "-o", str(out / "page.html")]
    found = [Program("ours: page", ours, clear, own), Program("ours: page --full", [*ours, "--full"], clear, own)]
    if peers is not None:
        bin = peers / "python/bin"
        others = {
            "claude-code-log": [str(log), "-o", str(out / "page.html"), "--no-cache"],
            "claude-code-transcripts": ["json", str(log), "-o", str(out)],
        }
        for name, words in others.items():
            if (bin / name).is_file():
                found.append(Program(name, [str(bin / name), *words], partial(_fresh, out), own))
    return found


def _fresh(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default=parse_size("50MB"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", type=Path, help="Where peers.py installed the other programs.")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        log = scratch / NAME
        with log.open("wb") as out:
            write_session(out, options.size, "session", 1, long_bytes=400_000)
        found = interleave(programs(options.peers, log, scratch), options.rounds, scratch)
    print("| | processor time, s | peak, MB |\n|---|---|---|")
    for series in found:
        print(f"| {series.program.name} | {series.processor:.1f} | {series.peak / 1e6:,.0f} |")
    if options.output is not None:
        about = {
            "date": datetime.now(UTC).date().isoformat(), "size": options.size, "python": platform.python_version(),
            "series": [series.as_json() for series in found],
        }  # fmt: skip
        options.output.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

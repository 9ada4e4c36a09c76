#!/usr/bin/env python3
"""Measures what `--redact` and `--page` add to `consume`: processor time and memory, in interleaved rounds.

    python benchmarks/redaction.py -o docs/performance-redaction.json       # 200 MB, 5 rounds: a minute
    python benchmarks/redaction.py --size 50MB --rounds 3

The session is made up (`generate.py`), without secrets: the search alone is measured. `start` is the same with a
session of a few records. Prints a table in Markdown.
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
from importlib import metadata
from pathlib import Path

from generate import parse_size, write_session
from harness.measure import Program, Series, interleave

_WITHOUT = "import sys; sys.modules['hyperscan'] = None; from agentv_stream.cli import main; main()"


def programs(log: Path, scratch: Path, name: str) -> list[Program]:
    """The same consumption without and with redaction, by both searches, and with a page."""
    out = scratch / "out"
    consume = ["consume", str(log), "--out", str(out), "--quiet", "--no-sync"]
    ours, without = [sys.executable, "-m", "agentv_stream"], [sys.executable, "-c", _WITHOUT]
    clear = partial(shutil.rmtree, out, ignore_errors=True)
    state = {"AGENTV_STREAM_STATE": str(scratch / "state")}
    return [
        Program(f"{name} plain", [*ours, *consume], clear, state),
        Program(f"{name} hyperscan", [*ours, *consume, "--redact"], clear, state),
        Program(f"{name} standard library", [*without, *consume, "--redact"], clear, state),
        Program(f"{name} page", [*ours, *consume, "--page"], clear, state),
    ]


def table(size: int, found: dict[str, Series]) -> str:
    """One row for each way."""
    lines = [
        "| | start, s | whole, s | beyond the start | MB/s of the search | peak, MB |",
        "|---|---|---|---|---|---|",
    ]
    plain = found["whole plain"].processor - found["start plain"].processor
    for name in ("plain", "hyperscan", "standard library", "page"):
        start, whole = found[f"start {name}"], found[f"whole {name}"]
        took = whole.processor - start.processor
        more = f"+{100 * (took / plain - 1):.0f} %" if name != "plain" else ""
        speed = f"{size / 1e6 / (took - plain):,.0f}" if name not in ("plain", "page") and took > plain else ""
        peak = whole.peak / 1e6
        lines.append(f"| {name} | {start.processor:.2f} | {whole.processor:.2f} | {more} | {speed} | {peak:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=parse_size, default=parse_size("200MB"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        logs = {"start": 20_000, "whole": options.size}
        for name, size in logs.items():
            with (scratch / f"{name}.jsonl").open("wb") as out:
                write_session(out, size, "session", 1, long_bytes=0 if size < 100_000 else 400_000)
        every = [program for name in logs for program in programs(scratch / f"{name}.jsonl", scratch, name)]
        found = {series.program.name: series for series in interleave(every, options.rounds, scratch)}
    print(table(options.size, found))
    if options.output is not None:
        about = {
            "date": datetime.now(UTC).date().isoformat(), "size": options.size, "python": platform.python_version(),
            "hyperscan": metadata.version("hyperscan"), "series": [series.as_json() for series in found.values()],
        }  # fmt: skip
        options.output.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

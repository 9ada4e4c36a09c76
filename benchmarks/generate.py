#!/usr/bin/env python3
"""Writes made-up Claude sessions of any size: one file (or standard output), or a folder of sessions of real sizes.

    python benchmarks/generate.py --size 1GB --dialect stream -o big.jsonl
    python benchmarks/generate.py --size 100MB --dialect session | agentv-stream consume
    python benchmarks/generate.py --sessions 400 --total 500MB -o folder/     # as ~/.claude/projects, sub-agents beside

The same arguments give the same bytes. Memory does not grow with the size.
`--truth FILE` writes what a reader must count.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from functools import partial
from pathlib import Path
from typing import BinaryIO

from synthetic.claude import ClaudeSession, Dialect, Truth, Write
from synthetic.text import Texts

_UNITS = {"GB": 10**9, "MB": 10**6, "KB": 10**3, "GIB": 2**30, "MIB": 2**20, "KIB": 2**10, "B": 1}


def parse_size(text: str) -> int:
    """`10MB`, `1.5GiB`, `2000`: bytes. A bare number is bytes."""
    upper = text.strip().upper()
    for unit, factor in _UNITS.items():
        if upper.endswith(unit):
            return int(float(upper[: -len(unit)]) * factor)
    return int(upper)


def write_session(out: BinaryIO, size: int, dialect: Dialect, seed: int, **options: bool | int) -> Truth:
    """One session of about `size` bytes to `out`."""
    session = ClaudeSession(
        dialect,
        seed,
        thinking=bool(options.get("thinking", True)),
        subagents=bool(options.get("subagents", True)),
        long_bytes=int(options.get("long_bytes", 400_000)),
    )
    return session.write(out.write, size)


def write_folder(root: Path, sessions: int, total: int, dialect: Dialect, seed: int) -> list[Truth]:
    """`sessions` files of log-normal sizes that sum to about `total`; on disk with sub-agents in files of their own.

    Sizes spread as in logs from the wild: the median near a quarter of the mean, some of many times the mean.
    """
    rng = random.Random(seed)
    weights = [rng.lognormvariate(0.0, 1.6) for _ in range(sessions)]
    scale = total / math.fsum(weights)
    # One pool for all sessions: making texts costs more than a small session.
    texts = Texts(rng, long_bytes=200_000)
    truths: list[Truth] = []
    for number, weight in enumerate(weights):
        project = root / f"-home-dev-work-service-{number % 12}"
        project.mkdir(parents=True, exist_ok=True)
        companion = partial(_open_companion, project) if dialect == "session" else None
        session = ClaudeSession(dialect, seed * 1_000_003 + number, texts=texts, companion=companion)
        with (project / f"{session.session_id.decode()}.jsonl").open("wb", buffering=1 << 20) as out:
            truths.append(session.write(out.write, max(3_000, int(weight * scale))))
    return truths


def _open_companion(project: Path, session: str, agent: str, meta: bytes) -> Write:
    """`<session>/subagents/agent-<id>.jsonl` and its `.meta.json`, as Claude Code 2.1 lays them out."""
    place = project / session / "subagents"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"agent-{agent}.meta.json").write_bytes(meta)
    path = place / f"agent-{agent}.jsonl"

    def append(record: bytes) -> None:
        # Opened for each record: a long session has hundreds of sub-agents, more than a process may hold open.
        with path.open("ab") as out:
            out.write(record)

    return append


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--dialect", choices=("stream", "session"), default="stream", help="what -p prints, or the file on disk"
    )
    parser.add_argument("--size", type=parse_size, default="10MB", help="size of the one session, e.g. 10MB, 1GB")
    parser.add_argument("--sessions", type=int, default=0, help="write a folder of this many sessions instead")
    parser.add_argument("--total", type=parse_size, default="100MB", help="size of the folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", type=parse_size, default="400KB", help="size of the longest output, 0 for none")
    parser.add_argument("--no-thinking", action="store_true")
    parser.add_argument("--no-subagents", action="store_true")
    parser.add_argument("--truth", type=Path, help="write the counts of what was written, as JSON")
    parser.add_argument("-o", "--output", type=Path, help="file or folder; standard output without it")
    arguments = parser.parse_args()
    dialect: Dialect = arguments.dialect
    truth: object
    if arguments.sessions:
        if arguments.output is None:
            parser.error("--sessions needs --output FOLDER")
        truths = write_folder(arguments.output, arguments.sessions, arguments.total, dialect, arguments.seed)
        truth = [vars(one) for one in truths]
    else:
        options: dict[str, bool | int] = {
            "thinking": not arguments.no_thinking,
            "subagents": not arguments.no_subagents,
            "long_bytes": arguments.long,
        }
        if arguments.output is None:
            try:
                truth = vars(write_session(sys.stdout.buffer, arguments.size, dialect, arguments.seed, **options))
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                # `| head` has read enough. Its end is closed already, so Python must not flush again at exit.
                sys.stderr.close()
                return 0
        else:
            with arguments.output.open("wb", buffering=1 << 20) as out:
                truth = vars(write_session(out, arguments.size, dialect, arguments.seed, **options))
    if arguments.truth is not None:
        arguments.truth.write_text(json.dumps(truth, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

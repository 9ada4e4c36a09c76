"""Statistics of every session under a folder, on all cores, through our public API; nothing written."""

import sys
from pathlib import Path

import msgspec

import agentv_stream


def main(root: str) -> None:
    paths = sorted(Path(root).rglob("*.jsonl"))
    summary = agentv_stream.summarize_many(paths)
    sys.stdout.buffer.write(msgspec.json.encode(summary) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])

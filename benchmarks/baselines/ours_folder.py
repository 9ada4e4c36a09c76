"""Statistics of every session under a folder, on all cores, through our public API; nothing written."""

import sys

import msgspec

import agentv_stream


def main(root: str) -> None:
    outcome = agentv_stream.summarize_groups([root], by="day")
    days = {day: figures.as_json() for day, figures in sorted(outcome.summary.groups.items())}
    sys.stdout.buffer.write(msgspec.json.encode(days) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])

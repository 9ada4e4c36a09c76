"""Statistics of one file through our public API, and nothing written."""

import sys

import msgspec

import agentv_stream


def main(path: str) -> None:
    result = agentv_stream.summarize(path)
    sys.stdout.buffer.write(msgspec.json.encode(result.tool_use_summary) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])

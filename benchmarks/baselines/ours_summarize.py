"""Statistics of one file through our public API, and nothing written."""

import sys

import agentv_stream


def main(path: str) -> None:
    result = agentv_stream.summarize(path)
    sys.stdout.buffer.writelines(result.json_pieces())


if __name__ == "__main__":
    main(sys.argv[1])

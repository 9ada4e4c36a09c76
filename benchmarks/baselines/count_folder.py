"""The loop that everybody writes first, over a folder: json.loads of every line, calls by name, tokens by day."""

import json
import sys
from collections import Counter
from pathlib import Path


def main(root: str) -> None:
    calls: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for path in sorted(Path(root).rglob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if record.get("type") != "assistant":
                    continue
                usage = record["message"].get("usage") or {}
                tokens[record["timestamp"][:10]] += usage.get("output_tokens") or 0
                for block in record["message"]["content"]:
                    if block.get("type") == "tool_use":
                        calls[block["name"]] += 1
    print(json.dumps({"calls": sum(calls.values()), "by_tool": calls, "tokens": tokens}))


if __name__ == "__main__":
    main(sys.argv[1])

"""The loop that everybody writes first: read a line, json.loads, count tool_use blocks by name.

This is the yardstick of the first budget. It does the least that a statistics script can do, and nothing is held back:
no validation, no pairing, no sub-agent split, no tokens.
"""

import json
import sys
from collections import Counter


def main(path: str) -> None:
    counts: Counter[str] = Counter()
    with open(path, encoding="utf-8") as lines:  # noqa: PTH123 (the plain form is the point)
        for line in lines:
            record = json.loads(line)
            if record.get("type") == "assistant":
                for block in record["message"]["content"]:
                    if block.get("type") == "tool_use":
                        counts[block["name"]] += 1
    print(json.dumps({"total": sum(counts.values()), "by_tool": counts}))


if __name__ == "__main__":
    main(sys.argv[1])

"""Prints a recording as a live agent would: line by line, spread over some seconds, with the times of now.

python examples/replay.py examples/claude.jsonl --seconds 5 | agentv-stream consume
"""

import argparse
import re
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

TIMESTAMP = re.compile(rb'(?<="timestamp":")[^"]*')

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("recording", type=Path)
parser.add_argument("--seconds", type=float, default=3.0, help="how long the whole recording takes")
arguments = parser.parse_args()

for name in ("SIGINT", "SIGPIPE"):  # they end it silently, as any program in a pipe
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
lines = arguments.recording.read_bytes().splitlines(keepends=True)
for line in lines:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    sys.stdout.buffer.write(TIMESTAMP.sub(now.encode(), line))
    sys.stdout.buffer.flush()
    time.sleep(arguments.seconds / len(lines))

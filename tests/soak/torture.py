"""The tests of following in their long form: `make soak`, or `python tests/soak/torture.py [--minutes 30] [--seed N]`.

Each turn takes new seeds: three followers in this process that crash at random, or find the disk full, or read little
in a round, while three writers each mistreat their file 600 times, and one that is killed 30 times; then all recordings
of AGENTV_STREAM_CORPUS, if it is set, grow while a follower stops and crashes. A turn that fails is told with its seed,
which repeats it (`--seed N --minutes 0`), and ends the run.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

TESTS = [Path(__file__).parents[1] / "pipeline" / name for name in ("test_torture.py", "test_followed_growing.py")]
SEEDS = 10  # between two turns; a turn uses fewer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    begun = time.monotonic()
    seed, turns, failed = options.seed, 0, False
    while not failed and (not turns or time.monotonic() - begun < options.minutes * 60):
        at = time.monotonic()
        failed = not turn(seed)
        turns += 1
        tell(f"seed {seed}: {'FAILED' if failed else 'fine'}, {time.monotonic() - at:.0f} s")
        seed += SEEDS
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    tell(f"{turns} turns in {(time.monotonic() - begun) / 60:.1f} min, largest process {peak:.0f} MB")
    return int(failed)


def turn(seed: int) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *map(str, TESTS)]
    more = {"AGENTV_STREAM_SEED": str(seed), "AGENTV_STREAM_SOAK": "1"}
    return subprocess.run(command, env=os.environ | more, check=False).returncode == 0


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

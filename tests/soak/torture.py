"""The torture test without end: `python tests/soak/torture.py [--minutes 30] [--seed N]`; what `make soak` runs.

Each round takes a new seed, prints it, and stops at the first that fails.
"""

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    ends = time.monotonic() + options.minutes * 60
    seed = options.seed
    test = Path(__file__).parents[1] / "pipeline" / "test_torture.py"
    while time.monotonic() < ends:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            str(test),
            "--override-ini=addopts=--import-mode=importlib",
        ]
        done = subprocess.run(command, env={"AGENTV_STREAM_SEED": str(seed), "PATH": "/usr/bin:/bin"}, check=False)
        sys.stdout.write(f"seed {seed}: {'fine' if done.returncode == 0 else 'FAILED'}\n")
        sys.stdout.flush()
        if done.returncode:
            return 1
        seed += 100
    return 0


if __name__ == "__main__":
    sys.exit(main())

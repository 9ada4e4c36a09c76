"""24 hours of following on a clock that is set: `make soak-day`, or `PYTHONPATH=tests python tests/soak/day.py`.

200 logs grow and rotate, the disk is full twice, 20 restarts, a third of them crashes; each batch of the data set is a
process, as under `tail --parquet`. Prints a line for each hour and the figures at the end; exits with 1 if something
is wrong (`support/simulated_day.py` says what must hold).
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from agentv_stream.cli.memory import tune_memory
from agentv_stream.outputs.durable import SYNC
from support.simulated_day import SimulatedDay


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    tell(f"seed {options.seed}")
    SYNC.set(False)
    tune_memory()
    begun, used = time.monotonic(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        day = SimulatedDay(Path(folder), options.logs, options.hours, options.restarts, options.seed, tell=tell)
        day.run()
        took = f"{time.monotonic() - begun:.0f} s, {time.process_time() - used:.0f} s of processor time"
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        wrong = day.wrong()
    rotations = sum(len(log.rotated) for log in day.logs)
    tell(
        f"{options.hours} h, {options.logs} logs, {rotations} rotations, {len(day.restarts)} restarts "
        f"({sum(day.restarts.values())} crashes), {day.batches} batches of {day.sessions} sessions; {took}"
    )
    tell(
        f"memory {day.memory[-1] // 1024} MB, at most {day.growth_kb} KB more than when it was warm; largest batch "
        f"{largest} MB; {day.handles[-1]} handles; counters right in {day.exact - day.unequal} of {day.exact} stretches"
    )
    for line in wrong:
        tell(f"WRONG: {line}")
    return int(bool(wrong))


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

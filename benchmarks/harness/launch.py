"""Starts one command and writes what it used: `python -I -S launch.py USAGE_FILE LOG_FILE COMMAND...`.

A process of its own because the kernel carries the peak memory of the starter over into what it starts: measured from
run.py, `wc` seems to need 34 MB. This file imports next to nothing and stays at 9 MB, the least that can be seen.
"""

import os
import sys
import time


def main() -> None:
    usage_file, log_file, *command = sys.argv[1:]
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log_file, write, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    started = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - started
    code = os.waitstatus_to_exitcode(status)
    with open(usage_file, "w") as out:  # noqa: PTH123 (pathlib alone would add memory)
        out.write(f"{wall} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss} {code}")


if __name__ == "__main__":
    main()

"""Reads one large log on several cores, with the same outcome: ranges are decoded in parallel, the rest is done in
turn.

Splitting lines, decoding and normalising are half of the work and depend little on earlier records; pairing, counting
and joining messages depend on all of it, and rows on where the file ends. So each of n processes takes every n-th range
(`relay_runner`). This module divides the log, starts the processes, and waits for the last one's report.
"""

import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, BinaryIO

from agentv_stages.session.parts import RECORDS
from agentv_stream.bulk import object_store
from agentv_stream.bulk.leaving import undisturbed
from agentv_stream.bulk.relay_runner import Legs, run
from agentv_stream.bulk.unit import Report, Task, Unit, Work
from agentv_stream.bulk.worker import read_report
from agentv_stream.errors import AgentvStreamError
from agentv_stream.sources.files import CHUNK_BYTES, compression, unpacked
from agentv_stream.summary import SessionReader

RANGE_BYTES = 16 * 1024 * 1024
LEAST_BYTES = 4 * RANGE_BYTES  # minimum size of a log that is worth it
LONGEST_SEARCH = 64 * 1024 * 1024  # for a line end after a range


class NotInRanges(Exception):
    """A log that a single process reads better: lines too long, or a dialect whose decoder keeps too much state."""


def fits(work: Work, unit: Unit) -> bool:
    """Whether a unit can be read this way, judging by its name and size."""
    if unit.session is not None or object_store.is_url(unit.place):
        return False
    if work.dataset is not None or work.trajectories is not None or work.pages is not None or work.export is not None:
        return False  # rows and steps are held in files that processes do not share
    if work.records or work.redaction is not None or RECORDS:
        return False  # they may remember earlier records
    return unit.size >= LEAST_BYTES


def relay(
    work: Work, task: Task, context: BaseContext, processes: int, range_bytes: int = RANGE_BYTES
) -> Report | None:
    """The report of a task of one unit; None if one process has to do it, because of the log or of a failure."""
    unit = task.units[0]
    try:
        with object_store.open_input(unit.place) as file:
            reader = SessionReader(unpacked(file, unit.place), unit.place, work.provider)
            if not reader.dialect.ranges or not reader.held or compression(Path(unit.place)):
                return None
            starts = _starts(file, unit.size, range_bytes)
    except (AgentvStreamError, OSError, NotInRanges):
        return None  # whatever it is, the ordinary way reports it
    links = [context.Pipe(duplex=False) for _ in range(processes)]
    reports, report_to = context.Pipe(duplex=False)
    ends = [reports, report_to, *(end for link in links for end in link)]
    runners: list[BaseProcess] = []
    try:
        with tempfile.TemporaryDirectory() as between:
            try:
                for i in range(processes):
                    before, behind = links[i][0], links[(i + 1) % processes][1]
                    ranges = range(i, len(starts) - 1, processes)
                    report = report_to if len(starts) - 2 in ranges else None
                    legs = Legs(work, task, starts, ranges, before, behind, Path(between), report)
                    others = [end for end in ends if end not in (before, behind, report)]
                    any_context: Any = context
                    runner: BaseProcess = any_context.Process(target=run, args=(legs, others), daemon=True)
                    with undisturbed():
                        runner.start()
                        runners.append(runner)
                for end in ends[1:]:
                    end.close()  # so that the end of a process closes its pipes
                return _report_of(reports, runners)
            finally:
                for runner in runners:
                    runner.terminate()
                    runner.join()
    finally:
        for end in ends:
            end.close()


def _report_of(reports: Connection, runners: Sequence[BaseProcess]) -> Report | None:
    """The report of the last process; None if a process ended without completing its part."""
    waiting = list(runners)
    while True:
        wait([reports, *(runner.sentinel for runner in waiting)])
        codes = [runner.exitcode for runner in waiting]  # read once, before the pipe: one may end in between
        if reports.poll():
            try:
                return read_report(reports.recv_bytes())
            except (EOFError, OSError):
                return None  # killed while it sent the report
        if any(codes):
            return None
        waiting = [runner for runner, code in zip(waiting, codes, strict=True) if code is None]
        if not waiting:
            return None


def _starts(file: BinaryIO, size: int, step: int) -> list[int]:
    """The places where the ranges begin, each after a line end; finally the size, as the end of the last one.

    Raises: NotInRanges.
    """
    starts = [0]
    for wanted in range(step, size, step):
        if wanted <= starts[-1]:
            continue
        start = _line_start(file, wanted, size)
        if start < size:
            starts.append(start)
    return [*starts, size]


def _line_start(file: BinaryIO, wanted: int, size: int) -> int:
    """The first offset from `wanted` on where a line begins; the size if there is none."""
    at = wanted - 1
    file.seek(at)
    while at < size:
        data = file.read(CHUNK_BYTES)
        if not data:
            break
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(data)
        if at - wanted > LONGEST_SEARCH:
            raise NotInRanges
    return size

"""Mutated logs of every dialect, for hours: `make mutate`, or
`PYTHONPATH=tests python tests/soak/mutate.py [--minutes 10] [--seed N] [--dialect NAME]`.

Each turn takes new made-up sessions of every dialect, the fixtures of dialects that nothing makes up (and recordings,
where AGENTV_STREAM_CORPUS names some), changes their records and the values in them, and asks what must hold of any
log, and what must hold after this change. A log that breaks a law is told with the seed of its turn, which repeats it
(`--seed N --minutes 0`), and kept in `--keep`.
"""

import argparse
import itertools
import os
import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random

from support.fixture_logs import unwritten
from support.log_laws import (
    Broken,
    Told,
    check_any,
    check_calls,
    check_kept,
    check_not_more,
    check_outputs,
    check_same,
    must,
    rows_of,
    told,
)
from support.mutating import (
    Log,
    Records,
    bent,
    changed_values,
    drawn,
    marked,
    no_time,
    of_another,
    one_id,
    one_time,
    read_back,
    record_of,
    value_of,
    written,
)
from support.recorded_logs import logs
from support.scenarios.dialects import WRITERS

LARGEST = 60_000  # bytes of a recording
REPLACING = ("gemini-chat", "gemini-chat-json", "vscode-chat")  # what comes later replaces what has its id
TIMED = ("pi-stream", "oh-my-pi-stream", "pi-subagent")  # no two messages of a role share a millisecond
PATCHES = ("vscode-chat-jsonl",)  # a record changes what others said: one that is gone costs more than itself
EACH = 25  # the outputs of one in so many mutations are written to files and compared


class Case:
    """One log, what is told of it, and another session of the same agent."""

    def __init__(self, log: Log, other: Log | None, chance: Random, marks: bool) -> None:
        self.log, self.other, self.chance, self.marks = log, other, chance, marks
        self.mutated = log
        self.base = told(log)

    def with_records(self, records: Records) -> Log:
        return self.log._replace(records=records)

    def any(self, log: Log) -> Told:
        self.mutated = log
        return check_any(log, self.chance)

    def span(self) -> tuple[int, int]:
        count = len(self.log.records)
        first = self.chance.randrange(count)
        return first, min(count, first + self.chance.randint(1, 8))

    def dropped(self) -> None:
        a, b = self.span()
        records = [*self.log.records[:a], *self.log.records[b:]]
        after = self.any(self.with_records(records))
        if self.marks and records:
            check_kept(self.log, self.base, records, after)
            check_not_more(self.base, after)

    def moved(self) -> None:
        records = list(self.log.records)
        a, b = self.span()
        part = records[a:b]
        del records[a:b]
        to = self.chance.randint(0, len(records))
        records[to:to] = part
        after = self.any(self.with_records(records))
        if self.marks:
            check_kept(self.log, self.base, records, after, in_order=False)

    def cut(self) -> None:
        data = self.log.data
        records = data[: self.chance.randrange(1, len(data))].split(b"\n")
        after = self.any(self.with_records(records))
        if self.marks and self.log.lines:
            check_kept(self.log, self.base, records, after)

    def torn(self) -> None:
        records = list(self.log.records)
        at = self.chance.randrange(len(records))
        records[at] = records[at][: self.chance.randrange(len(records[at]) + 1)]
        if self.chance.random() < 0.5 and at + 1 < len(records):  # the next one begins on the same line
            records[at : at + 2] = [records[at] + records[at + 1]]
        self.any(self.with_records(records))

    def repeated(self) -> None:
        """Records that nothing but a copy can be equal to change no total, wherever they come again."""
        records = list(self.log.records)
        a, b = self.span()
        run = [record for record in records[a:b] if self.log.named(record)]
        for _ in range(self.chance.choice((1, 1, 3))):
            to = self.chance.choice((b, len(records), self.chance.randint(b, len(records))))
            while to < len(records) and not all(map(self.log.named, records[max(0, to - 1) : to])):
                to += 1  # what is told in pieces goes on behind what came again
            records[to:to] = run
        after = self.any(self.with_records(records))
        if run:
            check_same(self.base, after)

    def twice(self) -> None:
        """The whole log is appended to itself."""
        after = self.any(self.with_records(self.log.records * 2))
        if all(map(self.log.named, self.log.records)):
            check_same(self.base, after)
        elif self.marks:
            check_kept(self.log, self.base, self.log.records, after)

    def joined(self) -> None:
        """In an array, or one behind the other on a line."""
        records = list(self.log.records)
        a, b = self.span()
        if not all(record[:1] == b"{" for record in records[a:b]):
            return
        array = self.chance.random() < 0.5
        records[a:b] = [b"[" + b",".join(records[a:b]) + b"]" if array else b"".join(records[a:b])]
        after = self.any(self.with_records(records))
        check_same(self.base, after)

    def spliced(self) -> None:
        """Two sessions in one log, one behind the other or mixed, when records may look as if copied into a fork."""
        if self.other is None:
            return
        records, more = list(self.log.records), list(self.other.records)
        base = told(self.other)
        apart = self.chance.random() < 0.5 or {c.call_id for c in self.base.calls} & {c.call_id for c in base.calls}
        if apart:
            records += more
        else:
            at = sorted(self.chance.randint(0, len(records)) for _ in more)
            for n, (place, record) in enumerate(zip(at, more, strict=True)):
                records.insert(place + n, record)
        after = self.any(self.with_records(records))
        if self.marks and apart:
            check_kept(self.log, self.base, records, after)
            check_kept(self.other, base, records, after)

    def without(self) -> None:
        """Without times, ids, or both, or all of them equal."""
        replaces = self.log.dialect.name in REPLACING
        ids = one_time if replaces else one_id({call.call_id for call in self.base.calls})
        changes = self.chance.choice(((one_time,), (no_time,), (ids,), (ids, one_time), (ids, no_time)))
        records = self.log.records
        for change in changes:
            records = changed_values(records, change)
        after = self.any(self.with_records(records))
        if self.marks and not (one_time in changes and self.log.dialect.name in TIMED):
            check_calls(self.base.calls, after)
            whole = {mark for mark, rows in rows_of(self.base).items() if len(rows) == 1} & self.base.marks.keys()
            gone = whole - after.marks.keys()  # pieces of one moment may be equal
            must(not gone, "texts lost without", [one.__name__ for one in changes], sorted(gone))
            if ids not in changes:
                check_not_more(self.base, after)

    def bent(self) -> None:
        records = list(self.log.records)
        for _ in range(self.chance.choice((1, 1, 3, 9))):
            at = self.chance.randrange(len(records))
            try:
                records[at] = record_of(bent(value_of(records[at]), self.chance))
            except ValueError:
                records[at] = records[at].replace(b'"', b"\0", 1)
        self.any(self.with_records(records))


LINES = (Case.dropped, Case.moved, Case.cut, Case.torn, Case.repeated, Case.twice, Case.joined, Case.spliced)
ANY = (Case.without, Case.bent, Case.cut)


def made(name: str, number: int) -> list[tuple[Log, Log | None, bool]]:
    """Sessions of a dialect, each with another one, and whether their texts are marked."""
    writer = WRITERS[name]
    out: list[tuple[Log, Log | None, bool]] = []
    for n, scenario in enumerate(drawn(writer, number, 6)):
        marks, even = n % 3 != 2, n % 3 == 1
        log = written(writer, marked(scenario, even=even) if marks else scenario)
        other = written(writer, marked(scenario, 1000, even)) if marks else None
        if other is not None and other.lines:
            other = other._replace(records=changed_values(other.records, of_another))
        if log is not None:
            out.append((log, other, marks and name not in PATCHES))
    return out


def recorded(number: int) -> list[tuple[Log, Log | None, bool]]:
    found = list(logs(LARGEST)) if os.environ.get("AGENTV_STREAM_CORPUS") else []
    some = Random(number).sample(found, min(len(found), 12))
    return [(read_back(log.name, log.data), None, False) for log in some]


class Run:
    def __init__(self, keep: Path) -> None:
        self.keep, self.done, self.failed, self.kept = keep, Counter[str](), Counter[str](), 0

    def one(self, log: Log, other: Log | None, marks: bool, number: int) -> None:
        for n, mutation in enumerate((*LINES, *ANY) if log.lines else ANY):
            chance = Random(f"{number} {log.name} {n}")
            case = Case(log, other, chance, marks)
            try:
                mutation(case)
                self.done[mutation.__name__] += 1
                if sum(self.done.values()) % EACH == 0:
                    check_outputs(case.mutated)
            except Broken as error:
                self._tell(mutation.__name__, log, case.mutated, number, str(error))
            except Exception:
                self._tell(mutation.__name__, log, case.mutated, number, traceback.format_exc())

    def _tell(self, what: str, log: Log, mutated: Log, number: int, error: str) -> None:
        self.failed[f"{log.name} {what}"] += 1
        self.kept += 1
        place = self.keep / f"{log.name.replace('/', '_')}-{what}-{number}-{self.kept}.jsonl"
        self.keep.mkdir(parents=True, exist_ok=True)
        place.write_bytes(mutated.data)
        tell(f"seed {number}: {log.name}, {what}: {error} ({place.name})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--dialect", choices=sorted(WRITERS))
    parser.add_argument("--keep", type=Path, default=Path(".cache/mutate"))
    options = parser.parse_args()
    begun, run, fixtures = time.monotonic(), Run(options.keep), [(log, None, False) for log in unwritten(LARGEST)]
    for number in itertools.count(options.seed):
        for name in [options.dialect] if options.dialect else WRITERS:
            for log, other, marks in made(name, number):
                run.one(log, other, marks, number)
        for log, other, marks in [] if options.dialect else [*fixtures, *recorded(number)]:
            run.one(log, other, marks, number)
        if time.monotonic() - begun >= options.minutes * 60:
            break
    tell(
        f"{sum(run.done.values())} mutations, {sum(run.failed.values())} broke a law: {dict(run.failed.most_common())}"
    )
    return int(bool(run.failed))


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

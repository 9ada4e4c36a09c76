"""Every recording, cut, chunked and damaged by chance: no crash, faults counted, everything else intact.

What is done to a file follows from its name and ROUND alone. AGENTV_STREAM_ROUNDS sets the number of rounds over files
of any size (a long run by hand); without it there is one, over files that are quickly read.
"""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from agentv_stream.documentation.provider_survey import recordings
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.summary import SessionReader
from support.decoding import corpus
from support.recorded_logs import LARGEST, ROUNDS, Log, chances, cuts, logs, opened, run


@pytest.fixture(scope="module")
def recorded() -> list[Log]:
    found = list(logs(10**9 if ROUNDS else LARGEST))
    assert len(found) > 400
    return found


def test_any_chunking_gives_the_same(recorded: list[Log]) -> None:
    for log in recorded:
        whole = run(log, [log.data])
        for dice in chances(log, "chunks"):
            parts = run(log, cuts(log.data, dice, 40))
            assert parts.events == whole.events, log.name
            assert parts.result == whole.result, log.name
            assert parts.faults == whole.faults, log.name


def test_a_prefix_gives_a_prefix(recorded: list[Log]) -> None:
    for log in recorded:
        whole = run(log, [log.data])
        for dice in chances(log, "prefix"):
            end = dice.randrange(len(log.data))
            begun = run(log, [log.data[:end]])
            assert begun.pushed == whole.pushed[: len(begun.pushed)], (log.name, end)
            cut_off = log.data[:end].rpartition(b"\n")[2].strip() or not is_lines(log.data)
            assert bool(begun.faults) <= bool(whole.faults or cut_off), (log.name, end, begun.faults[-1:])


def test_a_prefix_is_read_or_refused(recorded: list[Log]) -> None:
    for log in recorded:
        for dice in chances(log, "detect"):
            end = dice.randrange(len(log.data))
            try:
                reader = SessionReader([log.data[:end]], log.name)
            except (NotALog, EmptyInput):
                continue
            for _ in reader.batches(companions=False):
                pass
            assert reader.result().status


def is_object(line: bytes) -> bool:
    return line.strip()[:1] == b"{" and line.strip()[-1:] == b"}"


def is_lines(data: bytes) -> bool:
    """Whether each record has its line; else it is one document over many."""
    return is_object(data.lstrip().partition(b"\n")[0])


Damage = Callable[[list[bytes], int, Random], list[bytes]]


def removed(lines: list[bytes], at: int, dice: Random) -> list[bytes]:
    return lines[:at] + lines[at + 1 :]


def duplicated(lines: list[bytes], at: int, dice: Random) -> list[bytes]:
    return [*lines[: at + 1], lines[at], *lines[at + 1 :]]


def torn(lines: list[bytes], at: int, dice: Random) -> list[bytes]:
    line = lines[at].rstrip()
    half = line[: dice.randint(1, max(len(line) - 1, 1))].rstrip(b"}")  # Pi's repeats are judged by their last byte
    return [*lines[:at], half, *lines[at + 1 :]]


def welded(lines: list[bytes], at: int, dice: Random) -> list[bytes]:
    return [*lines[:at], b"".join(line.rstrip() for line in lines[at : at + 2]), *lines[at + 2 :]]


def bad_bytes(lines: list[bytes], at: int, dice: Random) -> list[bytes]:
    line = lines[at]
    place = dice.randrange(len(line) + 1)
    return [
        *lines[:at],
        line[:place] + dice.choice((b"\0\0\0", b"\xff\xfe", b"\xf0\x9f")) + line[place:],
        *lines[at + 1 :],
    ]


def noise(lines: list[bytes], at: int, dice: Random) -> list[bytes]:
    return [*lines[:at], b"npm warn deprecated x@1.0", *lines[at:]]


def damaged(log: Log, damage: Damage, dice: Random) -> tuple[bytes, bytes] | None:
    """The log with one record damaged, and that record; None for a log of one record."""
    lines = log.data.split(b"\n")
    records = [i for i, line in enumerate(lines) if is_object(line)]
    if len(records) < 3 or not is_lines(log.data):
        return None
    at = dice.choice(records[:-1])
    return b"\n".join(damage(lines, at, dice)), b"\n".join(lines[at : at + 2])


@pytest.mark.parametrize("damage", [removed, duplicated, torn, welded, bad_bytes, noise], ids=lambda d: d.__name__)
def test_one_damaged_record_costs_no_other(recorded: list[Log], damage: Damage) -> None:
    for log in recorded:
        whole = run(log, [log.data])
        for dice in chances(log, damage.__name__):
            made = damaged(log, damage, dice)
            if made is None:
                continue
            data, hit = made
            found = run(log, [data])
            hurt = hit if loses(damage) else b""

            def untouched(call_id: str, log: Log = log, hurt: bytes = hurt) -> bool:
                return call_id.encode() in log.data and call_id.encode() not in hurt

            if not any(mark in hurt for mark in FOUNDATIONS):
                assert whole.calls(untouched) - found.calls() == Counter(), (log.name, hit[:300])
            if damage is duplicated:
                assert found.calls(untouched) - whole.calls() == Counter(), (log.name, hit[:300])
            if damage in (torn, noise):
                assert found.faults, (log.name, hit[:300])


FOUNDATIONS = (
    b'"name":"exec"',  # a script of Codex: what it did is told through it
    b'"agentInfo"',  # whose ACP it is, so what its tools are called
)
"""Records that others rest on."""


def loses(damage: Damage) -> bool:
    return damage in (removed, torn, bad_bytes)


def test_two_logs_in_one_input_are_noticed() -> None:
    """A log behind another one, as two runs that write to one file leave them: of other agents, of other dialects of
    the same one, of the same dialect."""
    root = corpus("clients")
    found: tuple[dict[str, Log], dict[str, Log]] = ({}, {})
    for logs_of, scenario in zip(found, ("s1", "s2"), strict=True):
        for path in (path for folder in sorted(root.glob(f"*/{scenario}")) for path in recordings(folder)):
            log = opened(path, root)
            if log is not None and path.suffix == ".jsonl":
                logs_of.setdefault(log.dialect.name, log)
    assert len(found[0]) > 14 and len(found[1]) > 14
    for one in found[0].values():
        for other in found[1].values():
            faults = run(one, [one.data + other.data]).faults
            assert "foreign-record" in {fault.reason for fault in faults}, (one.name, other.name)


def test_the_log_on_disk_of_the_same_run_is_noticed() -> None:
    """The stream of a run and what the run left on disk bear one session id."""
    seen: set[str] = set()
    for folder in sorted(corpus("clients").glob("*/s1")):
        logs = [log for path in recordings(folder) if (log := opened(path, corpus("clients"))) is not None]
        if len(logs) == 2 and all(is_lines(log.data) for log in logs):
            for one, other in (logs, logs[::-1]):
                faults = run(one, [one.data + other.data]).faults
                assert "foreign-record" in {fault.reason for fault in faults}, (one.name, other.name)
            seen |= {log.dialect.name for log in logs}
    assert len(seen) >= 10, seen

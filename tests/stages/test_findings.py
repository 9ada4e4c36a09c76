"""Findings: each kind is found in a session made for it, and not in one that only looks like it."""

from collections.abc import Callable

import pytest
from msgspec import Raw

from agentv_stages.findings import Finding, Findings
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    Notification,
    SessionInfo,
    Source,
    TokenUsage,
    ToolCall,
    ToolResult,
)

SUB = "sidechain:a1"


class Made:
    """A session, call by call."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []
        self.row = 0

    def source(self, stream: str) -> Source:
        self.row += 1
        return Source("log.jsonl", self.row, self.row * 100, 100, self.row * 1000, stream)

    def call(
        self,
        tool: str,
        target: str,
        kind: str = "read",
        outcome: str = "ok",
        output: str = "x",
        ms: int | None = None,
        stream: str = MAIN,
        edit: bool = False,
    ) -> None:
        number = f"c{self.row}"
        argument = Raw(f'{{"file_path":"{target}"}}'.encode())
        files = (target,) if kind in ("read", "write") else ()
        made = ToolCall(
            *(self.source(stream), "", f"m{self.row}", number, tool, argument),
            tool=tool, kind=kind, files=files, edit=edit,  # type: ignore[arg-type]  # the tests' own words
        )  # fmt: skip
        body = Raw(f'"{output}"'.encode())
        ended = ToolResult(self.source(stream), "", number, body, outcome, duration_ms=ms, call=made)  # type: ignore[arg-type]  # as above
        self.events += [made, ended]

    def usage(self, read: int, cached: int) -> None:
        self.events.append(TokenUsage(self.source(MAIN), "", f"k{self.row}", "call", "m", read, cached, 0, 0, 10))

    def compact(self) -> None:
        self.events.append(Notification(self.source(MAIN), "", "compact_boundary", "compacted"))

    def found(self) -> list[Finding]:
        findings = Findings()
        for event in self.events:
            findings.observe(Batch("log.jsonl", events=[event]))
        return findings.finish()


def failing(made: Made) -> None:
    for _ in range(4):
        made.call("Bash", "make", "execute", "error")


def failing_after_changes(made: Made) -> None:
    for number in range(4):
        made.call("Bash", "make", "execute", "error")
        made.call("Edit", f"f{number}", "write")


def circling(made: Made) -> None:
    for number in range(4):
        made.call("Grep", "a", "search", output=f"g{number}")
        made.call("Read", "b", output=f"r{number}")


def reading_again(made: Made) -> None:
    for number in range(3):
        made.call("Read", "big.py", output="y" * 3000)
        made.call("Edit", f"other{number}.py", "write")


def reading_what_changed(made: Made) -> None:
    for number in range(3):
        made.call("Read", "big.py", output=f"{number}" * 3000)


def reading_after_a_compaction(made: Made) -> None:
    made.call("Read", "big.py", output="y" * 3000)
    made.compact()
    made.call("Read", "big.py", output="y" * 3000)


def reading_in_another_session(made: Made) -> None:
    """Runs of an agent in a loop, in one log: each begins with an empty history."""
    for number in range(3):
        made.events.append(SessionInfo(made.source(MAIN), "", session_id=f"s{number}", another=number > 0))
        made.usage(20_000, 0)
        made.call("Read", "big.py", output="y" * 3000)
        made.usage(30_000, 20_000)


def reading_in_a_resumed_session(made: Made) -> None:
    for number in range(2):
        made.events.append(SessionInfo(made.source(MAIN), "", session_id="s", another=number > 0))
        made.call("Read", "big.py", output="y" * 3000)


def idle(made: Made) -> None:
    for number in range(25):
        made.call("Bash", f"sleep {number}", "execute", output="")


def missing_the_cache(made: Made) -> None:
    for read, cached in ((20_000, 0), (21_000, 20_000), (22_000, 1_000), (23_000, 22_000)):
        made.usage(read, cached)


def compacted_without_a_note(made: Made) -> None:
    """OpenCode's stream does not say it: the call that sums up, and the history after it, were in no cache."""
    for read, cached in ((124_000, 123_000), (34_000, 0), (12_000, 0), (13_000, 12_000)):
        made.usage(read, cached)


def without_a_cache(made: Made) -> None:
    for read in (20_000, 21_000, 22_000):
        made.usage(read, 0)


def full(made: Made) -> None:
    made.events.append(SessionInfo(made.source(MAIN), "", context_window=100_000))
    made.usage(85_000, 80_000)


def slow(made: Made) -> None:
    made.call("Bash", "make", "execute", ms=61_000)
    made.call("AskUserQuestion", "which", "ask", ms=600_000)
    made.call("Read", "a.py", ms=600_000)  # somebody had to allow it


def edited_late(made: Made) -> None:
    made.call("Edit", "a.py", "write", ms=600_000, edit=True)


def denied(made: Made) -> None:
    made.call("Bash", "rm", "execute", "denied")
    made.call("Bash", "rm x", "execute", "denied")


def looking_subagent(made: Made) -> None:
    made.call("Read", "a", stream=SUB)
    made.call("Read", "b", stream=SUB)


def unknown_subagent(made: Made) -> None:
    made.call("mcp__x__y", "a", "other", stream=SUB)


def writing_subagent(made: Made) -> None:
    made.call("Edit", "a", "write", stream=SUB)


@pytest.mark.parametrize(
    ("make", "kinds", "facts"),
    [
        (failing, ["repeated-failures"], (4, 3, None, None)),
        (failing_after_changes, [], None),
        (circling, ["cycles"], (8, 6, None, None)),
        (reading_again, ["re-reads"], (2, 2, None, 1500)),
        (reading_what_changed, [], None),
        (reading_after_a_compaction, ["compaction"], (1, None, None, None)),
        (reading_in_another_session, [], None),
        (reading_in_a_resumed_session, ["re-reads"], (1, 1, None, 750)),
        (idle, ["no-progress"], (24, 24, None, None)),
        (missing_the_cache, ["cache-misses"], (1, None, None, 20_000)),
        (compacted_without_a_note, [], None),
        (without_a_cache, [], None),
        (full, ["context"], (1, None, None, None)),
        (slow, ["slow-calls"], (1, None, 61_000, None)),
        (edited_late, [], None),
        (denied, ["denied"], (2, None, None, None)),
        (looking_subagent, ["unchanging-subagent"], (2, None, None, None)),
        (unknown_subagent, [], None),
        (writing_subagent, [], None),
    ],
)
def test_each_kind(
    make: Callable[[Made], None], kinds: list[str], facts: tuple[int, int | None, int | None, int | None] | None
) -> None:
    made = Made()
    make(made)
    found = made.found()
    assert [finding.kind for finding in found] == kinds
    for finding in found:
        assert (finding.count, finding.calls, finding.ms, finding.tokens) == facts
        assert finding.cites
        assert all(cite.at.file == "log.jsonl" for cite in finding.cites)
        assert finding.basis == ("estimated" if finding.kind == "re-reads" else "measured")


def test_findings_are_bounded() -> None:
    made = Made()
    for number in range(1_100):
        made.call(f"Tool{number}", "x", "execute", "denied", output=f"{number}")
    findings = Findings()
    findings.observe(Batch("log.jsonl", events=made.events))
    assert (len(findings.finish()), findings.more) == (1_000, 100)

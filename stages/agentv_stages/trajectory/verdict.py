"""The vocabulary of verdicts: where a rule stands, the evidence, how it ended. Plain, JSON-encodable Structs."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import AnyEvent, ToolCall, ToolResult

Standing: TypeAlias = Literal["satisfied", "violated", "open"]
Verdict: TypeAlias = Literal["pass", "fail", "skipped"]

PASS = 0.8
"""The lowest score that passes, where the spec sets no threshold."""

MAX_ASSERTIONS = 200
"""Assertions that one evaluator lists, at most; the score counts all of them, listed or not."""

MAX_EVIDENCE = 10
"""Events that one assertion names, at most."""

MOST_TEXT = 400

EPSILON = 1e-9
"""Scores are sums of fractions; those that differ by less are equal."""

NO_TRACE = "No trace available for evaluation"
"""Why an evaluator fails that has seen no event at all. Source: AgentV's graders."""


class Evidence(Struct, frozen=True, omit_defaults=True):
    """An event that proves something: the place of its record, and a text. `offset` and `length` are bytes; `text` is
    the subject of a call (its command, its file), at most 400 characters of it."""

    file: str
    row: int
    offset: int
    length: int
    stream: str
    event: str
    time_ms: int | None = None
    call_id: str | None = None
    tool: str | None = None
    text: str | None = None


class Assertion(Struct, frozen=True, omit_defaults=True):
    """One thing that was checked. The shape is AgentV's, but `evidence` holds the events in place of a text."""

    text: str
    passed: bool
    evidence: tuple[Evidence, ...] = ()


class Bounds(NamedTuple):
    """The lowest and the highest score that is still possible; equal once everything is known."""

    low: float
    high: float


class Decision(Struct, frozen=True):
    """When a verdict became final: the event that decided it; `at` is None if only the end of the input did.

    `events` counts the events seen up to then, `calls` the tool calls.
    """

    standing: Standing
    events: int
    calls: int
    at: Evidence | None = None


class Result(Struct, frozen=True):
    """How one evaluator ended. `score` is 0 to 1; a skipped one has None, the verdict `skipped` and the reason.

    `decided` says when the verdict became final. `warnings` name data that was missing.
    """

    name: str
    type: str
    score: float | None
    verdict: Verdict
    weight: float
    required: bool
    threshold: float
    assertions: tuple[Assertion, ...] = ()
    assertions_truncated: bool = False
    decided: Decision | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()
    scores: tuple["Result", ...] = ()


class Proof(Struct):
    """A bounded list of assertions, with a count of the assertions that did not fit."""

    listed: list[Assertion] = []
    dropped: int = 0

    def add(self, text: str, passed: bool, evidence: Sequence[Evidence] = ()) -> None:
        """Lists an assertion; if the list is full, a failed one replaces a passed one."""
        assertion = Assertion(text[:2000], passed, tuple(evidence[:MAX_EVIDENCE]))
        if len(self.listed) < MAX_ASSERTIONS:
            self.listed.append(assertion)
            return
        self.dropped += 1
        if not passed:
            for i in range(len(self.listed) - 1, -1, -1):
                if self.listed[i].passed:
                    del self.listed[i]
                    self.listed.append(assertion)
                    return


def plain(number: float) -> str:
    """A number in full, without an exponent; of a fraction at most ten decimals."""
    return f"{number:.10f}".rstrip("0").rstrip(".") if isinstance(number, float) else str(number)


def evidence_of(event: AnyEvent) -> Evidence:
    """The event as evidence."""
    source = event.source
    call = event if isinstance(event, ToolCall) else event.call if isinstance(event, ToolResult) else None
    return Evidence(
        source.file,
        source.row,
        source.offset,
        source.length,
        source.stream,
        str(event.__struct_config__.tag),
        source.time_ms,
        event.call_id if isinstance(event, ToolCall | ToolResult) else None,
        None if call is None else call.tool or call.name,
        None if call is None else target_of(call)[:MOST_TEXT] or None,
    )

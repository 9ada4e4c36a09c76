"""Log records of agents' programs (Claude Code, Codex, Gemini CLI, Qwen Code) to spans, so that both are read alike.

In: the records of one session. Out: a trace for each prompt: an agent's span, with answers and calls below it. Records
have one time and a duration, no parents and no traces. A call belongs to the answer before it; an answer of a sub-agent
to the first open call that started one of its name, and so do the calls that follow it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from agentv_stages.chain.normalize import Normalize
from agentv_stages.model.event import ToolCall
from agentv_stages.model.telemetry import LogFact, RecordKind, Telemetry, whole
from agentv_stages.providers.claude.telemetry import TELEMETRY as CLAUDE
from agentv_stages.providers.codex.telemetry import TELEMETRY as CODEX
from agentv_stages.providers.gemini.telemetry import TELEMETRY as GEMINI
from agentv_stages.providers.otlp import names
from agentv_stages.providers.otlp.contents import parsed
from agentv_stages.providers.otlp.values import as_object
from agentv_stages.providers.otlp.wire import LogRecord, SpanFacts
from agentv_stages.providers.qwen.log_records import TELEMETRY as QWEN

KNOWN: Mapping[str, Telemetry] = {telemetry.prefix: telemetry for telemetry in (CLAUDE, CODEX, GEMINI, QWEN)}
_SLACK_NS = 2_000_000  # durations are whole milliseconds
_SPAN_NAMES: Mapping[RecordKind, str] = {"prompt": "agent run", "answer": "call_llm", "call": "running tool"}


class Fact(Struct):
    """A log record that says something of a session. Times in nanoseconds; `number` is its place among all records."""

    telemetry: str
    kind: RecordKind
    attributes: dict[str, Any]
    at: int
    took: int
    version: str | None
    number: int
    row: int
    offset: int
    length: int


def telemetry_of(name: str) -> Telemetry | None:
    """The agent whose records have such names."""
    return KNOWN.get(f"{name.partition('.')[0]}.")


def fact_of(log: LogRecord, number: int, place: tuple[int, int, int]) -> tuple[str, Fact] | None:
    """The session of a record, and what it says; None for a record without a session, or of no interest."""
    telemetry = telemetry_of(log.name)
    if telemetry is None:
        return None
    session = log.attributes.get(telemetry.session)
    found: LogFact | None = telemetry.read(log.name.removeprefix(telemetry.prefix), log.attributes)
    if found is None or not isinstance(session, str) or not session:
        return None
    version = log.version if telemetry.versioned else None
    took = min(whole(log.attributes.get("duration_ms")) * 1_000_000, log.time_ns)
    return session, Fact(telemetry.prefix, found.kind, found.attributes, log.time_ns, took, version, number, *place)


def spans_of(session: str, records: Iterable[Fact]) -> Iterator[SpanFacts]:
    """The spans that the records of a session stand for."""
    turn: list[Fact] = []
    seen: set[tuple[int, RecordKind, str]] = set()  # a record that was sent again is the same one
    for fact in sorted(records, key=lambda fact: (fact.at, fact.number)):
        own = fact.at, fact.kind, repr(sorted(fact.attributes.items()))
        if own in seen:
            continue
        seen.add(own)
        if fact.kind == "prompt" and turn:
            yield from _Turn(session, turn).spans()
            turn = []
        turn.append(fact)
    if turn:
        yield from _Turn(session, turn).spans()


class _Turn:
    """The records from one prompt to the next, in order."""

    def __init__(self, session: str, records: list[Fact]) -> None:
        self._records = records
        self._trace = f"{session}:{records[0].number}"
        self._session = session
        self._texts = {
            _id_in(fact, "gen_ai.response.id"): fact.attributes.get("gen_ai.output.messages")
            for fact in records
            if fact.kind == "text"
        }
        self._denied = {_id_in(f, "gen_ai.tool.call.id"): f for f in records if f.kind == "denial"}

    def spans(self) -> list[SpanFacts]:
        first = self._records[0]
        about = {"gen_ai.conversation.id": self._session}
        root = self._span(first, "prompt", first.at, "", about | (first.attributes if first.kind == "prompt" else {}))
        root.end_ns, root.end_ms = self._records[-1].at, self._records[-1].at // 1_000_000
        calls = self._calls(root.id)
        self._agents: dict[str, SpanFacts] = {}
        answers = self._answers(root.id, calls)
        begun = sorted((a for a in answers if names.ASIDE not in a.attributes), key=lambda span: span.start_ns)
        for call in calls:  # those of sub-agents follow their answers
            before = next((answer for answer in reversed(begun) if answer.start_ns <= call.start_ns), None)
            if before is not None and before.parent != f"agent:{call.id}":
                call.parent = before.parent
        return [root, *answers, *calls, *self._agents.values()]

    def _answers(self, root: str, calls: list[SpanFacts]) -> list[SpanFacts]:
        found: list[SpanFacts] = []
        requested: int | None = None
        for fact in self._records:
            if fact.kind == "request":
                requested = fact.at
            elif fact.kind == "aside":
                found.append(self._span(fact, "answer", fact.at, root, fact.attributes | {names.ASIDE: True}))
            elif fact.kind == "answer":
                start = fact.at - fact.took if requested is None else requested
                text = self._texts.get(_id_in(fact, "gen_ai.response.id"))
                attributes = fact.attributes if text is None else fact.attributes | {"gen_ai.output.messages": text}
                parent = self._agent(fact, start, calls) or root
                found.append(self._span(fact, "answer", start, parent, attributes))
                requested = None
        return found

    def _agent(self, fact: Fact, start: int, calls: list[SpanFacts]) -> str | None:
        """The span of the sub-agent that gave an answer."""
        name = fact.attributes.get("gen_ai.agent.name")
        if name is None:
            return None
        for call in calls:
            passed = as_object(parsed(call.attributes.get("gen_ai.tool.call.arguments")))
            if call.start_ns <= start <= call.end_ns and passed.get("subagent_type") in (name, None) and passed:
                own = f"agent:{call.id}"
                if own not in self._agents:
                    agent = self._span(fact, "prompt", start, call.id, {"gen_ai.agent.name": name})
                    agent.id = own
                    self._agents[own] = agent
                return own
        return None

    def _calls(self, root: str) -> list[SpanFacts]:
        found: list[SpanFacts] = []
        for fact in self._records:
            if fact.kind not in ("call", "script"):
                continue
            own, start = _id_in(fact, "gen_ai.tool.call.id"), fact.at - fact.took
            if fact.kind == "script" and any(c.start_ns >= start - _SLACK_NS and c.end_ns <= fact.at for c in found):
                continue
            refused = {"error.type": "denied"} if own is not None and self._denied.pop(own, None) is not None else {}
            found.append(self._span(fact, "call", start, root, fact.attributes | refused))
        for fact in self._denied.values():  # a refused call may have no other record
            found.append(self._span(fact, "call", fact.at, root, fact.attributes | {"error.type": "denied"}))
        return found

    def _span(self, fact: Fact, kind: RecordKind, start: int, parent: str, attributes: dict[str, Any]) -> SpanFacts:
        own = f"{kind}:{fact.number}"
        return SpanFacts(
            self._trace, own, parent, _SPAN_NAMES[kind], start // 1_000_000, fact.at // 1_000_000, start, fact.at,
            "error.type" in attributes, fact.telemetry, fact.version, attributes, [], fact.number, fact.row,
            fact.offset, fact.length,
        )  # fmt: skip


def _id_in(fact: Fact, name: str) -> str | None:
    """An id among a record's attributes; None for a value that is no text."""
    value = fact.attributes.get(name)
    return value if isinstance(value, str) else None


def normalizer(scope: str) -> Callable[[ToolCall], ToolCall] | None:
    """A function that normalises a call by the tools of the agent whose scope the span has."""
    telemetry = KNOWN.get(scope)
    return None if telemetry is None else Normalize(telemetry.tools).call

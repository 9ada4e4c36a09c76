"""Makes events from short descriptions, and runs evaluators over them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Raw

from agentv_stages.model.event import MAIN, AnyEvent, AssistantText, Kind, Outcome, Source, ToolCall, ToolResult
from agentv_stages.model.tools import CANONICAL, guess_kind
from agentv_stages.trajectory import Context, Evaluator, Result, build


class Trace:
    """A list of events to which calls are added; rows, ids and turns are numbered automatically."""

    def __init__(self) -> None:
        self.events: list[AnyEvent] = []

    def source(self, stream: str = MAIN, time_ms: int | None = None) -> Source:
        row = len(self.events)
        return Source("trace.jsonl", row, row * 100, 99, time_ms, stream)

    def text(self, text: str = "hello", message_id: str | None = None, stream: str = MAIN) -> "Trace":
        message = message_id if message_id is not None else f"m{len(self.events)}"
        self.events.append(AssistantText(self.source(stream), "-0", message, Raw(json.dumps(text).encode())))
        return self

    def call(
        self,
        tool: str,
        args: Any = None,
        ms: int | None = None,
        *,
        name: str | None = None,
        kind: Kind | None = None,
        output: Any = None,
        outcome: Outcome = "ok",
        stream: str = MAIN,
        result: bool = True,
        files: tuple[str, ...] = (),
        command: str | None = None,
        message_id: str | None = None,
        time_ms: int | None = None,
        server: str | None = None,
        exit_code: int | None = None,
    ) -> "Trace":
        """Adds a call and, unless `result` is false, its result directly after it."""
        usual, edit = CANONICAL.get(tool, (None, False))
        call = ToolCall(
            self.source(stream, time_ms),
            "-0",
            message_id if message_id is not None else f"m{len(self.events)}",
            f"c{len(self.events)}",
            name or tool,
            Raw(b"null" if args is None else json.dumps(args).encode()),
            tool=tool,
            kind=kind or usual or guess_kind(tool),
            files=files,
            command=command,
            edit=edit,
            server=server,
        )
        self.events.append(call)
        if result:
            self.result(call, ms, output, outcome, exit_code)
        return self

    def result(
        self,
        call: ToolCall,
        ms: int | None = None,
        output: Any = None,
        outcome: Outcome = "ok",
        exit_code: int | None = None,
    ) -> "Trace":
        raw = None if output is None else Raw(json.dumps(output).encode())
        self.events.append(
            ToolResult(self.source(call.source.stream), "-0", call.call_id, raw, outcome, exit_code, ms, call=call)
        )
        return self


def trace_of(calls: Iterable[Any]) -> list[AnyEvent]:
    """The events of an answer: its text, then calls given as `"a"`, `("a", args)` or `("a", args, ms)`."""
    trace = Trace().text()
    for item in calls:
        if isinstance(item, str):
            trace.call(item)
        else:
            trace.call(*item)
    return trace.events


def evaluator_of(config: Mapping[str, Any], compat: bool = False, context: Context | None = None) -> Evaluator:
    """The evaluator for a configuration; fails if it would be skipped."""
    if context is None:
        context = Context(compat=compat)
    member = build(config, context)
    assert isinstance(member, Evaluator)
    return member


def judge(evaluator: Evaluator, events: Sequence[AnyEvent]) -> Result:
    """Feeds all events to an evaluator, and finishes it."""
    for event in events:
        evaluator.push(event)
    evaluator.flush()
    return evaluator.result()


def score(config: Mapping[str, Any], events: Sequence[AnyEvent], compat: bool = False) -> tuple[float, bool]:
    """The score, rounded to 4 digits, and whether it passed."""
    result = judge(evaluator_of(config, compat), events)
    assert result.score is not None
    return round(result.score, 4), result.verdict == "pass"


def standing(evaluator: Evaluator) -> str:
    """Its standing as plain text: type checkers narrow the property itself, and do not see that it changes."""
    return evaluator.standing

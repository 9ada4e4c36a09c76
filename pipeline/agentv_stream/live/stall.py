"""Whether a session makes progress. In: its events, in order. Out: a `Stall`, or None. Has no clock of its own.

The live view, the metrics and `tail --on stalled` share this rule.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from agentv_stages.chain.pair import MOST_OPEN
from agentv_stages.figures.latest import is_answered, is_waiting
from agentv_stages.model.event import (
    AnyEvent,
    Notification,
    SessionEnd,
    Status,
    ToolCall,
    ToolResult,
    call_key,
)
from agentv_stages.model.recent import remember
from agentv_stream.units import age_text

SILENT_SECONDS = 120.0
LONG_CALL_SECONDS = 300.0
ABANDONED_SECONDS = 86_400.0  # a session that is silent for a day was left, or its agent was killed
RETRIES = 3
MOST_SAVED = 100  # open calls in the cursors
RETRY_NAMES = frozenset(("api_retry", "api_error", "retry", "stream_error"))

Reason: TypeAlias = Literal["permission", "retries", "repeated-failure", "open-call", "silence"]


def was_left(silent: float | None, resting: bool) -> bool:
    """Whether nothing is expected of a session that was silent so long (seconds); `resting`: it waits for its user."""
    return silent is not None and (silent > ABANDONED_SECONDS or (silent > SILENT_SECONDS and resting))


@dataclass(frozen=True)
class Stall:
    """Why a session makes no progress; `text` is for people, and contains an age or a count that grows."""

    reason: Reason
    text: str


class OpenCall(Struct, frozen=True, array_like=True):
    """A call without a result, and when it was seen (UTC ms)."""

    name: str
    since_ms: int


class Progress(Struct, omit_defaults=True):
    """Collects the facts that the rule needs from the events of one session. Can be saved as JSON."""

    open_calls: dict[str, OpenCall] = {}
    last_event_ms: int | None = None
    repeats: int = 0  # how many times in a row the same call failed
    retries: int = 0
    waiting: bool = False
    answered: bool = False  # the last thing on the main stream is an answer
    dated: bool = False  # some event has a time
    last_failed: str = ""

    def take(self, event: AnyEvent, now_ms: int) -> int:
        """Takes the next event; returns its time (UTC ms). `now_ms` is used if no event so far has a time."""
        time_ms = self._time(event, now_ms)
        self.answered, self.waiting = is_answered((event,), self.answered), is_waiting((event,), self.waiting)
        if isinstance(event, Notification):
            self.retries += event.name in RETRY_NAMES
        elif not isinstance(event, SessionEnd):
            self.retries = 0
        if isinstance(event, ToolCall):
            remember(self.open_calls, call_key(event), OpenCall(event.tool or event.name, time_ms), MOST_OPEN)
        elif isinstance(event, ToolResult):
            if not event.partial:
                self.open_calls.pop(call_key(event.call or event), None)
            self._result(event)
        return time_ms

    def _time(self, event: AnyEvent, now_ms: int) -> int:
        if event.source.time_ms is not None:
            time_ms = event.source.time_ms
            self.last_event_ms = max(self.last_event_ms or 0, time_ms) if self.dated else time_ms
            self.dated = True
            return time_ms
        if not self.dated or self.last_event_ms is None:
            self.last_event_ms = now_ms
        return self.last_event_ms  # a record without a time shows no time of activity if others have one

    def _result(self, result: ToolResult) -> None:
        if result.outcome in ("ok", None):
            self.repeats, self.last_failed = 0, ""
            return
        call = result.call
        same = f"{call.name} {bytes(call.input_json)[:2000]!r}" if call is not None else ""
        self.repeats = self.repeats + 1 if same and same == self.last_failed else 1
        self.last_failed = same

    def silent_seconds(self, now_ms: int) -> float | None:
        """The age of the last event; None if there is none."""
        return (now_ms - self.last_event_ms) / 1000 if self.last_event_ms is not None else None

    def rests(self, has_end: bool) -> bool:
        """Whether it waits for its user: its last word is an answer, and its agent writes no end (`has_end`)."""
        return self.answered and not has_end

    def left(self, now_ms: int, has_end: bool) -> bool:
        """Whether nothing is expected any more: it was silent for a day, or waits for its user."""
        return was_left(self.silent_seconds(now_ms), self.rests(has_end))

    def stalled(self, now_ms: int, ended: bool, has_end: bool) -> Stall | None:
        """Why it makes no progress; None if it does, or has ended, or was left, or waits for its user.

        `ended`: its last run has ended. `has_end`: the logs of its dialect contain an end.
        """
        silent = self.silent_seconds(now_ms) or 0.0
        if silent > ABANDONED_SECONDS:
            return None
        if self.waiting:
            return Stall("permission", "waiting for permission")
        if ended or (self.rests(has_end) and not self.open_calls):
            return None
        if self.retries >= RETRIES:
            return Stall("retries", f"retry loop ({self.retries} retries)")
        if self.repeats >= RETRIES:
            return Stall("repeated-failure", f"same call failed {self.repeats} times")
        oldest = min(self.open_calls.values(), key=lambda call: call.since_ms, default=None)
        if oldest is not None and (age := (now_ms - oldest.since_ms) / 1000) > LONG_CALL_SECONDS:
            return Stall("open-call", f"{oldest.name} open for {age_text(age)}")
        if silent > SILENT_SECONDS and not self.open_calls:
            return Stall("silence", f"no events for {age_text(silent)}")
        return None


class Standing(Struct, omit_defaults=True):
    """How a followed session stands, as the cursors keep it.

    `status` is what `show` gives if nothing follows; `ended` says that its last run has ended with that status.
    `progress` is None unless it is watched whether the session stalls; `reported` is the stall that `--on stalled` has
    reported last, "" if the session has made progress since.
    """

    status: Status = "unknown"
    ended: bool = False
    progress: Progress | None = None
    reported: str = ""
    counted_end: int | None = None
    verdicts: dict[str, str] = {}

    def saved(self) -> "Standing":
        """A copy for the cursors; of many open calls it has the oldest."""
        if self.progress is None or len(self.progress.open_calls) <= MOST_SAVED:
            return self
        oldest = dict(list(self.progress.open_calls.items())[:MOST_SAVED])
        return replace(self, progress=replace(self.progress, open_calls=oldest))

    def stall(self, now_ms: int, has_end: bool) -> Stall | None:
        """As `Progress.stalled`."""
        return None if self.progress is None else self.progress.stalled(now_ms, self.ended, has_end)

    def status_now(self, now_ms: int, has_end: bool) -> Status:
        """The status at a time: a session that is not over is `running` or `stalled`."""
        if self.progress is None:
            return self.status
        if self.progress.stalled(now_ms, self.ended, has_end) is not None:
            return "stalled"
        return self.status if self.ended or self.progress.left(now_ms, has_end) else "running"

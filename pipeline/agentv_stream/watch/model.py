"""The row of a session in the live view. In: batches. Out: a `Look`. Uses no terminal and no clock of its own."""

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from agentv_stages.chain.pair import MOST_OPEN
from agentv_stages.model.batch import Batch
from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    AssistantText,
    Notification,
    SessionEnd,
    Status,
    ToolCall,
    ToolResult,
    UserText,
    call_key,
)
from agentv_stages.model.recent import remember
from agentv_stages.session.chain import SessionChain
from agentv_stages.sinks.summary_log import SummaryLog
from agentv_stream.discovery.discover import project_of
from agentv_stream.following.followed import Followed
from agentv_stream.units import age_text

SILENT_SECONDS = 120.0
LONG_CALL_SECONDS = 300.0
ABANDONED_SECONDS = 86_400.0  # a session that is silent for a day was left, or its agent was killed
RETRIES = 3
MOST_LINES = 500
PROMPT_WIDTH = 200
RETRY_NAMES = frozenset(("api_retry", "api_error", "retry", "stream_error"))
WAITING_NAMES = frozenset(("permission_request", "elicitation", "user_input_request"))


@dataclass
class Open:
    """A call without a result, and when it was seen (wall-clock ms)."""

    call: ToolCall
    since_ms: int


@dataclass(frozen=True)
class Known:
    """The figures of a session's log so far. `tokens_out_whole`: the output is not only a lower bound. `ended` is the
    status of its last run, None if that has not ended; `left` is the status that `show` gives if nothing follows."""

    agent: str
    cwd: str | None
    session: str
    model: str | None
    turn: int
    calls: int
    errors: int
    tokens_in: int | None
    tokens_out: int | None
    tokens_out_whole: bool
    cost: float | None
    context: float | None
    first_edit: int | None
    prompt: str
    ended: Status | None
    left: Status


@dataclass(frozen=True)
class Look(Known):
    """One row of the view. Ages are in seconds, None if nothing has happened yet; times are UTC ms; `stalled` is the
    reason, "" if it is not stalled. `reading` changes when the log is read from its beginning again."""

    key: int
    project: str
    status: str
    last_tool: str
    last_age: float | None
    open_calls: int
    stalled: str
    live: bool
    path: str
    last_tool_ms: int | None
    last_event_ms: int | None
    reading: int


@dataclass
class SessionView:
    """Collects what happens in one session. If its log is read again (`reading`) a new view begins: nothing counts
    twice.

    Threads other than the reading thread may only see it between two batches.
    """

    session: Followed
    chain: SessionChain
    reading: int
    known: Known = field(init=False)  # from the first batch on
    open: dict[str, Open] = field(default_factory=dict[str, Open])
    last_tool: str = ""
    last_tool_ms: int | None = None
    last_event_ms: int | None = None
    repeats: int = 0  # how many times in a row the same call failed
    retries: int = 0
    waiting: str = ""
    prompt: str = ""
    dated: bool = False  # some event has a time
    answered: bool = False  # the last thing on the main stream is an answer
    lines: deque[str] = field(default_factory=lambda: deque[str](maxlen=MOST_LINES))
    lines_made: int = 0
    _last_failed: str = ""
    _log: SummaryLog = field(default_factory=SummaryLog)

    def observe(self, batch: Batch, now_ms: int) -> None:
        """Takes a batch that has passed all stages; `now_ms` is used for events without a time."""
        for event in batch.events:
            self._event(event, now_ms)
        text = self._log.render(batch).decode("utf-8", "replace")
        lines = text.splitlines()
        self.lines.extend(lines)
        self.lines_made += len(lines)
        self._know()

    def finish(self, batches: list[Batch], now_ms: int) -> None:
        """Takes the batches of the end of the input. It ends no call and no session: the agent may be running."""
        for batch in batches:
            for event in batch.events:
                if not isinstance(event, ToolResult | SessionEnd):
                    self._event(event, now_ms)
        self._know()

    def _know(self) -> None:
        self.known = _known_of(self.session, self.chain, len(self.open), self.prompt)

    def _event(self, event: AnyEvent, now_ms: int) -> None:
        if event.source.time_ms is not None:
            time_ms = event.source.time_ms
            self.last_event_ms = max(self.last_event_ms or 0, time_ms) if self.dated else time_ms
            self.dated = True
        else:  # a record without a time shows no time of activity if others have one
            time_ms = self.last_event_ms if self.dated and self.last_event_ms is not None else now_ms
            self.last_event_ms = time_ms
        if event.source.stream == MAIN:
            if isinstance(event, AssistantText | ToolCall | ToolResult | UserText):
                self.answered = isinstance(event, AssistantText)
            if isinstance(event, UserText) and not self.prompt and not event.injected:
                self.prompt = event.text[:PROMPT_WIDTH]
        if isinstance(event, ToolCall):
            self.waiting, self.retries = "", 0
            remember(self.open, call_key(event), Open(event, time_ms), MOST_OPEN)
            self.last_tool, self.last_tool_ms = f"{event.tool or event.name} {target_of(event)}", time_ms
        elif isinstance(event, ToolResult):
            self.waiting, self.retries = "", 0
            if not event.partial:
                self.open.pop(call_key(event.call or event), None)
            self._result(event)
        elif isinstance(event, Notification):
            self.retries += event.name in RETRY_NAMES
            if event.name in WAITING_NAMES:
                self.waiting = event.message or event.name
        elif isinstance(event, SessionEnd):
            if event.source.stream == MAIN:
                self.waiting = ""
        else:
            self.waiting, self.retries = "", 0

    def _result(self, result: ToolResult) -> None:
        if result.outcome in ("ok", None):
            self.repeats, self._last_failed = 0, ""
            return
        call = result.call
        same = f"{call.name} {bytes(call.input_json)[:2000]!r}" if call is not None else ""
        self.repeats = self.repeats + 1 if same and same == self._last_failed else 1
        self._last_failed = same

    def stalled(self, now_ms: int) -> str:
        """Why it makes no progress; "" if it does, or has ended, or was left.

        A session on disk whose last word is an answer waits for its user: most agents write no end there.
        """
        if self.waiting:
            return "waiting for permission"
        silent = (now_ms - self.last_event_ms) / 1000 if self.last_event_ms is not None else 0.0
        if self.known.ended or silent > ABANDONED_SECONDS:
            return ""
        if self.retries >= RETRIES:
            return f"retry loop ({self.retries} retries)"
        if self.repeats >= RETRIES:
            return f"same call failed {self.repeats} times"
        oldest = min(self.open.values(), key=lambda o: o.since_ms, default=None)
        if oldest is not None and (now_ms - oldest.since_ms) / 1000 > LONG_CALL_SECONDS:
            return f"{oldest.call.tool or oldest.call.name} open for {age_text((now_ms - oldest.since_ms) / 1000)}"
        if silent > SILENT_SECONDS and not self.open and not self._resting:
            return f"no events for {age_text(silent)}"
        return ""

    @property
    def _resting(self) -> bool:
        return self.answered and not self.chain.dialect.has_end

    def look(self, now_ms: int) -> Look:
        """The row."""
        stalled = self.stalled(now_ms)
        silent = (now_ms - self.last_event_ms) / 1000 if self.last_event_ms is not None else None
        left = silent is not None and (silent > ABANDONED_SECONDS or (silent > SILENT_SECONDS and self._resting))
        status = "stalled" if stalled else self.known.ended or (self.known.left if left else "running")
        return Look(
            **vars(self.known),
            key=self.session.number,
            project=project_of(self.known.cwd),
            status=status,
            last_tool=self.last_tool,
            last_age=max(0.0, (now_ms - self.last_tool_ms) / 1000) if self.last_tool_ms is not None else None,
            open_calls=len(self.open),
            stalled=stalled,
            live=silent is not None and silent < LONG_CALL_SECONDS and not self.known.ended,
            path=self.session.main,
            last_tool_ms=self.last_tool_ms,
            last_event_ms=self.last_event_ms,
            reading=self.reading,
        )


def _known_of(session: Followed, chain: SessionChain, open_calls: int, prompt: str) -> Known:
    """The current facts of a session's chain; only for the thread that feeds it."""
    left = chain.observer.status(open_calls)
    facts, totals, stats = chain.observer.facts, chain.observer.totals, chain.observer.stats
    tokens = totals.tokens()
    window, used = totals.state.context_window, totals.state.last_input
    return Known(
        agent=chain.provider.name,
        cwd=facts.cwd,
        session=facts.session_id or Path(session.main).stem,
        model=facts.model,
        turn=stats.turns,
        calls=stats.figures.calls,
        errors=stats.figures.failed,
        tokens_in=tokens.input,
        tokens_out=tokens.output,
        tokens_out_whole=not tokens.unsure,
        cost=totals.cost_usd,
        context=used / window if used is not None and window else None,
        first_edit=stats.figures.first_edit_turn,
        prompt=prompt,
        ended=left if facts.end is not None and not facts.open_end else None,
        left=left,
    )

"""The row of a session in the live view. In: batches. Out: a `Look`. Uses no terminal and no clock of its own."""

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from agentv_stages.model.batch import Batch
from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import (
    MAIN,
    AnyEvent,
    SessionEnd,
    Status,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.session.chain import SessionChain
from agentv_stages.sinks.summary_log import SummaryLog
from agentv_stream.discovery.discover import project_of
from agentv_stream.following.followed import Followed
from agentv_stream.following.stall import LONG_CALL_SECONDS, Progress

MOST_LINES = 500
PROMPT_WIDTH = 200


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
    progress: Progress = field(default_factory=Progress)
    last_tool: str = ""
    last_tool_ms: int | None = None
    prompt: str = ""
    lines: deque[str] = field(default_factory=lambda: deque[str](maxlen=MOST_LINES))
    lines_made: int = 0
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
        self.known = _known_of(self.session, self.chain, len(self.progress.open_calls), self.prompt)

    def _event(self, event: AnyEvent, now_ms: int) -> None:
        time_ms = self.progress.take(event, now_ms)
        if isinstance(event, UserText) and event.source.stream == MAIN and not self.prompt and not event.injected:
            self.prompt = event.text[:PROMPT_WIDTH]
        elif isinstance(event, ToolCall):
            self.last_tool, self.last_tool_ms = f"{event.tool or event.name} {target_of(event)}", time_ms

    @property
    def last_event_ms(self) -> int | None:
        return self.progress.last_event_ms

    def stalled(self, now_ms: int) -> str:
        """Why it makes no progress; "" if it does."""
        stall = self.progress.stalled(now_ms, self.known.ended is not None, self.chain.dialect.has_end)
        return stall.text if stall is not None else ""

    def look(self, now_ms: int) -> Look:
        """The row."""
        stalled = self.stalled(now_ms)
        silent = self.progress.silent_seconds(now_ms)
        left = self.progress.left(now_ms, self.chain.dialect.has_end)
        status = "stalled" if stalled else self.known.ended or (self.known.left if left else "running")
        return Look(
            **vars(self.known),
            key=self.session.number,
            project=project_of(self.known.cwd),
            status=status,
            last_tool=self.last_tool,
            last_age=max(0.0, (now_ms - self.last_tool_ms) / 1000) if self.last_tool_ms is not None else None,
            open_calls=len(self.progress.open_calls),
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
        ended=left if chain.observer.over else None,
        left=left,
    )

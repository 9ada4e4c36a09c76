"""The row of a session in the live view. In: batches. Out: a `Look`. Uses no terminal and no clock of its own."""

from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from agentv_stages.figures.merge import MOST_USD, Figures
from agentv_stages.figures.session_figures import SessionFigures
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
from agentv_stages.model.tokens import PICO, pico
from agentv_stages.providers import get_provider
from agentv_stages.session.chain import SessionChain
from agentv_stages.sinks.summary_log import SummaryLog
from agentv_stream.discovery.discover import project_of
from agentv_stream.following.followed import Followed
from agentv_stream.live.stall import ABANDONED_SECONDS, LONG_CALL_SECONDS, SILENT_SECONDS, Progress, was_left

MOST_LINES = 500
PROMPT_WIDTH = 200
MOST_TOKENS = 10**15


@dataclass(frozen=True)
class Known:
    """The figures of a session's log so far. `tokens_out_whole`: the output is not only a lower bound. `estimate` is
    the cost in dollars at list prices if the agent reports none. `context` is the part of the context window in use, of
    the window that the log states; `estimated_context` that of the model's largest window by the price table, if the
    log states none. `ended` is the status of its last run, None if that has not ended; `left` is the status that `show`
    gives if nothing follows."""

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
    estimate: float | None
    context: float | None
    estimated_context: float | None
    first_edit: int | None
    prompt: str
    ended: Status | None
    left: Status


@dataclass(frozen=True)
class Look(Known):
    """One row of the view. Ages are in seconds, None if nothing has happened yet; times are UTC ms; `stalled` is the
    reason, "" if it is not stalled. `last_tool` has the target of the call as long as the session runs. `reading`
    changes when the log is read from its beginning again."""

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


@dataclass(frozen=True)
class Activity:
    """The last activity of a session, as far as its row needs it. `resting`: it waits for its user."""

    event_ms: int | None
    tool: str
    target: str
    tool_ms: int | None
    open_calls: int
    resting: bool


def look_of(known: Known, last: Activity, stalled: str, now_ms: int, key: int, path: str, reading: int) -> Look:
    """The row of a session at a time."""
    silent = (now_ms - last.event_ms) / 1000 if last.event_ms is not None else None
    left = known.left if was_left(silent, last.resting) else "running"
    status = "stalled" if stalled else known.ended or left
    at_work = status in ("stalled", "running") and bool(last.tool)
    return Look(
        **vars(known),
        key=key,
        project=project_of(known.cwd),
        status=status,
        last_tool=f"{last.tool} {last.target}".rstrip() if at_work else last.tool,
        last_age=max(0.0, (now_ms - last.tool_ms) / 1000) if last.tool_ms is not None else None,
        open_calls=last.open_calls,
        stalled=stalled,
        live=silent is not None and silent < LONG_CALL_SECONDS and not known.ended,
        path=path,
        last_tool_ms=last.tool_ms,
        last_event_ms=last.event_ms,
        reading=reading,
    )


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
    last_target: str = ""
    last_tool_ms: int | None = None
    estimate: float | None = None
    listed_window: int | None = None  # the model's largest context by the price table
    prompt: str = ""
    lines: deque[str] = field(default_factory=lambda: deque[str](maxlen=MOST_LINES))
    lines_made: int = 0
    _dated_ms: int | None = None  # the latest time of any event
    _tool_ms: int | None = None  # of the last call, if it or an event before it has a time
    _log: SummaryLog = field(default_factory=SummaryLog)

    def observe(self, batch: Batch, now_ms: int) -> None:
        """Takes a batch that has passed all stages; `now_ms` is used for events without a time."""
        for event in batch.events:
            self._event(event, now_ms)
        self._place(now_ms)
        text = self._log.render(batch).decode("utf-8", "replace")
        lines = text.splitlines()
        self.lines.extend(lines)
        self.lines_made += len(lines)
        self._know()

    def finish(self, batches: list[Batch], now_ms: int) -> None:
        """Takes the batches of the end of the input. It ends no call and no session: the agent may be running."""
        for batch in batches:
            for event in batch.events:
                ends = isinstance(event, SessionEnd) or (isinstance(event, ToolResult) and event.outcome == "unpaired")
                if not ends:
                    self._event(event, now_ms)
        self._place(now_ms)
        self._know()

    def _place(self, now_ms: int) -> None:
        """A log without a single event is as old as its file."""
        if self.progress.last_event_ms is None:
            self.progress.last_event_ms = now_ms

    def _know(self) -> None:
        self.known = _known_of(self, len(self.progress.open_calls))

    def estimated(self, cost: float | None, window: int | None) -> None:
        """Takes the estimated cost in dollars and the model's largest window, for the thread that reads."""
        self.estimate, self.listed_window = cost, window
        self._know()

    def _event(self, event: AnyEvent, now_ms: int) -> None:
        seen_ms = self.progress.take(event, now_ms)
        if event.source.time_ms is not None:
            self._dated_ms = max(self._dated_ms or 0, event.source.time_ms)
        if isinstance(event, UserText) and event.source.stream == MAIN and not self.prompt and not event.injected:
            self.prompt = event.text[:PROMPT_WIDTH]
        elif isinstance(event, ToolCall):
            time_ms = event.source.time_ms if event.source.time_ms is not None else self._dated_ms
            if time_ms is None or self._tool_ms is None or time_ms >= self._tool_ms:  # as `Latest` has it
                self.last_tool, self.last_target, self._tool_ms = event.tool or event.name, target_of(event), time_ms
                self.last_tool_ms = seen_ms if time_ms is None else time_ms

    @property
    def path(self) -> str:
        return self.session.main

    @property
    def last_event_ms(self) -> int | None:
        return self.progress.last_event_ms

    def stalled(self, now_ms: int) -> str:
        """Why it makes no progress; "" if it does."""
        stall = self.progress.stalled(now_ms, self.known.ended is not None, self.chain.dialect.has_end)
        return stall.text if stall is not None else ""

    def look(self, now_ms: int, key: int) -> Look:
        """The row."""
        resting, open_calls = self.progress.rests(self.chain.dialect.has_end), len(self.progress.open_calls)
        last = Activity(self.last_event_ms, self.last_tool, self.last_target, self.last_tool_ms, open_calls, resting)
        return look_of(self.known, last, self.stalled(now_ms), now_ms, key, self.session.main, self.reading)


@dataclass
class RestingView:
    """A session whose log need not be read: its row comes from kept figures. `changed_ms` is the time of the log, for
    events without a time."""

    path: str
    known: Known
    last: Activity
    waiting: bool
    lines: tuple[str, ...] = ()  # none of its events are read
    lines_made: int = 0

    @classmethod
    def of(
        cls, path: str, session: SessionFigures, figures: Figures, changed_ms: int, window: int | None
    ) -> "RestingView":
        """The view of a session with its figures, costs estimated. `window` is the model's largest."""
        latest = session.latest
        dated = latest.event_ms is not None
        provider = get_provider(session.provider)
        has_end = next(dialect.has_end for dialect in provider.dialects if dialect.name == session.dialect)
        last = Activity(
            event_ms=latest.event_ms if dated else changed_ms,
            tool=latest.tool,
            target="",
            tool_ms=changed_ms if latest.tool and latest.tool_ms is None else latest.tool_ms,
            open_calls=latest.open_calls,
            resting=latest.answered and not has_end,
        )
        return cls(path, _kept(path, session, figures, window), last, latest.waiting)

    @property
    def last_event_ms(self) -> int | None:
        return self.last.event_ms

    def stalled(self, now_ms: int) -> str:
        """As for a session that is read: it is at rest."""
        return ""

    def is_at_rest(self, now_ms: int) -> bool:
        """Whether its row is complete: it has ended, or was left. Otherwise only its log says whether it is stalled."""
        silent = (now_ms - self.last.event_ms) / 1000 if self.last.event_ms is not None else 0.0
        if silent > ABANDONED_SECONDS:
            return True
        resting = self.last.resting and not self.last.open_calls and silent > SILENT_SECONDS
        return not self.waiting and (self.known.ended is not None or resting)

    def prompted(self, prompt: str) -> None:
        """Takes the first prompt, which no store contains."""
        self.known = replace(self.known, prompt=prompt)

    def look(self, now_ms: int, key: int) -> Look:
        """The row."""
        return look_of(self.known, self.last, "", now_ms, key, self.path, -1)


def _share(used: int | None, window: int | None) -> float | None:
    """The part of the context window in use; None if it is not known. A log may claim any number."""
    return used / window if used is not None and window and max(used, window) < MOST_TOKENS else None


def _kept(path: str, session: SessionFigures, figures: Figures, listed_window: int | None) -> Known:
    latest, tokens = session.latest, figures.tokens
    status = cast(Status, next(iter(figures.by_status)))  # counted by these
    window, used = latest.context_window, latest.context_tokens
    return Known(
        agent=session.provider,
        cwd=session.cwd,
        session=session.id or Path(path).stem,
        model=session.model,
        turn=figures.turns,
        calls=figures.tool_calls,
        errors=figures.failed_calls,
        tokens_in=tokens.sums.get("input"),
        tokens_out=tokens.sums.get("output"),
        tokens_out_whole=not tokens.unsure,
        cost=figures.cost_pico / PICO if figures.costed else None,
        estimate=figures.filled_pico / PICO if figures.estimated and not figures.costed else None,
        context=_share(used, window),
        estimated_context=None if window else _share(used, listed_window),
        first_edit=latest.first_edit_turn,
        prompt="",
        ended=status if latest.ended else None,
        left=status,
    )


def _known_of(view: SessionView, open_calls: int) -> Known:
    """The current facts of a session's chain; only for the thread that feeds it."""
    chain = view.chain
    left = chain.observer.status(open_calls)
    facts, totals, stats = chain.observer.facts, chain.observer.totals, chain.observer.stats
    tokens, cost = totals.tokens(), totals.cost_usd
    window, used = totals.state.context_window, totals.state.last_input
    return Known(
        agent=chain.provider.name,
        cwd=facts.cwd,
        session=facts.session_id or Path(view.session.main).stem,
        model=facts.model,
        turn=stats.turns,
        calls=stats.figures.calls,
        errors=stats.figures.failed,
        tokens_in=tokens.input,
        tokens_out=tokens.output,
        tokens_out_whole=not tokens.unsure,
        cost=pico(cost) / PICO if cost is not None and abs(cost) < MOST_USD else None,  # as figures are kept
        estimate=view.estimate if cost is None else None,
        context=_share(used, window),
        estimated_context=None if window else _share(used, view.listed_window),
        first_edit=stats.figures.first_edit_turn,
        prompt=view.prompt,
        ended=left if chain.observer.over else None,
        left=left,
    )

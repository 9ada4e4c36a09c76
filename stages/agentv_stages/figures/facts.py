"""Facts about a session and its end, gathered from its events."""

from msgspec import Struct, convert

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import (
    MAIN,
    AssistantText,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Status,
    Summary,
    ToolCall,
    UserText,
)

DESCRIPTIONS = (SessionInfo, Summary)
"""Events that only describe the session: in a log with no others, nothing ran."""


class Opening(Struct, frozen=True):
    """Facts as they were when session id and model were first known; they do not depend on how the log is chunked."""

    model: str | None = None
    version: str | None = None
    cwd: str | None = None
    git_branch: str | None = None


class Facts(Struct):
    """Facts of one session; None where the log does not say. `started_ms` is the time of its first event.

    `model` and `version` are the last ones reported, `first` holds the first ones.
    """

    session_id: str | None = None
    model: str | None = None
    version: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    parent_session_id: str | None = None
    title: str | None = None
    started_ms: int | None = None
    prompt_seen: bool = False
    end: SessionEnd | None = None
    open_end: bool = False  # the main stream continued after its last end record, or another run began
    records: int = 0
    events: int = 0
    described: int = 0  # how many of the events only describe the session
    last_event: str | None = None  # of the main stream
    last_offset: int | None = None
    first: Opening | None = None
    unfinished: bool = False  # another run began before the one before it ended
    ends: int = 0  # of the run that began then
    interleaved: bool = False  # several runs wrote into the log at the same time, so the totals belong to no single run

    @property
    def named(self) -> bool:
        """Whether the log has said what file names and rows of the outputs need: session id and model."""
        return self.session_id is not None and self.model is not None

    @property
    def opening(self) -> Opening:
        """Model, version, folder and branch for every row of a transcript: the first ones known."""
        return self.first or Opening(self.model, self.version, self.cwd, self.git_branch)


def status_of(end: SessionEnd, has_end: bool, open_calls: int) -> Status:
    """The status at the last end of a session; a final answer is no end while a call is open."""
    return "unknown" if end.status == "complete" and open_calls and not (has_end or end.certain) else end.status


class FactsObserver:
    """Gathers `facts` from batches. Events of sub-agents' files do not change the facts of the session itself."""

    def __init__(self) -> None:
        self.facts = Facts()

    def observe(self, batch: Batch) -> None:
        facts = self.facts
        events = batch.events
        if not batch.again:
            facts.records += len(batch.records) + batch.elements
            facts.events += len(events)
        if batch.faults and any(fault.reason == "interleaved" for fault in batch.faults):
            facts.interleaved = True
        if not events:
            return
        if facts.started_ms is None:
            facts.started_ms = next((e.source.time_ms for e in events if e.source.time_ms is not None), None)
        for event in events:
            kind = type(event)
            if kind is SessionInfo or kind is SessionEnd or kind is Summary:
                self._session(event)  # type: ignore[arg-type]  # narrowed by `kind`, which mypy does not follow
                facts.described += not batch.again and isinstance(event, DESCRIPTIONS)
            elif not facts.open_end and (kind is AssistantText or kind is ToolCall or kind is Reasoning):
                if event.source.stream == MAIN and not (isinstance(event, AssistantText) and event.synthetic):
                    facts.open_end = True
            elif kind is UserText and not (facts.prompt_seen and facts.open_end):
                assert isinstance(event, UserText)
                if not event.injected and event.source.stream == MAIN:
                    facts.prompt_seen = True
                    facts.open_end = facts.end is not None
        for event in reversed(events):
            if event.source.stream == MAIN:
                facts.last_event = str(event.__struct_config__.tag)
                facts.last_offset = event.source.offset
                break

    def _session(self, event: SessionInfo | SessionEnd | Summary) -> None:
        facts = self.facts
        if isinstance(event, Summary):
            if event.source.stream == MAIN:
                facts.title = event.summary
        elif isinstance(event, SessionEnd):
            if event.source.stream == MAIN:
                facts.end = event
                facts.open_end = False
                facts.ends += 1
                facts.interleaved = facts.interleaved or (facts.unfinished and facts.ends > 1)
        elif event.source.stream == MAIN:
            facts.session_id = facts.session_id or event.session_id
            facts.model = event.model or facts.model
            facts.version = event.version or facts.version
            facts.cwd = facts.cwd or event.cwd
            facts.git_branch = facts.git_branch or event.git_branch
            facts.parent_session_id = facts.parent_session_id or event.parent_session_id
            facts.title = event.title or facts.title
            if event.another:
                facts.unfinished, facts.ends = facts.end is None or facts.open_end, 0
            if event.begins:
                facts.open_end = facts.end is not None
            if facts.first is None and facts.named:
                facts.first = Opening(facts.model, facts.version, facts.cwd, facts.git_branch)

    def snapshot(self) -> Facts:
        return self.facts

    def restore(self, snapshot: object, /) -> None:
        self.facts = convert(snapshot, Facts, from_attributes=True)

    def status(self, has_end: bool, open_calls: int) -> Status:
        """How the session ended, as far as its log says; `has_end`: its dialect has an end record."""
        facts = self.facts
        end = facts.end
        if facts.interleaved:
            return "unknown"
        if end is not None and not facts.open_end:
            return status_of(end, has_end, open_calls)
        if has_end:
            return "incomplete"
        return "unknown"

"""Claude Code sessions on disk: lines of `~/.claude/projects/<project>/<session>.jsonl` to events.

Source: Claude Code 1.0 to 2.1.332. There is no `init` and no `result` here; a run ends when an answer stops by itself,
or where an attachment records it. File order is kept: `parentUuid` does not give the order of parallel calls.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from agentv_stages.chain.foreign import COPIED, COPIED_BESIDE, other_session
from agentv_stages.chain.pruning import decode_member
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    PIECES,
    AnyEvent,
    Notification,
    QueueOperation,
    Retract,
    SessionEnd,
    SessionInfo,
    Source,
    Summary,
    TokenUsage,
    UserText,
    sidechain,
)
from agentv_stages.model.payload import text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import parse_iso
from agentv_stages.providers.claude.blocks import (
    MARK,
    SYNTHETIC_MODEL,
    LastUsage,
    assistant_blocks,
    interrupts,
    piece_of,
    put_back,
    user_blocks,
    user_string,
)
from agentv_stages.providers.claude.branches import MOST_RECORDS, Branches
from agentv_stages.providers.claude.catalogue import QUIET_TYPES
from agentv_stages.providers.claude.copies import Copies, Found
from agentv_stages.providers.claude.forks import fingerprint
from agentv_stages.providers.claude.notices import (
    Queue,
    attached,
    end_of_run,
    generated,
    progress,
    renamed,
    tell_system,
)
from agentv_stages.providers.claude.refusals import REJECTED, denial_outcome, was_interrupted
from agentv_stages.providers.claude.usage import model_shares, session_usage, token_usage
from agentv_stages.providers.claude.wire import (
    ApiMessage,
    MetaLine,
    SessionLine,
    decode_head,
    decode_meta,
    decode_session,
    decode_usage,
)

LOSSES = (
    "in some versions, retries of 5xx answers that succeeded",
    "an answer that was cut off (in newer versions only if the process was killed)",
    "in older versions (2.1.197) costs, and the tokens of compactions and of side models",
    "that --max-budget-usd ended a run",
    "outputs over 50,000 characters whose file in tool-results/ is missing (the log has their first 2 KB)",
    "of a fork, and of a process that was killed: the cost, and the tokens of compactions",
    "where the copied context of a side question ends (`/btw`, 2.1.90): the copy is in its stream, too",
    "in some versions before 2.1.326, whether a person refused a call or interrupted it: both are `denied`",
)
_ROOT = b'"parentUuid":null'
_GOES_ON = b'"logicalParentUuid"'  # a compaction: the record after it has no parent, yet continues the session
FINAL_STOPS = frozenset(("end_turn", "stop_sequence", "max_tokens", "refusal"))
PLACEHOLDER = 8  # message_start reports 1 to 8 output tokens; no finished answer in old logs has so few
MOST_ENDS = 1_000


class SessionState(Struct):
    """The state between lines. `begun` is the session of the last record without a parent.

    `copies` becomes None at the first record of the session's own; `forked` says that copies came before it.
    """

    session_id: str | None = None
    begun: str | None = None
    version: str | None = None
    cwd: str | None = None
    model: str | None = None
    headless: bool = False
    main: LastUsage = field(default_factory=LastUsage)
    others: LastUsage = field(default_factory=LastUsage)
    branches: Branches = field(default_factory=Branches)
    queue: Queue = field(default_factory=Queue)
    copies: Copies | None = field(default_factory=Copies)
    forked: bool = False
    ends: list[str] = []  # of the processes that saved a total: the line has no id


class SessionDecoder:
    """Decodes a session file, the main one or a sub-agent's."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = SessionState()
        self._history: frozenset[int] | None = None  # of logs beside this one; read once it is needed
        self._stream = context.stream if context.stream != "main" else None  # the stream of a sub-agent's own file

    def decode(self, record: Record, batch: Batch) -> None:
        line = decode_session(record.data)
        state = self.state
        if state.copies is not None and self._copied(state.copies, line, record, batch):
            return
        kind = line.type
        if kind == "assistant" and line.message is not None:
            self._assistant(line, line.message, record, batch)
        elif kind == "user" and line.message is not None:
            self._user(line, line.message, record, batch)
        elif kind in QUIET_TYPES:
            batch.ignore(kind)
        else:
            self._meta(decode_meta(record.data), record, batch)
        if line.uuid is not None and self._stream is None and not line.isSidechain:
            recent = state.branches.recent
            recent.append(line.uuid)
            while len(recent) > MOST_RECORDS:
                recent.pop(0)

    def flush(self, batch: Batch) -> None:
        if self.state.copies is not None:
            self._tell_waiting(self.state.copies, batch)

    def _copied(self, copies: Copies, line: SessionLine, record: Record, batch: Batch) -> bool:
        """Whether a record is a copy, or held until that is known. The session's first own record ends the search."""
        found = "own" if self.context.stream != "main" else self._looked(copies, line, record)
        if found == "waits":
            copies.waiting.append(record.without_raw())
        elif found == "copied":
            if not self.state.forked:
                self._fork(copies, line, record, batch)
            batch.ignore(COPIED_BESIDE if copies.beside else COPIED)
        elif found == "begins":
            self._fork(copies, line, record, batch)
            self.state.copies = None
        elif found == "own":
            if copies.requesting_session is not None:
                parent = copies.requesting_session
                batch.events.append(SessionInfo(self._source(line, record), "-parent", parent_session_id=parent))
            self._tell_waiting(copies, batch)
        return found in ("waits", "copied")

    def _looked(self, copies: Copies, line: SessionLine, record: Record) -> Found:
        """The kind of a record, from the other logs in the folder if nothing in this log decides."""
        read = self.context.history
        if read is not None and line.uuid and (copies.beside or copies.may_be_beside(line, record)):
            if self._history is None:
                copies.first = copies.first or line.uuid
                self._history = frozenset(read(copies.first))
                copies.beside = bool(self._history)
            if copies.beside:
                return "copied" if fingerprint(line.uuid) in self._history else "own"
        return copies.look(line, record)

    def _fork(self, copies: Copies, line: SessionLine, record: Record, batch: Batch) -> None:
        """Handles the first certain copy: emits which session this is, and ignores the waiting records as copies."""
        self.state.forked = True
        for _ in copies.waiting:
            batch.ignore(COPIED)
        copies.waiting = []
        head = decode_head(record.data)
        source = replace(self._source(line, record), time_ms=copies.begun_ms(line, head))
        self._facts(line, None, source, record, batch)
        parent = copies.parent_of(head)
        if parent is not None:
            batch.events.append(SessionInfo(source, "-parent", parent_session_id=parent))

    def _tell_waiting(self, copies: Copies, batch: Batch) -> None:
        self.state.copies = None
        for record in copies.waiting:
            self.decode(record, batch)

    def _source(self, line: SessionLine | MetaLine, record: Record, answer: int = PIECES) -> Source:
        return Source(
            self.context.file,
            record.row,
            record.offset,
            record.size or len(record.data),
            parse_iso(line.timestamp),
            self._stream or (sidechain(line.agentId or "unknown") if line.isSidechain else "main"),
            line.uuid or "",
            answer,
        )

    def _root(self, record: Record, sidechain: bool | None, batch: Batch) -> None:
        """A record without a parent begins a session, except after a compaction or copied history."""
        if sidechain or self.context.stream != "main" or _GOES_ON in record.data[:400]:
            return
        begun = decode_head(record.data).sessionId
        other_session(record, begun, self.state.begun or self.state.session_id, batch)
        self.state.begun = begun or self.state.begun

    def _facts(
        self, line: SessionLine | MetaLine, model: str | None, source: Source, record: Record, batch: Batch
    ) -> None:
        """Emits the session's id, version, folder and model when they are first seen or change."""
        state = self.state
        if self.context.stream != "main":
            state.session_id = state.session_id or self.context.session_id or ""
            state.cwd = state.cwd or ""
            state.version, state.model = line.version, model
            return
        head = decode_head(record.data)
        first = state.session_id is None
        state.session_id = state.session_id or head.sessionId  # copied history may carry another session's id
        state.version = line.version or state.version
        state.cwd = state.cwd or head.cwd
        state.model = model or state.model
        state.headless = state.headless or (head.entrypoint or "").startswith("sdk")
        branch = head.gitBranch if first else None
        batch.events.append(SessionInfo(source, "", state.session_id, model, line.version, state.cwd, branch))

    def _assistant(self, line: SessionLine, message: ApiMessage, record: Record, batch: Batch) -> None:
        source = self._source(line, record, piece_of(line.requestId))
        synthetic = message.model == SYNTHETIC_MODEL or bool(line.isApiErrorMessage)
        state = self.state
        message_id = message.id or line.uuid or f"m{record.row}"
        usage = None
        seen = state.others if line.isSidechain else state.main
        stopped = message.stop_reason is not None
        if message.usage and not synthetic:  # decoded before anything is emitted: it may reject the record
            if seen.message_id != message_id or seen.final != stopped or seen.usage != message.usage:
                usage = answer_usage(line, message, message_id, source)
        model = None if synthetic or source.stream != "main" else message.model
        if line.version != state.version or (model is not None and model != state.model) or state.session_id is None:
            self._facts(line, model, source, record, batch)  # may also reject the line: nothing was remembered yet
        if usage is not None:
            if seen.message_id != message_id and source.stream == "main":
                state.branches.answer(source.base_id, message_id, record.data, str(line.timestamp or ""))
            seen.message_id, seen.usage, seen.final = message_id, message.usage, stopped
        assistant_blocks(message, message_id, source, self.context.parent_call, batch, synthetic)
        if usage is not None:
            batch.events.append(usage)
        if source.stream == "main":
            if line.isApiErrorMessage:
                reason = text_of(message_text(message))[:300]
                batch.events.append(SessionEnd(source, "", "error", reason))
            elif message.stop_reason in FINAL_STOPS and _speaks(message):
                batch.events.append(SessionEnd(source, "", "complete", message.stop_reason))

    def _user(self, line: SessionLine, message: ApiMessage, record: Record, batch: Batch) -> None:
        source = self._source(line, record)
        if record.data.find(_ROOT, 0, 80) >= 0:
            self._root(record, line.isSidechain, batch)
        if self.state.session_id is None or self.state.cwd is None:
            self._facts(line, None, source, record, batch)
        self.state.others.forget()
        if not line.isSidechain:
            self.state.main.forget()
        message_id = line.uuid or ""
        injected = bool(line.isMeta or line.isCompactSummary or line.promptSource == "system")
        content = message.content
        results = type(content) is list and content and content[0].type == "tool_result"  # results come first
        if not results and source.stream == "main" and not line.isCompactSummary:
            self._branch(line, source, record, batch)
        if isinstance(content, str):
            user_string(content, source, batch, message_id, injected)
        elif content:
            if self.context.kept is not None and MARK in record.data:
                put_back(content, self.context.kept)
            before = len(batch.events)
            unasked, stated, kind = self.state.headless, None, line.toolDenialKind
            if kind is not None:
                unasked, stated = unasked or was_interrupted(line), denial_outcome(kind, line.permissionDecision)
            rejected = kind == REJECTED
            user_blocks(content, source, line.toolUseResult, batch, message_id, injected, unasked, stated, rejected)
            if content[-1].type == "text" and source.stream == "main" and any(map(interrupts, batch.events[before:])):
                batch.events.append(SessionEnd(source, "", "interrupted", "interrupted by the user"))
        else:
            batch.ignore("user/empty")

    def _branch(self, line: SessionLine, source: Source, record: Record, batch: Batch) -> None:
        """Retracts what lies between a prompt and its parent. One older than the last answer is a repeated line."""
        branches, message_id = self.state.branches, line.uuid or ""
        if branches.goes_on(message_id, record.data) or str(line.timestamp or branches.last) < branches.last:
            return
        back = branches.prompt(decode_head(record.data), message_id)
        if back is not None:
            since, void = back
            batch.events.append(Retract(source, "", void, "rewind", since))

    def _meta(self, line: MetaLine, record: Record, batch: Batch) -> None:
        kind = line.type
        source = self._source(line, record)
        event: AnyEvent | None = None
        if record.data.find(_ROOT, 0, 80) >= 0:
            self._root(record, line.isSidechain, batch)
        if kind == "system":
            if self.state.cwd is None and line.sessionId is not None and line.sessionId == self.state.session_id:
                self._facts(line, None, source, record, batch)  # a prompt that a hook refused leaves nothing else
            tell_system(line, source, record, batch)
            end = end_of_run(line, source)
            if end is not None:
                batch.events.append(end)
            return
        if kind == "attachment":
            event = attached(line, source, batch)
            end = end_of_run(line, source)
            if end is not None:
                batch.events.append(end)
        elif kind == "progress":
            event = progress(line, source, batch)
        elif kind == "queue-operation":
            own = renamed(source, generated(record.original))
            text = text_of(line.content) if line.content else None
            event = QueueOperation(own, "", line.operation or "", text)
            self._late_id(line, source, batch)
            prompt = self.state.queue.delivered(line.operation or "", text, self.state.version)
            if prompt is not None:
                typed = renamed(source, generated(record.original + prompt.encode("utf-8", "replace")))
                batch.events.append(UserText(typed, "", to_raw(prompt), typed.base_id))
        elif kind == "summary":
            event = Summary(renamed(source, line.leafUuid or "summary"), "", line.summary or "", line.leafUuid)
        elif kind in ("custom-title", "ai-title"):
            title = line.customTitle or line.aiTitle or line.title
            event = SessionInfo(source, "", title=title)
        elif kind == "pr-link":
            link = f"PR #{line.prNumber} linked: {line.prUrl}"
            event = Notification(renamed(source, generated(record.original)), "", "pr-link", link)
        elif kind == "ended-by-model":
            event = Notification(renamed(source, generated(record.original)), "", kind, "the model ended the session")
        elif kind == "cost-state":
            if self._is_total_again(line):
                batch.ignore("cost-state/again")
            elif line.modelUsage and not self.state.forked:  # a fork's totals continue those of its parent
                batch.events.extend(model_shares(source, line.modelUsage))
                event = saved_usage(source, line)
            else:
                batch.ignore(kind)
        elif kind in ("user", "assistant"):
            batch.ignore(f"{kind}/empty")
        else:
            batch.unknown_type(kind or "(no type)", record)
        if event is not None:
            batch.events.append(event)

    def _is_total_again(self, line: MetaLine) -> bool:
        """Whether an earlier line had this total: history that is written again brings it back."""
        if line.startTime is None or line.totalDuration is None:
            return False
        end, ends = f"{line.startTime} {line.totalDuration} {line.totalCostUSD}", self.state.ends
        if end in ends:
            return True
        self.state.ends = [*ends[1 - MOST_ENDS :], end]
        return False

    def _late_id(self, line: MetaLine, source: Source, batch: Batch) -> None:
        """Takes the session id from a queue operation: it is the first line of a headless session."""
        if self.state.session_id is None and line.sessionId and self.context.stream == "main":
            self.state.session_id = line.sessionId
            batch.events.append(SessionInfo(source, "", line.sessionId))


def saved_usage(source: Source, line: MetaLine) -> TokenUsage:
    """The total that a process saved when it ended. The line has no time: for the session's first process it is
    `startTime` plus `totalDuration` (ms); for later ones the sum is too early, which does no harm.
    """
    usage = session_usage(source, line.modelUsage or {}, line.totalCostUSD)
    start, took = line.startTime, line.totalDuration
    return replace(usage, saved=True, until_ms=None if start is None or took is None else start + took)


def answer_usage(line: SessionLine, message: ApiMessage, key: str, source: Source) -> TokenUsage:
    """The tokens of an answer, as one of its lines reports them."""
    usage = decode_member(message.usage, decode_usage, "message.usage")
    final = message.stop_reason is not None or (usage.output_tokens or 0) > PLACEHOLDER
    return token_usage(source, key, usage, message.model, final or (line.version or "").startswith("1."))


def message_text(message: ApiMessage) -> bytes:
    """The first text of a message, as a JSON string."""
    if isinstance(message.content, str):
        return b'""'
    return next((bytes(b.text) for b in message.content or () if b.type == "text" and b.text), b'""')


def _speaks(message: ApiMessage) -> bool:
    """Whether the line holds the answer's text, its last block; the stop reason is on the lines of all blocks."""
    content = message.content
    return isinstance(content, str) or any(block.type == "text" for block in content or ())

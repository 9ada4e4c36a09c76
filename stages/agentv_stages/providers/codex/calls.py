"""The state of the rollout decoders, and their calls: opened, answered, or held while their process still runs."""

from collections.abc import Sequence

from msgspec import Raw, Struct, field

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import Outcome, Source, ToolCall, ToolResult
from agentv_stages.model.payload import NULL
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import Repeats
from agentv_stages.providers.codex.scripts import Script, named_call
from agentv_stages.providers.codex.two_threads import Others

MOST_OPEN = 10_000
MOST_ANSWERED = 2048
MOST_SCRIPTS = 256
MOST_EARLY = 64
MOST_ENDED = 8
LONGEST_ENDED = 262_144


class Copy(Struct, gc=False):
    """The copy of a text that the log has twice, held until its response item comes."""

    role: str
    text: Raw
    source: Source
    id: str = ""


class Running(Struct, gc=False):
    """The first output of a call whose process or script still runs, held until its end is reported."""

    output: Raw
    source: Source


class State(Struct):
    """The state of the rollout decoders; every list and map in it is capped.

    `thread` is the thread whose items count here; `reviewing` means that the next records belong to a review, which has
    its own log. `ends` means that the log records the ends of turns, `over` that the last turn was broken off. `answer`
    is the message id of the model answer being written, "" between answers. `open` maps calls that wait for a result to
    the id of the sub-agent they started, if any; `left` lists those whose turn is over (killed). `early` has the calls
    whose result came first, True if the result described the call; `answered` those that have a result, True until
    their output has come as well. `recent_texts` holds checksums of the last texts, `said_id` the id of the model's
    last text; their copies are dropped. `counted` is the raw `token_count` behind `totals`, `counted_ms` its time.
    `turns` are the message ids of the last turns, `begins` the ordinals of their first lines, `ordinal` that of the
    last line that may begin a turn. `replay`: a copy of `parent`'s history goes on, or may begin unless it is
    `declared`; `by_ids`: ids mark its end; `copied`: how far it has come in the parent's file. `itemized`: each command
    and patch has an item. `repeats` has the lines seen without a call id. `idle_turn` is a turn that a goal started by
    itself, until something comes of it. `turn` is the last turn, `others` the other threads of the same file.
    """

    session_id: str | None = None
    thread: str | None = None
    model: str | None = None
    window: int | None = None
    answer: str = ""
    open: dict[str, str] = {}
    left: list[str] = []
    early: dict[str, bool] = {}
    answered: dict[str, bool] = {}
    running: dict[str, Running] = {}
    scripts: list[Script] = []
    ended: list[Script] = []
    silent: list[Script] = []
    pending: list[Copy] = []
    recent_texts: list[int] = field(default_factory=list[int], name="said")
    said_id: str = ""
    user_seen: bool = False
    turns: list[list[str]] = []
    begins: list[int] = []
    ordinal: int | None = None
    outputs_end: bool = True
    itemized: bool = False
    final: bool = False
    totals: list[int] | None = None
    counted: Raw = NULL
    counted_ms: int | None = None
    repeats: Repeats = field(default_factory=Repeats, name="told")
    records: bool = False
    ends: bool = False
    over: bool = False
    reviewing: bool = False
    started: bool = False
    replay: bool = False
    by_ids: bool = False
    declared: bool = False
    parent: str | None = None
    copied: int = 0
    begun_ms: int | None = None
    idle_turn: str | None = None
    turn: str | None = None
    others: Others | None = None


class Calls:
    """The handling of calls. `state` is replaced as a whole when a follower is restored."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()
        self.history: Sequence[int] | None = None  # of the parent, read when it is needed

    def answer(self, source: Source | Record) -> str:
        """The id of the model answer that this record belongs to."""
        state = self.state
        if not state.answer:
            state.answer = f"m{source.row}"
            if state.turns and len(state.turns[-1]) < 512:
                state.turns[-1].append(state.answer)
        state.user_seen, state.idle_turn = False, None
        return state.answer

    def end_answer(self) -> None:
        """Ends the answer: the model's next output belongs to another one."""
        self.state.answer = ""

    def call(
        self,
        source: Source,
        part: str,
        answer: str,
        call_id: str,
        name: str,
        value: Raw,
        parent: str | None,
        batch: Batch,
    ) -> None:
        state = self.state
        state.final = False
        if not state.early or state.early.pop(call_id, None) is None:
            remember(state.open, call_id, "", MOST_OPEN)
        batch.events.append(
            ToolCall(source, part, answer, call_id, name, value, parent or self.context.parent_call, state.model)
        )

    def result(
        self,
        source: Source,
        call_id: str,
        output: Raw | None,
        outcome: Outcome | None,
        exit_code: int | None,
        duration: int | None,
        batch: Batch,
        part: str = "",
    ) -> None:
        state = self.state
        agent = state.open.pop(call_id, None)
        if agent is None:
            self.early(call_id, False)
        held = state.running.pop(call_id, None) if state.running else None
        remember(state.answered, call_id, held is None, MOST_ANSWERED)  # a held output has ended its answer already
        batch.events.append(ToolResult(source, part, call_id, output, outcome, exit_code, duration, agent or None))

    def early(self, call_id: str, whole: bool) -> None:
        """Records a result that came before its call; `whole` means that the result also described the call."""
        remember(self.state.early, call_id, whole, MOST_EARLY)

    def hold(self, call_id: str, output: Raw | None, source: Source, batch: Batch) -> None:
        """Holds an output that says "still running": an item will end its call, or nothing in this run will."""
        state = self.state
        if len(state.running) >= MOST_SCRIPTS:
            self._let_go(next(iter(state.running)), batch)
        state.running[call_id] = Running(output or NULL, source)

    def _let_go(self, call_id: str, batch: Batch) -> None:
        held = self.state.running[call_id]
        self.result(held.source, call_id, held.output, None, None, None, batch)

    def let_go(self, batch: Batch) -> None:
        """At the end of a turn or of the input: emits the held outputs; what runs in the background reports no more."""
        state = self.state
        if state.running:
            for call_id in list(state.running):
                self._let_go(call_id, batch)
            for script in state.scripts:
                if script.counted:
                    self.ended(script)
            state.scripts = [script for script in state.scripts if not script.counted]

    def ended(self, script: Script) -> None:
        """Keeps a script that is over, as its items may come late. Those that count as calls are kept separately."""
        if len(script.input) <= LONGEST_ENDED:
            kept = self.state.silent if script.counted else self.state.ended
            kept.append(script)
            if len(kept) > MOST_ENDED:
                del kept[0]

    def leave(self, batch: Batch) -> None:
        """Another turn begins: a script without output ended with the previous run, one in the background stays."""
        scripts, self.state.scripts = self.state.scripts, []
        for script in scripts:
            if script.counted:
                self.state.scripts.append(script)
            else:
                self.count(script, batch)
                self.ended(script)

    def count(self, script: Script, batch: Batch) -> None:
        """Emits a script as a call itself if the log shows no call that it made."""
        if script.made_calls or script.counted:
            return
        script.counted = True
        name, value = named_call(script.input)
        self.call(script.source, "", script.message_id, script.call_id, name, value, None, batch)

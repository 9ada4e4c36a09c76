"""What the rollout decoders remember, and the calls in it: opened, answered, held while their process goes on."""

from msgspec import Raw, Struct, field

from agentv_stages.batch import Batch, Record
from agentv_stages.event import Outcome, Source, ToolCall, ToolResult
from agentv_stages.payload import NULL
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.codex.scripts import Script, named_call
from agentv_stages.recent import remember
from agentv_stages.repeats import Repeats

MOST_OPEN = 10_000
MOST_ANSWERED = 2048
MOST_SCRIPTS = 256
MOST_EARLY = 64
MOST_ENDED = 8
LONGEST_ENDED = 262_144


class Copy(Struct, gc=False):
    """A text that the log tells a second time, waiting for its response item."""

    role: str
    text: Raw
    source: Source
    id: str = ""


class Running(Struct, gc=False):
    """The first output of a call whose process or script goes on, held until its end is told."""

    output: Raw
    source: Source


class State(Struct):
    """What the rollout decoders remember; every list and map in it is capped.

    `thread` is the one whose items count here; `reviewing` says that a review tells what comes, which has a log of its
    own. `ends` says that the log tells how its turns end, `over` that the last one was broken off. `answer` is the
    message id of the model answer that is being written, "" between answers. `open` maps the calls that wait for a
    result to the sub-agent's id that they started, if any; `left` has those of them whose turn is over (a kill);
    `early` those whose result came first, True where it told the call too; `answered` those that have one, True until
    their output has come, too. `said` holds checksums of the last texts, `said_id` the id of the model's last one,
    whose copies are not needed. `counted` is the `token_count` that `totals` are of, as it stands in the log,
    `counted_ms` its time. `turns` are the ids of the last turns' messages, `begins` the ordinals of their first lines,
    `ordinal` that of the last line that may begin one. `told` has the lines that bear no call id. `idle_turn` is the
    turn that began by itself, for a goal, until something comes of it.
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
    said: list[int] = []
    said_id: str = ""
    user_seen: bool = False
    turns: list[list[str]] = []
    begins: list[int] = []
    ordinal: int | None = None
    outputs_end: bool = True
    final: bool = False
    totals: list[int] | None = None
    counted: Raw = NULL
    counted_ms: int | None = None
    told: Repeats = field(default_factory=Repeats)
    records: bool = False
    ends: bool = False
    over: bool = False
    reviewing: bool = False
    started: bool = False
    replay: bool = False
    begun_ms: int | None = None
    idle_turn: str | None = None


class Calls:
    """The part that deals with calls. `state` is replaced as a whole when a follower is restored."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

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
        """What the model says next is another answer."""
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
        if state.running:
            state.running.pop(call_id, None)
        remember(state.answered, call_id, True, MOST_ANSWERED)
        batch.events.append(ToolResult(source, part, call_id, output, outcome, exit_code, duration, agent or None))

    def early(self, call_id: str, whole: bool) -> None:
        """A result without its call; `whole` where it told the call too."""
        remember(self.state.early, call_id, whole, MOST_EARLY)

    def hold(self, call_id: str, output: Raw | None, source: Source, batch: Batch) -> None:
        """An output that says "still running": its call ends with an item, or not at all in this run."""
        state = self.state
        if len(state.running) >= MOST_SCRIPTS:
            self._let_go(next(iter(state.running)), batch)
        state.running[call_id] = Running(output or NULL, source)

    def _let_go(self, call_id: str, batch: Batch) -> None:
        held = self.state.running.pop(call_id)
        self.result(held.source, call_id, held.output, None, None, None, batch)

    def let_go(self, batch: Batch) -> None:
        """The end of a turn or of the input: what goes on in the background has given what it said."""
        state = self.state
        if state.running:
            for call_id in list(state.running):
                self._let_go(call_id, batch)
            for script in state.scripts:
                if script.counted:
                    self.ended(script)
            state.scripts = [script for script in state.scripts if not script.counted]

    def ended(self, script: Script) -> None:
        """A script is over; an item of it may come late. Those that count as calls themselves stand apart."""
        if len(script.input) <= LONGEST_ENDED:
            kept = self.state.silent if script.counted else self.state.ended
            kept.append(script)
            if len(kept) > MOST_ENDED:
                del kept[0]

    def leave(self, batch: Batch) -> None:
        """Another turn begins: a script that gave nothing ended with the run before, one in the background goes on."""
        scripts, self.state.scripts = self.state.scripts, []
        for script in scripts:
            if script.counted:
                self.state.scripts.append(script)
            else:
                self.count(script, batch)
                self.ended(script)

    def count(self, script: Script, batch: Batch) -> None:
        """A script that made no call which the log shows is a call itself."""
        if script.made or script.counted:
            return
        script.counted = True
        name, value = named_call(script.input)
        self.call(script.source, "", script.message_id, script.call_id, name, value, None, batch)

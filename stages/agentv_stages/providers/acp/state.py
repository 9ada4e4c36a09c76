"""What the ACP decoder remembers between messages."""

from msgspec import Raw, Struct, field

from agentv_stages.event import EMPTY_OBJECT, Outcome, Source
from agentv_stages.payload import NULL
from agentv_stages.repeats import Repeats

MOST = 10_000


class Call(Struct):
    """An open call as its messages left it: null and absent members change nothing, arrays replace, `pieces` (of
    version 2) come behind the `content`. `early` is a last status that came before the call itself; `begun` a checksum
    of the title and the arguments that it was announced with, 0 where it was not."""

    source: Source
    message_id: str
    name: str | None = None
    title: str = ""
    first_title: str = ""
    kind: str | None = None
    input: Raw = EMPTY_OBJECT
    output: Raw = NULL
    content: Raw = NULL
    pieces: list[Raw] = []
    exit_code: int | None = None
    signal: str | None = None
    printed: list[str] = []
    paths: tuple[str, ...] = ()
    parent: str | None = None
    emitted: bool = False
    bad: bool = False
    verdict: Outcome | None = None
    early: str = ""
    begun: int = 0
    end: Source | None = None


class Answer(Struct):
    """The model answer that a stream is in. `open` and `ended` count its calls; `marked`: its usage came, as `mark`."""

    id: str = ""
    native: str = ""
    open: int = 0
    ended: int = 0
    marked: bool = False
    mark: str = ""
    spoke: bool = False


class Held(Struct):
    """A piece of text of which it is not known yet whether a sub-agent said it."""

    source: Source
    text: Raw
    thought: bool


class Terminal(Struct):
    """A terminal that a command runs in: what it printed, how it ended."""

    printed: list[bytes] = []
    exit_code: int | None = None
    signal: str | None = None


class Asked(Struct):
    """A permission request that waits for its answer: `refusals` are the options that say no."""

    call_id: str
    refusals: list[str] = []


class AcpState(Struct):
    agent: str = ""
    model: str | None = None
    session_id: str | None = None
    title: str | None = None
    window: int | None = None
    cost: float | None = None
    prompting: bool = False
    user_id: str = ""
    failure: str | None = None
    thoughts: bool = False
    called: bool = False
    usage_marks: bool = False
    spent: tuple[int | None, int | None] = (None, None)
    """Input and output so far, of an agent that tells them beside its updates (OpenHands)."""
    calls: dict[str, Call] = {}
    closed: dict[str, int] = {}
    """Calls that are over, each with the checksum (`begun`) of what it was announced with."""
    answers: dict[str, Answer] = {}
    requests: dict[str, str] = {}
    told: Repeats = field(default_factory=Repeats)
    """The answers to prompts."""
    asked: dict[str, Asked] = {}
    replay: str | None = None
    """The id of the open request to load a session: what is updated meanwhile was said before."""
    waits: dict[str, str] = {}
    """The agent's requests about terminals: request id to terminal id."""
    terminals: dict[str, Terminal] = {}
    children: dict[str, bool] = {}
    """Sessions of sub-agents."""
    held: list[Held] = []
    tasks: dict[str, str] = {}
    """Calls that started sub-agents and are not over: call id to agent id, "" while it is not known."""

"""The state of the ACP decoder between messages."""

from msgspec import Raw, Struct, field

from agentv_stages.model.event import EMPTY_OBJECT, Outcome, Source
from agentv_stages.model.payload import NULL
from agentv_stages.model.repeats import Repeats

MOST = 10_000


class Call(Struct):
    """An open call, merged from its messages: null and absent members change nothing, arrays replace, `pieces` (version
    2) are appended to `content`. `early` is a final status that came before the call itself; `begun` a checksum of the
    title and the arguments that it was announced with, 0 if it was not announced. `awaited`: it was announced before
    its arguments; `written` shows them while the model writes them (Kimi).
    """

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
    awaited: bool = False
    permission_asked: bool = field(default=False, name="asked")
    written: Raw = NULL
    end: Source | None = None


class Answer(Struct):
    """The current answer of a stream. `open` and `ended` count its calls; `marked`: its usage came, known by `mark`."""

    id: str = ""
    native: str = ""
    open: int = 0
    ended: int = 0
    marked: bool = False
    mark: str = ""
    spoke: bool = False


class Held(Struct):
    """A piece of text that a sub-agent may have said."""

    source: Source
    text: Raw
    thought: bool


class Terminal(Struct):
    """A terminal in which a command runs: its output so far, and its exit code or signal."""

    printed: list[bytes] = []
    exit_code: int | None = None
    signal: str | None = None


class PermissionRequest(Struct):
    """A permission request without an answer yet: `refusals` are the options that refuse."""

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
    """Input and output so far, from an agent that adds them to its updates (OpenHands)."""
    calls: dict[str, Call] = {}
    closed: dict[str, int] = {}
    """Finished calls, each with the checksum (`begun`) of what it was announced with."""
    answers: dict[str, Answer] = {}
    requests: dict[str, str] = {}
    answered: Repeats = field(default_factory=Repeats, name="told")
    """The answers to prompts seen so far."""
    natives: Repeats = field(default_factory=Repeats)
    """The agent's ids of messages, each on its stream: an answer after a result is another, whatever its id."""
    permissions: dict[str, PermissionRequest] = field(default_factory=dict[str, PermissionRequest], name="asked")
    aliases: dict[str, str] = {}
    """Other ids of calls: of permission requests, or of calls that were announced after their request."""
    unannounced: dict[str, bool] = {}
    """Calls of which only a permission request is known."""
    replay: str | None = None
    """The id of the open request to load a session: updates until its answer repeat what was said before."""
    waits: dict[str, str] = {}
    """The agent's requests about terminals: request id to terminal id."""
    terminals: dict[str, Terminal] = {}
    children: dict[str, bool] = {}
    """Sessions of sub-agents."""
    held: list[Held] = []
    tasks: dict[str, str] = {}
    """Unfinished calls that started sub-agents: call id to agent id, "" while it is unknown."""

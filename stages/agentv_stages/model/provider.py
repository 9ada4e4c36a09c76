"""The contract of a provider: its dialects, its tools, the places of its logs. A further agent is a further provider.

A provider is a package `agentv_stages/providers/<name>/` whose `__init__.py` defines `PROVIDER`; see
docs/adding-a-provider.md. Plug-ins define one elsewhere and name it in the entry point group `agentv_stream.providers`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, Source
from agentv_stages.model.store import DocumentTable, StoreTable
from agentv_stages.model.tools import ToolTable

if TYPE_CHECKING:
    from agentv_stages.redaction.redactor import Redactor

REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError)
"""What decoders raise for a record that they cannot decode; the last for a time or duration that is not finite."""

Kept = TypeVar("Kept")
Head: TypeAlias = Sequence[Mapping[str, Any]]
"""The first records of an input that are JSON objects, decoded; at most 64."""


class DecodeContext(Struct, frozen=True):
    """Facts about an input that a decoder knows in advance.

    `file` names it in sources; `place` is its full path, for agents whose folder names have facts that no record has. A
    sub-agent's file comes with the `stream` of its records, the `parent_call` that started it and the `session_id` of
    its parent, as far as they are known. `further`: the file continues the session's own log, with the same decoder and
    row numbering. In a fork, records older than `begun_ms` were copied from the parent's log; it is set where nothing
    in the log shows that before the copy ends. `history` reads a parent's log by its id, for decoders that compare
    records with it, and returns a fingerprint of each record; none of a log that cannot be read. `kept` reads an output
    that the agent keeps in a file of its own, by the file's name; empty where it cannot be read. `redact` is for texts
    that a decoder joins from several records of a session that is redacted.
    """

    file: str = ""
    stream: str = MAIN
    parent_call: str | None = None
    session_id: str | None = None
    further: bool = False
    place: str = ""
    begun_ms: int | None = None
    history: Callable[[str], Sequence[int]] | None = None
    kept: Callable[[str], bytes] | None = None
    redact: Callable[[bytes], bytes] | None = None

    def __eq__(self, other: object) -> bool:
        """Whether the facts are equal; the functions are made anew for each reading."""
        return isinstance(other, DecodeContext) and self._facts == other._facts

    def __hash__(self) -> int:
        return hash(self._facts)

    @property
    def _facts(self) -> tuple[object, ...]:
        return (
            self.file, self.stream, self.parent_call, self.session_id, self.further, self.place, self.begun_ms
        )  # fmt: skip

    def source(self, record: Record, time_ms: int | None = None, base_id: str = "") -> Source:
        """The source of a record, on the stream of the input. Speed-critical decoders build theirs inline."""
        return Source(self.file, record.row, record.offset, record.length, time_ms, self.stream, base_id)

    def redacted(self, redactor: "Redactor | None") -> "DecodeContext":
        """The same for a session that is redacted, with the outputs that the agent keeps redacted."""
        if redactor is None:
            return self
        kept, redact = self.kept, redactor.redact
        return replace(self, kept=None if kept is None else partial(_redacted, redact, kept), redact=redact)


def _redacted(redact: Callable[[bytes], bytes], kept: Callable[[str], bytes], name: str) -> bytes:
    return redact(kept(name))


class RecordDecoder(Protocol):
    """Turns the records of one input into events; one object per input.

    All that it remembers is in `state`, a Struct (mutable, default-constructible, JSON-encodable by msgspec), so that a
    follower can save it and continue later. It must not grow with the session.
    """

    state: Any  # each decoder's own Struct; a narrower type here would reject all of them

    def decode(self, record: Record, batch: Batch) -> None:
        """Appends the events of `record` to `batch.events`; counts a record without any (`ignore`, `unknown_type`).

        Decodes the record before it appends anything.

        Raises: msgspec.MsgspecError or UnicodeDecodeError when the bytes do not fit the wire Structs; `Decode` then
        repairs the record (duplicate keys, NaN, lone surrogates, members of an unexpected shape) and calls again.
        """
        ...

    def flush(self, batch: Batch) -> None:
        """The input has ended: appends events that were held back."""
        ...


class About(Struct, frozen=True):
    """Facts about a dialect for people: the command that makes it, the versions in the recordings that it was tested
    with (other logs do not name theirs), its end record or how a good end is recognised without one. `places` are globs
    below the provider's roots, if they are not the first pattern's; empty: it may be anywhere.
    """

    made_by: str | None = None
    versions: str | None = None
    end: str | None = None
    places: tuple[str, ...] | None = None


class Dialect(Struct, frozen=True):
    """One log format of a provider.

    `detect` examines the first records and returns how sure it is, 0.0 to 1.0 (1.0: no other format looks like this).
    `has_end`: a good run has an end record (`SessionEnd`); without it a session is `incomplete`. Where a dialect has
    none, a session is `complete` when no call is open and its last answer is final, and `unknown` otherwise.
    `live`: the format of a pipe; False for a log on disk. `losses`, for the result, lists facts that the format cannot
    express. `has_prompt` False: the log does not contain the user's prompt, so a caller who knows it may add it.
    `answer_only`: the log has the last answer and none of the work for it, so figures would be meaningless; `run` does
    not take it for a stream of events.
    `stored`: rows of a database that several agents share. `lines`: a line is a content block of an answer, which
    bobbin's older count of turns is about. `displayed_models`: models have the names that are shown to people, so the
    model that was called is not known. `about` is for people.
    `deltas`: patterns that find the text of a delta (`model/deltas.py`), for secrets that are printed in pieces.
    `ranges`: a decoder that starts in the middle of a log soon knows all that it needs, so ranges of a large log can be
    decoded in parallel.
    """

    name: str
    detect: Callable[[Head], float]
    decoder: Callable[[DecodeContext], RecordDecoder]
    live: bool
    has_end: bool
    losses: tuple[str, ...] = ()
    has_prompt: bool = True
    ranges: bool = False
    answer_only: bool = False
    stored: bool = False
    lines: bool = False
    displayed_models: bool = False
    deltas: tuple[bytes, ...] = ()
    about: About = About()


PROMPT = "{PROMPT}"
MODEL = "{MODEL}"


class Start(Struct, frozen=True):
    """How an agent's program is started so that it prints a live dialect.

    `command` begins with the program and contains PROMPT; `piped` is the command for a prompt on standard input, None
    if it is not known to read one there. `model` are the option words for a MODEL; None if it can only be set in the
    agent's own configuration. `kinds` are the kinds of targets in AgentV that mean this agent, and its name where
    AgentV has no kind. `prompt_options`: the prompt is always the value of such an option, never an argument of its
    own.
    """

    command: tuple[str, ...]
    model: tuple[str, ...] | None = ("--model", MODEL)
    piped: tuple[str, ...] | None = None
    kinds: tuple[str, ...] = ()
    prompt_options: frozenset[str] | None = None

    @property
    def program(self) -> str:
        """The name of the agent's program."""
        return self.command[0]


class Registry(Struct, frozen=True):
    """A JSON file in a root that names further folders of logs: each element of its list `entries` has one in the
    member `folder`, relative to that in the member `base`."""

    file: str
    entries: str
    folder: str
    base: str


class LogRoot(Struct, frozen=True):
    """The place of a provider's logs: `$variable/below` where the variable is set, else `default` (`~` expanded).

    `below` is also added to `default`, as far as that does not end with it. `patterns` are globs below the root that
    find main session files; `database` marks an SQLite store. The folders that a `registry` names are roots, too.
    """

    default: str
    variable: str | None = None
    below: str = ""
    patterns: tuple[str, ...] = ("**/*.jsonl",)
    database: bool = False
    registry: Registry | None = None


class Companion(Struct, frozen=True):
    """A file that belongs to a session: a sub-agent's file, or a file that continues the session's own log."""

    path: str
    context: DecodeContext


class Folder(Protocol):
    """The access to the file system that `Provider.companions` gets."""

    def glob(self, pattern: str) -> list[str]:
        """Paths of files that match, sorted; the folders before the first `*` are taken literally."""
        ...

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` bytes, decompressed; empty where the file cannot be read."""
        ...

    def remembered(self, key: str, make: Callable[[], Kept]) -> Kept:
        """The value of `make` for the files of the folder; made once where these do not change."""
        ...


class TitleIndex(Struct, frozen=True):
    """The titles of an agent's sessions in a file of their own: `place` gives its path for a log, None where there
    is none; `read` its titles by session id."""

    place: Callable[[str], str | None]
    read: Callable[[bytes], dict[str, str]]


def no_companions(path: str, folder: Folder) -> list[Companion]:
    """`companions` of a provider whose sub-agents have no files of their own."""
    return []


def plain_context(path: str, folder: Folder) -> DecodeContext:
    """`context` of a log that contains everything a decoder needs."""
    return DecodeContext(path)


class Provider(Struct, frozen=True):
    """An agent: its dialects (live ones first), its table of tools, its log roots, its sub-agents' files.

    `aliases` are AgentV's provider kinds that mean this provider. `companions(path, folder)` lists the sub-agents'
    files of the session whose main file is `path`, in a fixed order; files that continue its own log come first. Where
    it is expensive to find out who started them, `companion_files` returns only their paths, so that a follower calls
    `companions` only for new ones. `telling_names`: the name of a sub-agent's file shows that it is one, so that no
    other file needs to be examined. `start` is how `run` starts the agent. `context` gives the decoder of a main file
    the facts from files beside the log. `history` is that of `DecodeContext` for the log at a path; it is read only if
    a decoder needs it. `titles` reads the file in which an agent keeps the titles of all sessions. `kept_outputs` is
    the folder in which the agent keeps outputs that are too large for the log at a path. `store` describes the tables
    of its database. `owns_store` decides whether a session in a database that several agents share is this agent's, by
    the version that wrote it. `logs_of_database` gives the paths of logs that hold the same session as a database. If
    there is such a log, it counts, and the database is read only if it is named itself.
    """

    name: str
    title: str
    dialects: tuple[Dialect, ...]
    tools: ToolTable
    aliases: tuple[str, ...] = ()
    roots: tuple[LogRoot, ...] = ()
    companions: Callable[[str, Folder], list[Companion]] = no_companions
    companion_files: Callable[[str, Folder], list[str]] | None = None
    context: Callable[[str, Folder], DecodeContext] = plain_context
    telling_names: bool = False
    start: Start | None = None
    owns_store: Callable[[str | None], bool] | None = None
    history: Callable[[str, Folder, str], Sequence[int]] | None = None
    acp: AcpHabits | None = None
    titles: TitleIndex | None = None
    kept_outputs: Callable[[str], str | None] | None = None
    store: StoreTable | DocumentTable | None = None
    logs_of_database: Callable[[str], tuple[str, ...]] | None = None

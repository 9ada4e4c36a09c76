"""What a provider is: its dialects, its tools, where its logs lie. Adding an agent means adding one of these.

A provider is a package `agentv_stages/providers/<name>/` whose `__init__.py` defines `PROVIDER`; see
docs/adding-a-provider.md. Plug-ins define one elsewhere and name it in the entry point group `agentv_stream.providers`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from agentv_stages.batch import Batch, Record
from agentv_stages.event import MAIN, Source
from agentv_stages.tools import ToolTable

Head: TypeAlias = Sequence[Mapping[str, Any]]
"""The first records of an input that are JSON objects, decoded; at most 64."""


@dataclass(frozen=True, slots=True)
class DecodeContext:
    """What a decoder is told about its input.

    `file` names it in sources; `place` is the whole path to it, for agents whose folders tell what no record says. A
    file of a sub-agent comes with the `stream` that its records belong to, the `parent_call` that started it and the
    `session_id` of its parent, as far as they are known. With `further` it goes on with the session's own log: so does
    the decoder, and so do the numbers of its rows. In a fork what is older than `begun_ms` was copied from its parent's
    log, where nothing in the log itself says so before the copy ends.
    """

    file: str = ""
    stream: str = MAIN
    parent_call: str | None = None
    session_id: str | None = None
    further: bool = False
    place: str = ""
    begun_ms: int | None = None

    def source(self, record: Record, time_ms: int | None = None, base_id: str = "") -> Source:
        """Where the record stands, on the stream of the input. Hot decoders make their sources in place."""
        return Source(self.file, record.row, record.offset, len(record.data), time_ms, self.stream, base_id)


class RecordDecoder(Protocol):
    """Turns the records of one input into events; one object per input.

    All that it remembers lies in `state`, a Struct (mutable, default-constructible, JSON-encodable by msgspec), so
    that a follower can write it down and go on later. It must not grow with the session.
    """

    state: Any  # a Struct of the decoder's own; a narrower type here would refuse every decoder's

    def decode(self, record: Record, batch: Batch) -> None:
        """Appends what `record` says to `batch.events`, counts what says nothing (`ignore`, `unknown_type`).

        Decodes the record before it appends anything.

        Raises: msgspec.MsgspecError or UnicodeDecodeError when the bytes do not fit the wire Structs; `Decode` then
        repairs the record (duplicate keys, NaN, lone surrogates, members of an unexpected shape) and calls again.
        """
        ...

    def flush(self, batch: Batch) -> None:
        """The input has ended: appends events that were held back."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """One form of log of a provider.

    `detect` looks at the first records and says how sure it is, 0.0 to 1.0 (1.0: no other format looks like this).
    `has_end`: a good run has an end record (`SessionEnd`); without it a session is `incomplete`. Where a dialect has
    none, a session is `complete` when no call is open and its last answer is final, else `unknown`.
    `live`: the format of a pipe; else of a log on disk. `losses` says what the format cannot tell, for the result.
    `has_prompt` False: the user's prompt does not stand in the log, so that a caller who knows it may put it in.
    `ranges`: a decoder that begins in the middle of a log soon knows all that it needs, so that ranges of a large log
    can be decoded side by side.
    """

    name: str
    detect: Callable[[Head], float]
    decoder: Callable[[DecodeContext], RecordDecoder]
    live: bool
    has_end: bool
    losses: tuple[str, ...] = ()
    has_prompt: bool = True
    ranges: bool = False


@dataclass(frozen=True, slots=True)
class LogRoot:
    """Where a provider keeps its logs: `$variable/below` where the variable is set, else `default` (`~` expanded).

    `patterns` are globs below the root that find main session files; `database` marks an SQLite store.
    """

    default: str
    variable: str | None = None
    below: str = ""
    patterns: tuple[str, ...] = ("**/*.jsonl",)
    database: bool = False


@dataclass(frozen=True, slots=True)
class Companion:
    """A file that belongs to a session: a sub-agent's, or a further one of its own."""

    path: str
    context: DecodeContext


class Folder(Protocol):
    """What `Provider.companions` may ask of the file system."""

    def glob(self, pattern: str) -> list[str]:
        """Paths of files that match, sorted; the folders before the first `*` are taken literally."""
        ...

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` bytes, unpacked, empty where the file cannot be read."""
        ...


def no_companions(path: str, folder: Folder) -> list[Companion]:
    """A provider whose sub-agents have no files of their own."""
    return []


def plain_context(path: str, folder: Folder) -> DecodeContext:
    """Of a log that says all about itself."""
    return DecodeContext(path)


@dataclass(frozen=True, slots=True)
class Provider:
    """An agent: its dialects (live ones first), its table of tools, its log roots, its sub-agents' files.

    `aliases` are AgentV's provider kinds that mean this provider. `companions(path, folder)` lists the sub-agents'
    files of the session whose main file is `path`, in a fixed order; further files of its own log stand first. Where
    finding out who began them is dear, `companion_files` gives their paths alone: a follower asks on only for new ones.
    `context` is what a decoder of a main file is told that lies beside the log.
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

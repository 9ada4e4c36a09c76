"""The data types of bulk work: units (one session each), tasks of several units, and their outcomes.

All of them can be pickled and written as JSON: a task may be sent to another process or machine.
"""

import os

from msgspec import Raw, Struct, field

from agentv_stages.figures.merge import By, Summary
from agentv_stages.figures.session_figures import SessionFigures
from agentv_stages.model.payload import NULL
from agentv_stream.otel.options import Export
from agentv_stream.redaction.redaction import Redaction
from agentv_stream.stores.store import STORE_SIGN


def printable(place: str) -> tuple[str, bytes | None]:
    """A path as UTF-8 text, and its bytes if the text does not reproduce them."""
    try:
        place.encode()
    except UnicodeEncodeError:
        return place.encode("utf-8", "backslashreplace").decode(), os.fsencode(place)
    return place, None


class Unit(Struct, frozen=True):
    """One session: the whole of a file or object, or a session of a store (`session`).

    `source` is an absolute path or a URL. `mtime_ns` 0: the time of an object that has none. `position` orders units.
    `in_folder` marks a file that was found in a folder, not given by path: it need not be a session at all.
    `copies` are names of other files that hold the same, or its beginning.
    `read_before` marks a source that an earlier run read whole: a part of it must not take the place of that.
    `raw` is the path as bytes where it is no UTF-8, which JSON and Parquet cannot hold; `source` shows `\\udcXX` then.
    """

    source: str
    position: int = 0
    size: int = 0
    mtime_ns: int = 0
    session: str | None = None
    in_folder: bool = field(default=False, name="met")
    raw: bytes | None = None
    read_before: bool = field(default=False, name="had")
    copies: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The path or URL to open."""
        return self.source if self.raw is None else os.fsdecode(self.raw)

    @property
    def path(self) -> str:
        """The path or URL to open, with `::ID` for a session of a store."""
        return self.place if self.session is None else f"{self.place}{STORE_SIGN}{self.session}"

    @property
    def name(self) -> str:
        """The one name of the unit in reports and data sets."""
        return self.source if self.session is None else f"{self.source}#{self.session}"


class Checks(Struct, frozen=True):
    """Specs by their paths, the chosen case (None: as `check` chooses), and a digest of the specs' contents."""

    specs: tuple[str, ...]
    case: str | None
    digest: str


class Work(Struct, frozen=True):
    """The work for every unit. Places are folders or URLs; None: not wanted.

    `state` holds the finished units, for `--resume`. `results` asks for the result of each session, `by` for a summary
    by that group, `apart` for the figures of each session, which are by time and model also if `dated`. `text_chars`
    is how much of a text the data set keeps.
    `run` identifies one run of the program. `records` and `stages` name the caller's stages (`own_stages`).
    `sync`: as in `outputs/durable.py`.
    `machine` is put into results. `export` asks for the spans of each session, in `state`, `checks` for verdicts.
    `redaction` has the key of the markers: a work stays in memory.
    """

    run: str = ""
    transcripts: str | None = None
    trajectories: str | None = None
    dataset: str | None = None
    state: str | None = None
    results: bool = True
    by: By | None = None
    apart: bool = False
    dated: bool = True
    sequences: bool = False
    provider: str | None = None
    target: str | None = None
    watch: tuple[str, ...] = ()
    subagents: bool = True
    prices: bool = False
    text_chars: int = 2000
    records: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    sync: bool = True
    redaction: Redaction | None = None
    pages: str | None = None
    page_redaction: Redaction | None = None
    export: Export | None = None
    dump_traces: bool = False
    include_trace: bool = False
    machine: str | None = None
    checks: Checks | None = None


class Task(Struct, frozen=True):
    """Units that one worker reads in one task. `number` orders tasks, `size` is the total bytes of its units."""

    number: int
    units: tuple[Unit, ...]

    @property
    def size(self) -> int:
        """The bytes of its files as stored."""
        return sum(unit.size for unit in self.units)


class ReadFile(Struct, frozen=True):
    """The state of a file when it was read; `tail` as in `Finished`."""

    path: str
    size: int
    mtime_ns: int
    raw: bytes | None = None
    tail: str = ""

    @property
    def place(self) -> str:
        """The path or URL to open."""
        return self.path if self.raw is None else os.fsdecode(self.raw)


class Rows(Struct, frozen=True):
    """A unit's rows of one table in a staging file: `rows` of them, from row `offset` of record batch `batch` on."""

    path: str
    batch: int
    offset: int
    rows: int


class Finished(Struct, kw_only=True):
    """The record of one unit. `error` is None if it succeeded; `kind` is the exception's name.

    `damage` says that only a part of it could be read; everything else describes that part.
    `tail` is a hash of the last bytes: with size and time it shows whether the source is still the same. `head` is one
    of the first line, unpacked: with the tail it finds a source that was renamed, packed, or has grown.
    `companions` are the further files that were read with it, `left_out` those of sub-agents that were not to be read.
    `sizes` are the lengths of its local outputs.
    `alone`: its figures do not depend on the logs of other sessions.
    """

    unit: Unit
    error: str | None = None
    kind: str | None = None
    damage: str | None = None
    tail: str = ""
    head: str = ""
    companions: list[ReadFile] = []
    left_out: list[str] = []
    alone: bool = True
    provider: str = "unknown"
    day: str = "unknown"
    transcript: str | None = None
    letters: str | None = None
    trajectory: str | None = None
    spans: str | None = None
    others: list[str] = []
    page_title: str | None = None
    rows: dict[str, Rows] = {}
    sizes: dict[str, int] = {}

    @property
    def whole(self) -> bool:
        """Whether it was read to its end."""
        return self.error is None and self.damage is None

    @property
    def outputs(self) -> set[str]:
        """The files that were written for it alone, but for the blobs of its dead letters."""
        own = (self.transcript, self.letters, self.trajectory, self.spans)
        return {place for place in own if place is not None}.union(self.others)

    @property
    def parts(self) -> set[str]:
        """The other files that belong to the session."""
        return {*(seen.path for seen in self.companions), *self.left_out}


class Done(Finished, kw_only=True):
    """The outcome of one unit. `result` is JSON, `faults` counts dead letters by reason."""

    result: Raw = NULL
    faults: dict[str, int] = {}


class Separate(Struct):
    """The summary of one session, not merged yet: unless `certain`, it may turn out to be part of another session.
    `session` has its figures where they are to be grouped later; the summary then has only its sequence."""

    name: str
    summary: Summary
    certain: bool = False
    session: SessionFigures | None = None


class Report(Struct, kw_only=True):
    """A worker's report on one task: its units' outcomes in order, and their merged summary."""

    task: int
    done: list[Done] = []
    summary: Summary | None = None
    separate: list[Separate] = []

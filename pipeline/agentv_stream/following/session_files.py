"""The files of a followed session, in order: its log, further parts of it, and the logs of its sub-agents."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from msgspec import structs

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import MAIN
from agentv_stages.model.payload import printable_path
from agentv_stages.model.provider import Companion, DecodeContext, Folder, Provider
from agentv_stages.session.inputs import DecodeInputs
from agentv_stream.following.growing import GrowingFile, InputRow
from agentv_stream.following.taken_records import Counts, Repeated, TakenRecords
from agentv_stream.sources.folder import LocalFolder, companions_of, context_of
from agentv_stream.sources.packed_folder import companion_files, unpacked_name


@dataclass
class Input:
    """One file of a session. A `generation` above 0 continues a log, part of which other bytes or files contained."""

    file: GrowingFile
    context: DecodeContext
    state: str = "live"
    generation: int = 0
    repeated: Repeated = field(default_factory=Repeated)
    gone: bool = False  # the file no longer exists
    mute_until: int = 0  # records before this offset are processed but not emitted
    delivered_until: int = 0  # they go into the outputs, but were delivered when the file was read before

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def further(self) -> bool:
        """Whether this is not the session's first file but continues its log."""
        return self.generation > 0 and self.context.stream == MAIN

    @property
    def printable_path(self) -> str:
        """Its path as used in the stages and the outputs."""
        return printable_path(self.file.path)

    def open(self, decode: DecodeInputs, further: bool) -> None:
        """Gives the file its decoder; a `further` part of a log uses that of the log."""
        decode.open(self.printable_path, structs.replace(self.context, further=further))

    def restart(self, file: GrowingFile, delivered: bool) -> None:
        """It is read from its beginning; with `delivered` the part read before is not delivered again."""
        self.delivered_until = max(self.delivered_until, self.file.reader.offset) if delivered else 0
        self.file.files.close(self.file)
        self.file, self.repeated = file, Repeated()


class SessionFiles:
    """`main` is the path of the log, `inputs` are all files, `taken` the records that were read in them.

    `stored` returns the hashes of the records in the cursors.
    """

    def __init__(self, main: str, stored: Callable[[], Counts]) -> None:
        self.main = main
        self.inputs: list[Input] = []
        self.taken = TakenRecords(stored)
        self.printed = False  # the log is one document on several lines

    @property
    def document(self) -> bool:
        """Whether the log is one JSON value that its agent rewrites at each change."""
        return self.printed or bool(self.inputs and self.inputs[0].path.endswith(".json"))

    def rewritten(self, path: str) -> bool:
        """Whether a file is rewritten as a whole: the log, or what an agent stores beside it, such as its totals."""
        return self.document or path.endswith(".json")

    def add(self, file: GrowingFile, context: DecodeContext | None = None) -> Input:
        """Adds a file."""
        log = Input(file, printable_context(file.path, context or DecodeContext(file.path)))
        self.inputs.append(log)
        return log

    def join(self, file: GrowingFile) -> Input:
        """Adds a further part of the log: row numbers continue, repeated records are skipped."""
        log = Input(file, DecodeContext(printable_path(file.path)), generation=1)
        self.inputs.append(log)
        return log

    def leave(self, path: str) -> None:
        """The files at a path are no longer the session's."""
        self.inputs = [log for log in self.inputs if log.path != path]

    def find(self, printable: str) -> Input | None:
        """The file of a batch, by its path as used in the stages."""
        return next((log for log in self.inputs if log.printable_path == printable), None)

    def beside(self, provider: Provider, folder: Folder) -> list[Companion]:
        """New files that belong to it: further ones of its log, and those of sub-agents of every part."""
        known = {unpacked_name(log.path) for log in self.inputs}  # a file that has been packed meanwhile is not new
        parts = [self.main, *(log.path for log in self.inputs[1:] if log.generation)]
        files = [companion_files(provider, part, folder) for part in parts]
        if all(some is not None and known.issuperset(map(unpacked_name, some)) for some in files):
            return []
        found = {
            c.path: c
            for part in parts
            for c in companions_of(provider, part, folder=folder)
            if unpacked_name(c.path) not in known
        }
        return list(found.values())

    def find_parents(self, provider: Provider) -> bool:
        """Looks which calls started the sub-agents, if that is not known; returns whether some were found."""
        orphans = [log for log in self.inputs if log.context.stream != MAIN and log.context.parent_call is None]
        if not orphans:
            return False
        contexts = {c.path: c.context for c in companions_of(provider, self.main, folder=LocalFolder())}
        for log in orphans:
            log.context = printable_context(log.path, contexts.get(log.path, log.context))
        return any(log.context.parent_call is not None for log in orphans)

    def begin(self, provider: Provider, decode: DecodeInputs) -> None:
        """The dialect is known: gives every file its context and its decoder."""
        for n, log in enumerate(self.inputs):
            if n == 0 and not log.file.stored:
                log.context = printable_context(log.path, context_of(provider, log.path))
            elif not log.further:
                log.context = structs.replace(log.context, begun_ms=self.inputs[0].context.begun_ms)
        self.open_all(decode)

    def open_all(self, decode: DecodeInputs) -> None:
        """Gives every file its decoder."""
        for n, log in enumerate(self.inputs):
            log.open(decode, n > 0 and log.further)

    # --- reading

    def keep_new(self, log: Input, batch: Batch) -> None:
        """Removes the records from a file's batch that the session has taken before."""
        self.taken.keep_new(batch, log.repeated, [other.repeated for other in self.inputs if other is not log])

    def begin_generation(self, log: Input) -> None:
        """At the first bytes of a further part: counts the records that it may repeat, now that the earlier parts are
        read to their end."""
        log.repeated.begin(self.taken.counts())
        if not log.file.reader.row:  # another file: its rows continue those of its stream
            same = [i for i in self.inputs if i.context.stream == log.context.stream]
            log.file.reader.row = max(self._rows(i) - i.repeated.skipped for i in same)

    def _rows(self, log: Input) -> int:
        """How many rows a file has; a document's only one is not read to its end before the file rests."""
        whole = self.document and log.file.reader.held_bytes > 0
        return log.file.reader.row + whole

    def unfinished_of(self, log: Input) -> Batch | None:
        """The part of a file that may still change: its unfinished last line, or rows that a store may change."""
        return log.file.unfinished(self.taken.row_taken(log.repeated, look=True))

    def unfinished(self) -> Iterator[tuple[Input, Batch]]:
        """Rows that may still change. The rows of further files go on where those before them end."""
        row = 0
        for log in self.inputs:
            last = self.unfinished_of(log) if log.state == "live" else None
            if not log.file.stored and (log is self.inputs[0] or log.further):
                row = max(row, log.file.reader.row)
                if last is not None:
                    last.records = [structs.replace(r, row=row + i) for i, r in enumerate(last.records)]
                    row += len(last.records)
            if last is not None:
                yield log, last

    def next_generation(self, log: Input) -> None:
        """The path of a file has new contents: they are read from their beginning."""
        log.repeated.known = None
        log.mute_until = 0  # it is an offset in the earlier contents
        log.file = log.file.next_generation()
        log.file.reader.row += log.repeated.skipped
        log.generation += 1

    # --- the cursors

    def rows(self, strange: bool) -> list[InputRow]:
        """The files as they stand in the cursors; `strange`: no dialect fits."""
        rows: list[InputRow] = []
        for log in self.inputs:
            state = "gone" if log.gone and log.state == "live" else log.state
            state = "other" if strange else "document" if self.document and state == "live" else state
            read, mark = log.file.signature_read(), log.file.mark()
            skipped, repeating = log.repeated.skipped, log.repeated.repeating
            rows.append(InputRow(log.path, state, log.generation, read, mark, skipped, log.context, repeating))
        return rows

    def restore(self, kept: InputRow, file: GrowingFile) -> None:
        """Adds a file as it stood in the cursors."""
        file.identity = None if kept.signature is None else (kept.signature.device, kept.signature.inode)
        state = "live" if kept.state in ("gone", "document", "other") else kept.state
        repeated = Repeated(None, kept.skipped, kept.repeating)
        log = Input(file, kept.context, state, kept.generation, repeated, gone=kept.state == "gone")
        self.printed = self.printed or kept.state == "document"
        self.inputs.append(log)
        if kept.generation and file.position and not file.stored:
            again = GrowingFile(log.path, file.files, cap=file.reader.cap)
            self.taken.may_still_repeat(log.repeated, read_again(again, file.position))
            file.files.close(again)

    def close(self) -> None:
        for log in self.inputs:
            log.file.files.close(log.file)


def read_again(file: GrowingFile, end: int) -> Iterator[Batch]:
    """The records of a file before an offset. Without those that cannot be read: if the file is gone, one now at its
    path will be recognised by its content."""
    try:
        file.look()  # detects a compressed file
        while file.position < end and (data := file.read()):
            yield from file.feed(data[: end - file.position], None)
    except OSError:
        return


def printable_context(path: str, context: DecodeContext) -> DecodeContext:
    """The context with a printable file name: JSON cannot hold a name that is not UTF-8."""
    if path.isascii():
        return context
    return structs.replace(context, file=printable_path(path), stream=printable_path(context.stream))

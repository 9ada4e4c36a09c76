"""The result of a session without its transcript: one synchronous chain, as bulk workers run it."""

import gc
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import DEFAULT_CAP, LineReader
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.result import Observer, Result
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.provider import Companion, Dialect, Folder, Provider
from agentv_stages.session.detect import Detector, UnknownFormat
from agentv_stream.errors import EmptyInput, NotALog, SourceError
from agentv_stream.named_provider import named_provider
from agentv_stream.sources.files import check_readable, read_pieces
from agentv_stream.sources.folder import companions_of, context_of


@contextmanager
def without_collector() -> Generator[None]:
    """Pauses the cyclic garbage collector: decoding creates no cycles, and collecting costs a tenth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def read_batches(pieces: Iterable[bytes], file: str, row: int = 0) -> Iterator[Batch]:
    """The records of one input, batch by batch, with rows numbered from `row`."""
    reader = LineReader(file)
    reader.row = row
    for data in pieces:
        yield from reader.push(Chunk(data))
    yield from reader.flush()


def detect(batches: Iterator[Batch], only: Provider | None, file: str) -> tuple[Provider, Dialect, list[Batch]]:
    """Reads until the dialect is known; returns the batches read so far.

    Raises: NotALog, EmptyInput.
    """
    detector = Detector(only)
    for batch in batches:
        if detector.push(batch) or detector.given_up:
            break
    if not detector.seen_records and detector.seen_giants:
        raise NotALog(f"{file}: no record is under the cap of {DEFAULT_CAP} bytes")
    if not detector.seen_records:
        raise EmptyInput(f"{file}: the input is empty")
    try:
        provider, dialect = detector.finish()
    except UnknownFormat as error:
        raise NotALog(f"{file}: {error}") from error
    return provider, dialect, detector.held


def read_file(path: str) -> Iterator[bytes]:
    """The pieces of a local file."""
    return read_pieces(Path(path))


class SessionReader:
    """Reads all files of one finished session through the chain; yields batches after `Pair`.

    `folder` and `read` define where further files and sub-agents' are looked for and how they are read; by default on
    the local disk. `companions` are the ones found, once reading has reached them; `held` are the batches that were
    read to detect the dialect.
    """

    def __init__(
        self,
        pieces: Iterable[bytes],
        file: str,
        provider: str | None = None,
        watch: str | tuple[str, ...] = (),
        *,
        folder: Folder | None = None,
        read: Callable[[str], Iterable[bytes]] = read_file,
    ) -> None:
        self.companions: list[Companion] = []
        self._folder = folder
        self._read = read
        batches = read_batches(pieces, file)
        self.provider, self.dialect, held = detect(batches, named_provider(provider), file)
        self.file = file
        self.observer = Observer(self.provider, self.dialect, watch)
        self.pair = Pair()
        self.normalize = Normalize(self.provider.tools)
        self.held = held
        self._rest = batches

    def batches(self, companions: bool = True) -> Iterator[Batch]:
        """Every batch, observed; then those of sub-agents' files, then what the pairing held back.

        `companions` False leaves sub-agents out, but not the log's further files, which are part of it.
        """
        decode, row = Decode(self.dialect, context_of(self.provider, self.file, self._folder)), 0
        for batch in self._main():
            row = batch.records[-1].row + 1 if batch.records else row
            yield self._through(decode.push(batch)[0])
        self.companions = companions_of(self.provider, self.file, companions, self._folder)
        for further in [one for one in self.companions if one.context.further]:
            decode = decode.go_on_in(further.context)
            for batch in self._batches_of(further, row):
                row = batch.records[-1].row + 1 if batch.records else row
                yield self._through(decode.push(batch)[0])
        for batch in decode.flush():
            yield self._through(batch)
        yield from self._others()

    def ending(self, companions: bool = True) -> Iterator[Batch]:
        """What follows a log of one file: sub-agents' files, then what the pairing held back."""
        self.companions = companions_of(self.provider, self.file, companions, self._folder)
        yield from self._others()

    def _batches_of(self, companion: Companion, row: int = 0) -> Iterator[Batch]:
        try:
            yield from read_batches(self._read(companion.path), companion.path, row=row)
        except SourceError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            return  # it was removed after it was listed

    def _others(self) -> Iterator[Batch]:
        for companion in self.companions:
            if not companion.context.further:
                decode = Decode(self.dialect, companion.context)
                for batch in self._batches_of(companion):
                    yield self._through(decode.push(batch)[0])
                for batch in decode.flush():
                    yield self._through(batch)
        for batch in self.pair.flush():
            self.observer.observe(batch)
            yield batch

    def _main(self) -> Iterator[Batch]:
        yield from self.held
        self.held = []
        yield from self._rest

    def _through(self, batch: Batch) -> Batch:
        self.normalize.push(batch)
        return self.join(batch)

    def join(self, batch: Batch) -> Batch:
        """A normalised batch, paired and observed; batches must come in order."""
        self.pair.push(batch)
        self.observer.observe(batch)
        return batch

    def result(self) -> Result:
        """The result, after all batches were read."""
        return self.observer.result(self.pair.left)


def summarize(
    path: str | PathLike[str] | bytes | bytearray | memoryview,
    *,
    provider: str | None = None,
    subagents: bool = True,
    watch: str | tuple[str, ...] = (),
) -> Result:
    """Reads a finished stream or session and returns its result; blocking, nothing is written.

    `path` is a file, which may be compressed (`.gz`, `.zst`), or an agent's whole output as bytes. `subagents` includes
    the sub-agents' files of a session on disk. `watch` names programs whose runs are listed (`watched_commands`).

    Raises: SourceError (missing, a directory), DamagedArchive, NotALog, EmptyInput, UsageError.
    """
    if isinstance(path, (bytes, bytearray, memoryview)):
        pieces, name, subagents = iter((bytes(path),)), "<memory>", False
    else:
        check_readable(Path(path))
        pieces, name = read_pieces(Path(path)), str(path)
    with without_collector():
        reader = SessionReader(pieces, name, provider, watch)
        for _ in reader.batches(subagents):
            pass
        return reader.result()

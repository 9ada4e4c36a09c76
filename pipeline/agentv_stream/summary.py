"""The result of a session without its transcript: one synchronous chain, as bulk workers run it."""

import gc
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from agentv_stages.chain.lines import LinePosition, LineReader
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.result import Observer, Result
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.provider import Companion, Dialect, Folder, Provider
from agentv_stages.session.chain import SessionChain
from agentv_stages.session.detect import Detector
from agentv_stages.session.inputs import ReadLines
from agentv_stages.session.parts import NONE, Parts, framed, last_records
from agentv_stream.errors import SourceError
from agentv_stream.names import named_provider
from agentv_stream.sources.files import check_readable, read_pieces
from agentv_stream.sources.folder import companions_of, context_of
from agentv_stream.sources.opened import opened


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


def read_file(path: str) -> Iterator[bytes]:
    """The pieces of a local file."""
    return read_pieces(Path(path))


class SessionReader:
    """Reads all files of one finished session through the chain; yields batches, observed.

    `folder` and `read` define where further files and sub-agents' are looked for and how they are read; by default on
    the local disk. `companions` are the ones found, once reading has reached them; `held` are the batches that were
    read to detect the dialect. With `messages` they are consolidated. `parts` are the caller's stages. With `dated` the
    observer dates figures.

    Raises: NotALog, EmptyInput, UsageError.
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
        messages: bool = False,
        parts: Parts = NONE,
        dated: bool = False,
    ) -> None:
        self.file = file
        self.companions: list[Companion] = []
        self._folder, self._read = folder, read
        self._watch, self._messages, self._parts, self._dated = watch, messages, parts, dated
        records = parts.make_records()
        self._lines = ReadLines(file)
        self._framing = framed(self._lines, records)
        self._main = self._batches_of(pieces, file)
        self.provider, self.dialect, self.held = self._detect(named_provider(provider))
        self._records = records
        self.chain = self.new_chain()

    def new_chain(self) -> SessionChain:
        """A chain at the beginning of the session."""
        return SessionChain(
            self.provider, self.dialect, self._watch, file=self.file, messages=self._messages, parts=self._parts,
            contexts={self.file: context_of(self.provider, self.file, self._folder)}, records=self._records,
            dated=self._dated,
        )  # fmt: skip

    @property
    def observer(self) -> Observer:
        return self.chain.observer

    @property
    def pair(self) -> Pair:
        return self.chain.pair

    def batches(self, companions: bool = True) -> Iterator[Batch]:
        """Every batch, then those of further files and of sub-agents' files, then the batches that the stages held
        back.

        `companions` False leaves sub-agents out, but not the log's further files, which are part of it.
        """
        held, self.held = self.held, []
        for batch in held:
            yield from self.chain.push(batch)
        held.clear()
        for batch in self._main:
            yield from self.chain.push(batch)
        yield from self.ending(companions)

    def ending(self, companions: bool = True) -> Iterator[Batch]:
        """The batches after the main file: further files, sub-agents' files, then those that the stages held back."""
        self.companions = companions_of(self.provider, self.file, companions, self._folder)
        contexts = {companion.path: companion.context for companion in self.companions}
        self._lines.contexts = contexts
        self.chain.decode.contexts.update(contexts)
        for path in contexts:
            for batch in self._batches_of(self._pieces_of(path), path):
                yield from self.chain.push(batch)
        for batch in self._framing.flush():
            yield from self.chain.push(batch)
        yield from self.chain.flush()

    def read_elsewhere(self, end: LinePosition) -> None:
        """The main file was read by another reader, to this place; `ending` follows."""
        self._lines.reader = LineReader(self.file)
        self._lines.reader.restore(end)

    def _batches_of(self, pieces: Iterable[bytes], path: str) -> Iterator[Batch]:
        for data in pieces:
            yield from self._framing.push(Chunk(data, None, path))

    def _pieces_of(self, path: str) -> Iterator[bytes]:
        try:
            yield from self._read(path)
        except SourceError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            return  # it was removed after it was listed

    def _detect(self, only: Provider | None) -> tuple[Provider, Dialect, list[Batch]]:
        """Reads until the dialect is known; returns the batches read so far."""
        detector = Detector(only)
        for batch in self._main:
            if detector.push(batch) or detector.given_up:
                break
        provider, dialect = opened(detector, self.file, last_records(self._lines.reader, self._parts))
        return provider, dialect, detector.held

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

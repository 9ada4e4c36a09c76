"""Several inputs as one session: the main log, then sub-agents' files, each with a reader and decoder of its own.

Where the main log goes on in a further file, so do the numbers of its rows and its decoder.
"""

from msgspec import Struct, convert

from agentv_stages.batch import Batch, Chunk
from agentv_stages.decode import Decode
from agentv_stages.lines import DEFAULT_CAP, LinePosition, LineReader
from agentv_stages.provider import DecodeContext, Dialect
from agentv_stages.stage import Flushed


class ReadLines:
    """`LineReader` for inputs one after the other; a chunk of another file ends the one before.

    `contexts` says of files behind the first one whether they go on with it. `cut_short`: the reading ends before the
    input does, so that the line at which it stopped is no fault of the input's; it is not given.
    """

    def __init__(self, file: str = "", cap: int = DEFAULT_CAP) -> None:
        self.cut_short = False
        self.reader = LineReader(file, cap)
        self.contexts: dict[str, DecodeContext] = {}
        self._flushed = Flushed()

    def push(self, chunk: Chunk, /) -> tuple[Batch, ...]:
        if chunk.file == self.reader.file:
            return self.reader.push(chunk)
        last = self.reader.flush()
        context, rows = self.contexts.get(chunk.file), self.reader.row
        self.reader = LineReader(chunk.file, self.reader.cap)
        if context is not None and context.further:
            self.reader.row = rows
        return (*last, *self.reader.push(chunk))

    def flush(self) -> tuple[Batch, ...]:
        self._flushed.once()
        last = self.reader.rest() if self.cut_short else None
        if last is not None and last.records and not last.document:
            return ()
        return self.reader.flush()

    def snapshot(self) -> LinePosition:
        return self.reader.snapshot()

    def restore(self, snapshot: object, /) -> None:
        self.reader.restore(snapshot)


class InputState(Struct):
    """The running input and the state of its `Decode`."""

    file: str
    state: object = None


class DecodeInputs:
    """`Decode` for inputs one after the other. `contexts` says of each file what its decoder is told."""

    def __init__(self, dialect: Dialect, file: str = "", contexts: dict[str, DecodeContext] | None = None) -> None:
        self.dialect = dialect
        self.contexts = contexts or {}
        self._decode = self._decoder(file)
        self._flushed = Flushed()

    def _decoder(self, file: str) -> Decode:
        return Decode(self.dialect, self.contexts.get(file) or DecodeContext(file))

    def push(self, batch: Batch, /) -> tuple[Batch, ...]:
        if batch.file == self._decode.context.file:
            return self._decode.push(batch)
        context = self.contexts.get(batch.file)
        if context is not None and context.further:
            self._decode = self._decode.go_on_in(context)
            return self._decode.push(batch)
        last = self._decode.flush()
        self._decode = self._decoder(batch.file)
        return (*last, *self._decode.push(batch))

    def flush(self) -> tuple[Batch, ...]:
        self._flushed.once()
        return self._decode.flush()

    def snapshot(self) -> InputState:
        return InputState(self._decode.context.file, self._decode.snapshot())

    def restore(self, snapshot: object, /) -> None:
        state = convert(snapshot, InputState, from_attributes=True)
        self._decode = self._decoder(state.file)
        self._decode.restore(state.state)

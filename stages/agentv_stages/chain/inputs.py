"""Several inputs as one session: the main log, then sub-agents' files, each with a reader and decoder of its own.

Where another file continues the main log, the row numbers and the decoder continue, too.
"""

from msgspec import Struct, convert

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import DEFAULT_CAP, LinePosition, LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.provider import DecodeContext, Dialect
from agentv_stages.model.stage import Flushed


class ReadLines:
    """`LineReader` for consecutive inputs; a chunk of another file ends the one before.

    `contexts` says which later files continue the first one. `cut_short`: reading stops before the end of the input, so
    an unfinished last line is not a fault of the input; it is dropped.
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
    """The current input and the state of its `Decode`."""

    file: str
    state: object = None


class DecodeInputs:
    """`Decode` for consecutive inputs. `contexts` holds, by file, what its decoder knows in advance."""

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

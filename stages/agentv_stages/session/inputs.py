"""Several inputs as one session: the main log, then sub-agents' files, each with a reader and decoder of its own.

If another file continues the main log, the row numbers and the decoder also continue.
"""

from typing import TYPE_CHECKING

from msgspec import Raw, Struct, convert

from agentv_stages.chain.decode import Decode
from agentv_stages.chain.lines import DEFAULT_CAP, LinePosition, LineReader
from agentv_stages.model.batch import Batch, Chunk
from agentv_stages.model.provider import DecodeContext, Dialect
from agentv_stages.model.stage import Flushed
from agentv_stages.session.detect import sure_dialect

if TYPE_CHECKING:
    from agentv_stages.redaction.redactor import Redactor


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


class DecodersState(Struct):
    """The state of each decoder, by the file that it began with."""

    decoders: dict[str, Raw] = {}


class DecodeInputs:
    """`Decode` for the files of a session: each file has its own, but a file that continues the log uses the log's.

    `contexts` holds, by file, what its decoder knows in advance. Files come one after the other, and the first batch of
    another file ends the one before; with `growing` they grow at the same time, and `open` begins each.
    """

    def __init__(
        self,
        dialect: Dialect,
        file: str = "",
        contexts: dict[str, DecodeContext] | None = None,
        *,
        growing: bool = False,
        redactor: "Redactor | None" = None,
    ) -> None:
        self.dialect = dialect
        self._redactor = redactor
        self.contexts = contexts if contexts is not None else {}
        self.decoders: dict[str, Decode] = {}
        self._main = file
        self._growing = growing
        self._flushed = Flushed()
        if not growing:
            self.decoders[file] = self._decoder(file)

    def open(self, file: str, context: DecodeContext) -> None:
        """Begins a file, or continues a restored one. A `further` file continues the first file that was opened."""
        if self.contexts.get(file) != context:
            self.contexts[file] = context
        if not self.decoders:
            self._main = file
        if not context.further and file not in self.decoders:
            self.decoders[file] = self._decoder(file)

    def fork(self) -> "DecodeInputs":
        """One for the same files; it is to be restored."""
        copy = DecodeInputs(
            self.dialect, self._main, dict(self.contexts), growing=self._growing, redactor=self._redactor
        )
        copy.decoders = {}
        return copy

    def rename(self, old: str, new: str) -> None:
        """A file has a new path; its decoder continues."""
        if old in self.contexts:
            self.contexts[new] = self.contexts.pop(old)
        if old in self.decoders:
            self.decoders = {new if file == old else file: decode for file, decode in self.decoders.items()}
        self._main = new if self._main == old else self._main

    def push(self, batch: Batch, /) -> tuple[Batch, ...]:
        file = batch.file
        context = self.contexts.get(file)
        first = self._main if context is not None and context.further else file
        decode = self.decoders.get(first)
        if decode is None:
            last = () if self._growing else self._end()
            decode = self.decoders[first] = self._decoder(file)
            return (*last, *decode.push(batch))
        if context is not None and decode.context is not context:
            decode = self.decoders[first] = decode.go_on_in(context)
        return decode.push(batch)

    def flush(self) -> tuple[Batch, ...]:
        self._flushed.once()
        return self._end()

    def _end(self) -> tuple[Batch, ...]:
        last = [batch for decode in self.decoders.values() for batch in decode.flush()]
        self.decoders = {}
        return tuple(last)

    def _decoder(self, file: str) -> Decode:
        return Decode(self.dialect, self.contexts.get(file) or DecodeContext(file), sure_dialect, self._redactor)

    def save(self, file: str) -> bytes:
        """The state of the decoder of a file; equal for two decoders that will behave alike."""
        return self.decoders[file].save()

    def snapshot(self) -> DecodersState:
        return DecodersState({file: Raw(decode.save()) for file, decode in self.decoders.items()})

    def restore(self, snapshot: object, /) -> None:
        self.decoders = {}
        for file, state in convert(snapshot, DecodersState, from_attributes=True).decoders.items():
            decode = self.decoders[file] = self._decoder(file)
            decode.load(bytes(state))

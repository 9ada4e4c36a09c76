"""Feeds a stream to sinks that write one file at its end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.figures.result import Result
from agentv_stages.model.batch import Batch
from agentv_stages.sinks.transcript import Identity
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.transcript_sink import TranscriptSink
from agentv_stream.summary import SessionReader
from support.fake_agents import READ_EDIT, stream

LOG = stream(READ_EDIT)


class FileSink(Protocol):
    """A sink with the path of its file."""

    @property
    def path(self) -> Path | None: ...

    async def write(self, batch: Batch) -> None: ...
    async def close(self, whole: bool) -> None: ...


class Way:
    """Feeds a stream to a sink that writes into `folder`, one batch per line."""

    def __init__(self, folder: Path, data: bytes = LOG) -> None:
        self.folder = folder
        self._reader = SessionReader(iter(data.splitlines(keepends=True)), "log.jsonl", "claude")
        self.observer = self._reader.observer

    def place(self) -> tuple[Path, str, Identity]:
        session = self.observer.facts.session_id or "unknown"
        identity = Identity.of(
            self.observer, test_id="t", target="base", session_id=session, path="log.jsonl", started_ms=0
        )
        return self.folder, "name", identity

    def about(self) -> Result:
        return self.observer.result(self._reader.pair.left, lists=False)

    def batches(self) -> Iterator[Batch]:
        consolidate = Consolidate()
        for batch in self._reader.batches():
            yield from consolidate.push(batch)
        yield from consolidate.flush()

    def sink(self, finished: bool = False, named: Path | None = None) -> TranscriptSink:
        return TranscriptSink(self.names(finished, named is not None), self.observer, finished, named)

    def names(self, finished: bool = False, fixed: bool = False) -> OutputNames:
        return OutputNames(self.place, finished=finished, fixed=fixed)

    async def through(self, sink: FileSink) -> Path:
        for batch in self.batches():
            await sink.write(batch)
        await sink.close(True)
        assert sink.path is not None
        return sink.path

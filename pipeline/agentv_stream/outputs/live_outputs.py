"""The outputs of one live session: which sinks its settings ask for, where they write, and the written files."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync
from msgspec import UNSET
from msgspec.structs import replace

from agentv_stages.figures.result import Observer, Outputs, Result
from agentv_stages.model.batch import Batch
from agentv_stages.model.payload import printable_path
from agentv_stages.sinks.output import Output, lines_of
from agentv_stages.sinks.outputs import Letters, Log, Transcript, Wanted, make_outputs
from agentv_stages.sinks.suffixes import SPANS, TRACE
from agentv_stages.sinks.transcript import Identity
from agentv_stream.otel.options import export_of
from agentv_stream.outputs.document_sink import DocumentSink
from agentv_stream.outputs.documents import AtifDocument, CaseDocument
from agentv_stream.outputs.naming import LETTERS, RAW_LOG, SUMMARY_LOG, log_folder
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.output_sink import OutputSink, remove_letters
from agentv_stream.outputs.pipe_output import cannot_seek
from agentv_stream.outputs.session_name import Log as SessionLog
from agentv_stream.outputs.session_name import changed_ms, identity_of, is_known, name_of
from agentv_stream.outputs.sink import RenderSink, Sink
from agentv_stream.outputs.transcript_sink import TranscriptSink
from agentv_stream.outputs.transcript_stream import TranscriptStream, make_transcript, transcript_file
from agentv_stream.settings import Settings
from agentv_stream.sources.files import is_there
from agentv_stream.sources.source import ByteSource

if TYPE_CHECKING:  # httpx and protobuf are extras
    from agentv_stages.sinks.span_log import SpanLog
    from agentv_stream.otel.live import OtelSink


class LiveOutputs:
    """`observer` identifies the session; `started_ms` (UTC) is used if its log has no times.

    `whole` returns, at the end, whether all of the source was read; `warn` takes lines for the user. `open_calls` and
    `verdicts` are for documents, once all was seen.
    """

    def __init__(
        self,
        settings: Settings,
        source: ByteSource,
        observer: Observer,
        started_ms: int,
        whole: Callable[[], bool],
        warn: Callable[[str], None],
    ) -> None:
        self.settings = settings
        self.source = source
        self.observer = observer
        self.started_ms = started_ms
        self.transcript: TranscriptSink | None = None
        self.trajectory: DocumentSink | None = None
        self.page: DocumentSink | None = None
        self.open_calls: Callable[[], list[str]] = list[str]
        self.verdicts: Callable[[], list[Any]] = list[Any]
        self.dead_letters: OutputSink | None = None
        self.others: list[OutputSink] = []
        self.log: RenderSink | OutputSink | None = None
        self.exporter: OtelSink | None = None
        self.spans: SpanLog | None = None
        self._ended = False  # all was read: the facts of the session are final
        self._warn = warn
        self._named = transcript_file(settings.transcript)
        self._names = OutputNames(
            self._propose, finished=source.finished, fixed=self._named is not None, sure=True, whole=whole
        )

    def sinks(self, transcript: bool = True) -> list[Sink]:
        """The sinks that are asked for; without `transcript` neither transcript nor dead letters."""
        settings = self.settings
        piped = settings.transcript is not None and cannot_seek(settings.transcript)
        export = export_of(settings)
        wanted = Wanted(transcript, piped, settings.stream_log, traces=settings.dump_traces)
        if export is not None and export.file is not None:
            wanted = replace(wanted, spans=export.options, redactor=export.redactor)
        outputs = make_outputs(wanted)
        self.spans = next((output for output in outputs if output.suffix == SPANS), None)  # type: ignore[assignment]  # known by its suffix: the module takes 10 ms
        sinks = [self._sink(output) for output in outputs]
        if export is not None and export.endpoint is not None:
            from agentv_stream.otel.live import OtelSink, make_sender  # with the rules of redaction

            sender = make_sender(export.endpoint)
            self.exporter = OtelSink(export, sender, self.observer, self._identity, self._known, self._warn)
            sinks.append(self.exporter)
            self.spans = self.exporter.output
        if transcript and settings.transcript_shape == "case":
            sinks.append(
                DocumentSink(CaseDocument(self.observer, self._identity), self._names, self._about, rescued=True)
            )
        if settings.page:
            self.page = self._page_sink()
            sinks.append(self.page)
        if transcript and settings.transcript_shape == "atif":
            self.trajectory = DocumentSink(AtifDocument(), self._names, self._about)
            sinks.append(self.trajectory)
        return sinks

    def _page_sink(self) -> DocumentSink:
        from agentv_stream.pages.making import PageMaker  # with the rules of redaction, and Markdown
        from agentv_stream.redaction.redaction import redaction_with, redactor_of

        redactor = None if self.settings.redact else redactor_of(redaction_with(self.settings))
        return DocumentSink(PageMaker(redactor), self._names, self._about)

    def _about(self) -> Result:
        """The result of the session, once all was seen."""
        about = self.observer.result(self.open_calls(), lists=False)
        about.verdicts = self.verdicts() or UNSET
        return about

    def _sink(self, output: Output) -> Sink:
        """The sink that carries out what an output asks for."""
        finished = self.source.finished
        if isinstance(output, Transcript):
            self.transcript = make_transcript(self.settings.transcript, self._names, self.observer, finished, output)
            self._names.sure = isinstance(self.transcript, TranscriptStream)
            return self.transcript
        name = output.suffix.lstrip(".")
        if isinstance(output, Log):
            if not finished:
                self.log = self._log_sink(output)
                return self.log
            name, output.ready = "stream log", True
        sink = OutputSink(
            "dead letters" if isinstance(output, Letters) else name,
            output,
            self.observer,
            partial(self._place, output.suffix),
            None if output.suffix == SPANS else self._another(output.suffix),
            finished=finished,
            known=self._known,
        )
        self.others.append(sink)
        if isinstance(output, Letters):
            self.dead_letters = sink
        elif isinstance(output, Log):
            self.log = sink
        return sink

    def _place(self, suffix: str) -> tuple[Path, Identity]:
        """Path and session of an output. A stream log begins before the session's name is known; it does not set it."""
        early = suffix in (RAW_LOG, SUMMARY_LOG) and not self._ended
        folder, name, identity = self._names.propose() if early else self._names.place()
        if suffix == SPANS and self.settings.otel_file is not None:
            return Path(self.settings.otel_file), identity
        return folder / f"{name}{suffix}", identity

    async def settle(self) -> None:
        """After all sinks ended: moves the stream log beside the transcript, and replaces or removes old dead letters.

        A log that was read while its last line was being written had a fault that it no longer has.
        """
        self._ended = True
        if isinstance(self.log, RenderSink):
            await self.log.settle()
        letters, transcript = self.dead_letters, self.transcript
        for sink in self.others:
            await sink.settle(keep=self._names.kept)
        if self._named is None and letters is not None and letters.path is None and transcript and transcript.replaces:
            await run_sync(remove_letters, self._names.file(LETTERS))

    @property
    def kept_earlier(self) -> bool:
        """Whether outputs of an earlier reading were kept because this one ended early."""
        return self._names.kept

    def written_paths(self) -> Outputs:
        """The paths of the written files, for the result."""
        outputs = Outputs(transcript=_written(self.transcript))
        trajectory, log, dead_letters = map(_written, (self.trajectory, self.log, self.dead_letters))
        if trajectory is not None:
            outputs.trajectory = trajectory
        if log is not None:
            outputs.stream_log = log
        if dead_letters is not None:
            outputs.dead_letters = dead_letters
        page = _written(self.page)
        if page is not None:
            outputs.page = page
        trace = next((_written(sink) for sink in self.others if sink.name == TRACE.lstrip(".")), None)
        if trace is not None:
            outputs.trace = trace
        return outputs

    def hurry(self, seconds: float) -> None:
        """From now on who takes the transcript's pipe, or the spans, has at most `seconds` for the rest."""
        if self.exporter is not None:
            self.exporter.hurry(seconds)
        if isinstance(self.transcript, TranscriptStream):
            self.transcript.output.hurry(seconds)

    def _log_sink(self, output: Log) -> RenderSink:
        """The stream log of a live session cannot wait for its name: it begins under another one."""
        output.ready = True

        def render(batch: Batch) -> bytes:
            output.take(batch)
            return lines_of(output.operations())

        def flush() -> bytes:
            return lines_of(output.close(self.observer))

        place = partial(self._names.early, output.suffix)
        another = partial(self._names.another_early, output.suffix) if self._names.exclusive else None
        return RenderSink("stream log", place, render, flush, another=another)

    def _known(self) -> bool:
        """Whether the session can be named. A live one always can, from the facts that are known when its first file is
        created."""
        facts = self.observer.facts
        return not self.source.finished or is_known(facts)

    def _identity(self) -> Identity:
        return self._names.propose()[2]

    def _another(self, suffix: str) -> Callable[[], Path] | None:
        return partial(self._names.another, suffix) if self._names.exclusive else None

    def _propose(self) -> tuple[Path, str, Identity]:
        """Folder, name and identity of the outputs, from the facts of the session so far."""
        settings = self.settings
        path = None if self.source.name.startswith("<") else self.source.name
        arrived_ms, place = self.started_ms, None
        if path is not None and self.source.finished:
            place, arrived_ms = path, changed_ms(path, self.started_ms)
        identity = identity_of(self.observer, SessionLog(place, path, arrived_ms), settings.target, settings.test_id)
        if self._named is not None:
            return self._named.parent, self._named.name.removesuffix(".jsonl").removesuffix(".transcript"), identity
        return log_folder(settings.out, identity.provider), name_of(identity, settings.attempt), identity


def _written(sink: TranscriptSink | RenderSink | OutputSink | DocumentSink | None) -> str | None:
    """The path of a sink's file, if it was created; for a transcript through a pipe, the requested name."""
    if isinstance(sink, TranscriptStream):
        return sink.written
    return (
        printable_path(str(sink.path)) if sink is not None and sink.path is not None and is_there(sink.path) else None
    )

"""The outputs of one live session: which sinks its settings ask for, where they write, and what was written."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from anyio.to_thread import run_sync

from agentv_stages.figures.result import Observer, Outputs
from agentv_stages.model.payload import told_path
from agentv_stages.sinks import raw_log
from agentv_stages.sinks.summary_log import SummaryLog
from agentv_stages.sinks.transcript import Identity
from agentv_stream.outputs.case_sink import CaseSink
from agentv_stream.outputs.dead_letter_sink import DeadLetterSink, remove_letters
from agentv_stream.outputs.naming import (
    FINISHED_PATIENCE,
    LETTERS,
    RAW_LOG,
    SUMMARY_LOG,
    log_folder,
    stand_in_id,
    stand_in_start,
    stem,
)
from agentv_stream.outputs.output_names import OutputNames
from agentv_stream.outputs.sink import RenderSink, Sink
from agentv_stream.outputs.trajectory_sink import TrajectorySink
from agentv_stream.outputs.transcript_sink import TranscriptSink
from agentv_stream.outputs.transcript_stream import TranscriptStream, make_transcript, transcript_file
from agentv_stream.settings import Settings
from agentv_stream.sources.files import is_there
from agentv_stream.sources.source import ByteSource


class LiveOutputs:
    """`observer` identifies the session; `started_ms` (UTC) is used if its log has no times.

    `whole` returns, at the end, whether all of the source was read.
    """

    def __init__(
        self, settings: Settings, source: ByteSource, observer: Observer, started_ms: int, whole: Callable[[], bool]
    ) -> None:
        self.settings = settings
        self.source = source
        self.observer = observer
        self.started_ms = started_ms
        self.transcript: TranscriptSink | None = None
        self.trajectory: TrajectorySink | None = None
        self.dead_letters: DeadLetterSink | None = None
        self.log: RenderSink | None = None
        self._named = transcript_file(settings.transcript)
        self._names = OutputNames(
            self._propose, finished=source.finished, fixed=self._named is not None, sure=True, whole=whole
        )

    def sinks(self, transcript: bool = True) -> list[Sink]:
        """The sinks that are asked for; without `transcript` neither transcript nor dead letters."""
        sinks: list[Sink] = []
        if transcript:
            self.transcript = make_transcript(
                self.settings.transcript, self._names, self.observer, self.source.finished
            )
            self._names.sure = isinstance(self.transcript, TranscriptStream)
            self.dead_letters = DeadLetterSink(
                partial(self._names.file, LETTERS),
                self._another(LETTERS),
                finished=self.source.finished,
                known=self._known,
            )
            sinks += (self.transcript, self.dead_letters)
            if self.settings.transcript_shape == "case":
                sinks.append(CaseSink(self._names, self.observer))
            elif self.settings.transcript_shape == "atif":
                self.trajectory = TrajectorySink(self._names, self.observer)
                sinks.append(self.trajectory)
        if self.settings.stream_log != "false":
            self.log = self._make_log()
            sinks.append(self.log)
        return sinks

    async def settle(self) -> None:
        """After all sinks ended: moves the stream log beside the transcript, and replaces or removes old dead letters.

        A log that was read while its last line was being written had a fault that it no longer has.
        """
        if self.log is not None:
            await self.log.settle()
        letters, transcript = self.dead_letters, self.transcript
        if letters is not None:
            await letters.settle(keep=self._names.kept)
        if self._named is None and letters is not None and letters.path is None and transcript and transcript.replaces:
            await run_sync(remove_letters, self._names.file(LETTERS))

    @property
    def kept_earlier(self) -> bool:
        """Whether outputs of an earlier reading were kept because this one ended early."""
        return self._names.kept

    def told(self) -> Outputs:
        """The paths of what was written, for the result."""
        outputs = Outputs(transcript=_written(self.transcript))
        trajectory, log, dead_letters = map(_written, (self.trajectory, self.log, self.dead_letters))
        if trajectory is not None:
            outputs.trajectory = trajectory
        if log is not None:
            outputs.stream_log = log
        if dead_letters is not None:
            outputs.dead_letters = dead_letters
        return outputs

    def hurry(self, seconds: float) -> None:
        """From now on the reader of the transcript's pipe has at most `seconds` to take the rest."""
        if isinstance(self.transcript, TranscriptStream):
            self.transcript.output.hurry(seconds)

    def _make_log(self) -> RenderSink:
        raw = self.settings.stream_log == "raw"
        suffix = RAW_LOG if raw else SUMMARY_LOG
        place = partial(self._names.early, suffix)
        another = partial(self._names.another_early, suffix) if self._names.exclusive else None
        if raw:
            return RenderSink("stream log", place, raw_log.render, another=another)
        summary = SummaryLog()
        return RenderSink("stream log", place, summary.render, summary.flush, another=another)

    def _known(self) -> bool:
        """Whether the session can be named. A live one always can, from what is known when its first file is
        created."""
        facts = self.observer.facts
        return facts.named or not self.source.finished or facts.records >= FINISHED_PATIENCE

    def _another(self, suffix: str) -> Callable[[], Path] | None:
        return partial(self._names.another, suffix) if self._names.exclusive else None

    def _propose(self) -> tuple[Path, str, Identity]:
        """Folder, name and identity of the outputs, from what is known of the session so far."""
        observer, settings = self.observer, self.settings
        facts, provider = observer.facts, observer.provider
        path = None if self.source.name.startswith("<") else self.source.name
        log = path if self.source.finished else None
        session_id = facts.session_id or (stand_in_id(log) if log else f"unknown-{self.started_ms}")
        target = settings.target or provider.name
        test_id = settings.test_id or session_id
        started = facts.started_ms
        if started is None:
            started = stand_in_start(log, self.started_ms) if log else self.started_ms
        identity = Identity.of(
            observer, test_id=test_id, target=target, session_id=session_id, path=path, started_ms=started
        )
        if self._named is not None:
            return self._named.parent, self._named.name.removesuffix(".jsonl").removesuffix(".transcript"), identity
        return log_folder(settings.out, provider.name), stem(started, target, test_id, settings.attempt), identity


def _written(sink: TranscriptSink | TrajectorySink | RenderSink | DeadLetterSink | None) -> str | None:
    """The path of a sink's file, if it was created; for a transcript through a pipe, the requested name."""
    if isinstance(sink, TranscriptStream):
        return sink.written
    return told_path(str(sink.path)) if sink is not None and sink.path is not None and is_there(sink.path) else None

"""The outputs of one live session: which sinks its settings ask for, where they write, and what came of them."""

from functools import partial
from pathlib import Path

from agentv_stages.result import Observer, Outputs
from agentv_stages.sinks import raw_log
from agentv_stages.sinks.summary_log import SummaryLog
from agentv_stages.sinks.transcript import Identity
from agentv_stream.dead_letter_sink import DeadLetterSink
from agentv_stream.files import is_there
from agentv_stream.naming import log_folder, stand_in_id, stand_in_start, stem
from agentv_stream.settings import Settings
from agentv_stream.sink import RenderSink, Sink
from agentv_stream.source import ByteSource
from agentv_stream.transcript_sink import SUFFIX, CaseSink, TranscriptSink, claimed, transcript_place
from agentv_stream.transcript_stream import TranscriptStream, make_transcript, transcript_file


class LiveOutputs:
    """`observer` says who the session is; `started_ms` (UTC) stands in where its log holds no time."""

    def __init__(self, settings: Settings, source: ByteSource, observer: Observer, started_ms: int) -> None:
        self.settings = settings
        self.source = source
        self.observer = observer
        self.started_ms = started_ms
        self.transcript: TranscriptSink | None = None
        self.dead_letters: DeadLetterSink | None = None
        self.log: RenderSink | None = None
        self._named = transcript_file(settings.transcript)

    def sinks(self, transcript: bool = True) -> list[Sink]:
        """The sinks that are asked for; without `transcript` neither it nor dead letters."""
        sinks: list[Sink] = []
        if transcript:
            self.transcript = make_transcript(
                self.settings.transcript, self._place, self.observer, self.source.finished
            )
            self.dead_letters = DeadLetterSink(partial(self._beside, ".dead-letters.jsonl"))
            sinks += (self.transcript, self.dead_letters)
            if self.settings.transcript_shape == "case":
                sinks.append(CaseSink(self._place, partial(self._beside, ".case.jsonl"), self.observer))
        if self.settings.stream_log != "false":
            self.log = self._make_log()
            sinks.append(self.log)
        return sinks

    def told(self) -> Outputs:
        """What was written, for the result."""
        outputs = Outputs(transcript=_written(self.transcript))
        log, dead_letters = _written(self.log), _written(self.dead_letters)
        if log is not None:
            outputs.stream_log = log
        if dead_letters is not None:
            outputs.dead_letters = dead_letters
        return outputs

    def hurry(self, seconds: float) -> None:
        """Whoever reads a pipe of ours has no more than that while to do so."""
        if isinstance(self.transcript, TranscriptStream):
            self.transcript.output.hurry(seconds)

    def _make_log(self) -> RenderSink:
        raw = self.settings.stream_log == "raw"
        place = partial(self._beside, ".stream.jsonl" if raw else ".stream.log")
        if raw:
            return RenderSink("stream log", place, raw_log.render)
        summary = SummaryLog()
        return RenderSink("stream log", place, summary.render, summary.flush)

    def _place(self) -> tuple[Path, str, Identity]:
        """Folder, name and identity of the transcript, from what is known of the session by now."""
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

    def _beside(self, suffix: str) -> Path:
        """The output of that suffix beside the transcript, under its name, which may not be open yet.

        What stands there is ours where a finished session is read again; else it is left alone, as the transcript is.

        Raises: SinkError.
        """
        folder, name, identity = self._place()
        if self._named is not None:
            return folder / f"{name}{suffix}"
        finished = self.source.finished
        opened = self.transcript.path if self.transcript is not None else None
        path = opened or transcript_place(folder, name, identity.session_id, finished)[0]
        name_of_it = path.name.removesuffix(SUFFIX)
        if finished and name_of_it == name:
            return folder / f"{name}{suffix}"
        return claimed(folder, name_of_it, suffix)


def _written(sink: TranscriptSink | RenderSink | DeadLetterSink | None) -> str | None:
    """The path of a sink's file, if it came into being; for a transcript through a pipe the name that was asked for."""
    if isinstance(sink, TranscriptStream):
        return sink.written
    return str(sink.path) if sink is not None and sink.path is not None and is_there(sink.path) else None

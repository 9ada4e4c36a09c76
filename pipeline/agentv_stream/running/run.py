"""Runs an agent: starts it, reads its stream, checks it against specs, and stores stream, transcript and result.

<task>_<approach>_<attempt>.json            the result: statistics, totals, verdicts, how the run ended
<task>_<approach>_<attempt>.stream.jsonl    the raw stream, byte for byte
<task>_<approach>_<attempt>.stderr.log      standard error
<task>_<approach>_<attempt>.trace.jsonl     generic trace events, if requested
"""

import signal
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from msgspec import structs

from agentv_stages.model.payload import decode_json, indented_json, printable_json
from agentv_stages.session.detect import UnknownFormat
from agentv_stages.trajectory import trace_events
from agentv_stages.trajectory.trace_events import TraceList
from agentv_stream.checks.live_check import LiveCheck
from agentv_stream.errors import (
    EXIT_FINE,
    EXIT_IO,
    EXIT_RUN,
    EXIT_VERDICT,
    AgentvStreamError,
    EmptyInput,
    NotALog,
    SinkError,
    worst,
)
from agentv_stream.live.session import StreamSession
from agentv_stream.live.session_report import Report
from agentv_stream.live.signals import heeded
from agentv_stream.outputs.durable import sync_paths
from agentv_stream.outputs.naming import RAW_LOG, TRACE, prepare_folder
from agentv_stream.outputs.output_file import publish
from agentv_stream.outputs.sink import RenderSink, Sink
from agentv_stream.release import running_version
from agentv_stream.running.attempts import stem_of
from agentv_stream.running.budget import Budget
from agentv_stream.running.child import Child, ChildEnd
from agentv_stream.running.fixture import working_copy
from agentv_stream.running.options import RunOptions
from agentv_stream.running.overseer import Overseer
from agentv_stream.running.prompt import prompt_of
from agentv_stream.running.run_result import finish_result, run_facts, run_value
from agentv_stream.settings import Settings
from agentv_stream.sources.files import is_there

if TYPE_CHECKING:
    from agentv_stages.redaction.redactor import Redactor

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class RunReport:
    """The outcome of a run. `value` is the result object as written to `path`, if that succeeded."""

    path: Path
    value: dict[str, Any]
    end: ChildEnd
    report: Report
    session: StreamSession
    child: Child
    failed: bool = False
    warnings: list[str] = field(default_factory=list[str])
    signalled: int | None = None

    @property
    def exit_code(self) -> int:
        codes = [EXIT_VERDICT if self.failed else EXIT_FINE]
        codes += [e.exit_code for e in self.report.failures if isinstance(e, AgentvStreamError) and not _no_stream(e)]
        if self.not_understood:
            codes.append(EXIT_IO)
        stopped = self.end.stopped == "fail-fast"
        if self.value["status"] in ("error", "incomplete", "interrupted", "stalled", "killed") and not stopped:
            codes.append(EXIT_RUN)
        if not self.child.received:
            codes.append(EXIT_RUN)
        return worst(codes)

    @property
    def not_understood(self) -> bool:
        """Whether the agent printed a stream in no known format, so that its figures are missing. Without a named
        agent, a text or a single object in place of a stream is the agent's result."""
        if not any(isinstance(e, NotALog) for e in self.report.failures) or self.session.dialect is not None:
            return False
        causes = [e.__cause__ for e in self.report.failures]
        records = max((cause.records for cause in causes if isinstance(cause, UnknownFormat)), default=0)
        return self.session.settings.provider is not None or records > 1


def _write_prompt(place: Path, prompt: str) -> None:
    """Raises: SinkError."""
    try:
        place.unlink(missing_ok=True)
        place.write_bytes(prompt.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise SinkError(str(place), error) from error


def _no_stream(error: Exception) -> bool:
    return isinstance(error, NotALog | EmptyInput)


class Places(NamedTuple):
    """The files of an attempt."""

    stream: Path
    errors: Path
    trace: Path
    result: Path


async def run_agent(options: RunOptions, settings: Settings, attempt: int, live: LiveCheck | None = None) -> RunReport:
    """Runs the command once; with `settings.live` it shows a live line on standard error.

    Raises: UsageError if it cannot be started, SinkError if the folder cannot be written.
    """
    stem = stem_of(options.task, options.approach, attempt)
    places = Places(*(options.folder / f"{stem}{end}" for end in (RAW_LOG, ".stderr.log", TRACE, ".json")))
    _clear(places)
    redactor = None
    if settings.redact:
        from agentv_stream.redaction.redaction import redactor_for

        redactor = redactor_for(settings)
    options = await anyio.to_thread.run_sync(_prepared, options, settings, attempt, stem)
    child = Child(
        options.command,
        save=places.stream if options.save_stream else None,
        stderr=places.errors,
        cwd=options.cwd,
        stale=(places.stream, places.trace),
        stdin=options.stdin,
        redactor=redactor,
    )
    settings = _settings_of(options, settings, attempt)
    traces = TraceList() if options.include_trace else None
    sinks: list[Sink] = []
    if options.dump_traces:
        sinks.append(RenderSink("trace", lambda: places.trace, trace_events.render, another=lambda: places.trace))
    watchers = [w for w in (live.checker if live is not None else None, traces) if w is not None]
    session = StreamSession(child, settings, sinks, watchers, answers=False)
    overseer = Overseer(child, session, options)
    if options.budget_usd is not None:
        session.watchers.append(Budget(options.budget_usd, lambda: session.observer, lambda: overseer.end_it("budget")))
    if live is not None:
        _connect(live, session, overseer, redactor)
    # Signals are handled until the result is written: a late one must not leave a run without a result.
    async with heeded(overseer.interrupt, FORWARDED):
        begun = datetime.now(UTC)
        started = anyio.current_time()
        report = await overseer.run()
        seconds = anyio.current_time() - started
        result = report.result
        failed = live.finish(result, session.provider, settings.quiet) if live is not None else False
        if live is not None and session.spans is not None:
            from agentv_stream.otel.verdicts import export_verdicts

            await export_verdicts(session, live.checker.finish())
        if result is not None:
            finish_result(result, child, options, attempt)
            if traces is not None:
                traces.put_into(result)
        value = run_value(result, child, live, options.output_file)
        value["run"] = run_facts(child, options, begun, seconds) | {
            "stream": places.stream.name if child.saved and is_there(places.stream) else None,
            "attempt": attempt,
            "prompt": settings.prompt,
            "agentv_stream_version": running_version(),
        }
        value |= {"task_id": options.task, "approach": options.approach, "attempt": attempt}
        if redactor is not None:  # the command, the prompt, an output that is no stream
            value = decode_json(redactor.hide(printable_json(value)))
        try:
            await _store(places, value)
        except SinkError as error:  # how the run ended is reported all the same
            report.failures.append(error)
        outcome = RunReport(
            places.result, value, child.end, report, session, child, failed, signalled=overseer.signalled
        )
        outcome.warnings = [*report.warnings, *child.warnings]
        child.drop_empty_files()
        return outcome


def _clear(places: Places) -> None:
    """Makes the folder. Raises: SinkError."""
    folder = places.result.parent
    try:
        prepare_folder(folder)
        for place in (places.stream, places.errors, places.trace):
            # With `--attempt` the name may exist; a link's target is not ours, and a named pipe would be waited for.
            if place.is_symlink() or place.is_fifo():
                place.unlink()
    except OSError as error:
        raise SinkError(str(folder), error) from error


def _prepared(options: RunOptions, settings: Settings, attempt: int, stem: str) -> RunOptions:
    """The options of this attempt, with its folder and environment; its files for prompt and answer are ready.

    Raises: UsageError, SinkError.
    """
    cwd = options.cwd
    if options.fixture is not None:
        cwd = working_copy(options.fixture, options.folder, stem)
    environment = {"AGENTV_STREAM_TASK": options.task, "AGENTV_STREAM_ATTEMPT": str(attempt)}
    if options.output_file is not None:
        options.output_file.unlink(missing_ok=True)
    if options.prompt_file is not None:
        _write_prompt(options.prompt_file, settings.prompt or "")
    return replace(options, cwd=cwd, environment={**environ, **environment, **(options.environment or {})})


def _settings_of(options: RunOptions, settings: Settings, attempt: int) -> Settings:
    """The settings of this attempt's session."""
    return structs.replace(
        settings,
        out=settings.out if settings.out is not None else options.folder,
        target=options.approach,
        test_id=options.task,
        attempt=attempt,
        prompt=settings.prompt if settings.prompt is not None else prompt_of(options.command),
        transcript=None,
        stats=None,
        tee=False,
        tee_redacted=False,
        dump_traces=False,  # done here: the file is named after the attempt
        include_trace=False,
    )


def _connect(live: LiveCheck, session: StreamSession, overseer: Overseer, redactor: "Redactor | None") -> None:
    """Puts the verdicts of a check into the session, and lets it end the agent."""
    live.redact(redactor)
    session.verdicts = live.verdicts
    if overseer.line is not None:
        live.before_telling = overseer.line.clear
    if live.fail_fast is not None:
        live.stop = lambda: overseer.end_it("fail-fast")


async def _store(places: Places, value: dict[str, Any]) -> None:
    """Writes the result, once stream and errors are on the disk. Raises: SinkError."""
    with suppress(OSError):
        if places.result.is_fifo():  # put there by the agent; it would be written into as soon as a process reads it
            places.result.unlink()
    for place, failure in (await anyio.to_thread.run_sync(sync_paths, (places.stream, places.errors))).items():
        raise SinkError(str(place), failure)
    await publish(places.result, indented_json(value))

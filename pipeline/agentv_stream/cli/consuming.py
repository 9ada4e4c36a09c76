"""The implementation of `consume`: builds the session, runs it, reports how it ended, returns the exit code."""

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from agentv_stages.figures.result import Result, settled
from agentv_stream.cli.closing import tell_closing
from agentv_stream.cli.exporting import check_export
from agentv_stream.cli.memory import tune_memory
from agentv_stream.cli.telling import check_one_user, redact_messages, say
from agentv_stream.discovery.own_files import check_own_files
from agentv_stream.errors import (
    EXIT_FINE,
    EXIT_RUN,
    EXIT_VERDICT,
    AgentvStreamError,
    EmptyInput,
    NotALog,
    SinkError,
    SourceError,
    UsageError,
    worst,
)
from agentv_stream.live.live_line import LiveLine, is_wanted
from agentv_stream.live.session import StreamSession
from agentv_stream.live.signals import heeded
from agentv_stream.outputs.durable import SYNC
from agentv_stream.outputs.output_file import publish
from agentv_stream.outputs.pipe_output import PipeOutput, cannot_seek
from agentv_stream.outputs.publish import means_stdout, publish_now
from agentv_stream.settings import Settings, from_process, stream_log
from agentv_stream.sources.source import ByteSource, FileSource, standard_input

if TYPE_CHECKING:
    from agentv_stream.checks.live_check import LiveCheck

ANSWER_HINT = "`agentv-stream sessions` lists it"
HINT = (
    "an agent's event stream was expected; run the agent so:\n"
    '  claude -p "…" --output-format stream-json --verbose | agentv-stream consume\n'
    '  codex exec --json "…" | agentv-stream consume\n'
    '  gemini -p "…" -o stream-json | agentv-stream consume'
)


class NoInput(UsageError):
    """No input was given."""

    below = HINT


SESSION_ID = re.compile(r"(ses_)?[0-9a-fA-F-]{6,36}|ses_\w+")
WHICH = "; `agentv-stream providers` lists the logs that are read"

LAST_SECONDS = 2.0  # for the reader of the statistics, once a signal ends us
STATS_SECONDS = 2.0  # interval at which the statistics file is rewritten while the stream runs


def consume_source(
    name: str,
    options: dict[str, Any],
    *,
    checks: Sequence[Path] = (),
    case: str | None = None,
    fail_fast: str | None = None,
    session_id: str | None = None,
    prices: bool = False,
) -> int:
    """Consumes one source; returns the exit code."""
    try:
        settings = _settings(options)
        SYNC.set(settings.sync)
        if prices:
            from agentv_stream.costs.prices import check_installed

            check_installed()
        _check_outputs(settings, (name, *checks))
        live = _checks(checks, case, fail_fast, settings, name)
        source = open_source(name, session_id, settings.subagents)
    except AgentvStreamError as error:
        say(error, error.below)
        return error.exit_code
    tune_memory()
    try:
        return anyio.run(_run, source, settings, live, prices)
    except AgentvStreamError as error:
        say(error)
        return error.exit_code


def _checks(
    specs: Sequence[Path], case: str | None, fail_fast: str | None, settings: Settings, name: str
) -> "LiveCheck | None":
    """The specs of `--check`, read before anything else; their module is imported only if needed."""
    if not specs and case is None and fail_fast is None:
        return None
    from agentv_stream.checks.live_check import open_checks

    live = open_checks(specs, case, fail_fast, settings.test_id or Path(name).name, say)
    if live is not None:
        live.quiet = settings.quiet
    return live


def _settings(options: dict[str, Any]) -> Settings:
    if options.get("stream_log") is not None:
        try:
            options["stream_log"] = stream_log(options["stream_log"])
        except ValueError as error:
            raise UsageError(f"--stream-log: {error}") from error
    return from_process(options)


def _check_outputs(settings: Settings, inputs: Sequence[str | Path]) -> None:
    """Ensures that standard output, and every file, has only one use."""
    outputs = (
        ("--transcript", settings.transcript),
        ("--stats", settings.stats),
        ("--otel-file", settings.otel_file),
    )
    to_stdout = [(f"{option} -", means_stdout(place)) for option, place in outputs[::-1]]
    check_one_user((("--tee", settings.tee), ("--tee-redacted", settings.tee_redacted), *to_stdout))
    check_export(settings)
    for option, place in outputs:
        if place == "":
            raise UsageError(f"{option}: the name of the file is empty")
    check_own_files((*outputs, ("--tee", "-" if settings.tee or settings.tee_redacted else None)), inputs)


def open_source(name: str, session_id: str | None, subagents: bool) -> ByteSource:
    """The source for a name: `-`, a file, or a session in a store, with or without the sessions of its sub-agents."""
    if name == "-":
        if sys.stdin is not None and sys.stdin.isatty():
            raise NoInput("no input: standard input is a terminal")
        return standard_input()
    if not name:
        raise NoInput("no input: the name of the file is empty")
    if "://" in name:
        raise UsageError(f"consume reads files and pipes, no URLs; `agentv-stream import {name}` does")
    path = Path(name)
    if SESSION_ID.fullmatch(name) and not path.exists():
        raise SourceError(f"no such file: {name}; session ids are for `show`, `stats`, `import` and `tail`")
    if session_id is not None:
        from agentv_stream.discovery.places import is_database

        if path.is_file() and not is_database(name):
            raise UsageError(f"--session names a session of a database, and {name} is none: leave it out")
    if path.suffix in (".db", ".sqlite", ".sqlite3") or session_id is not None:
        from agentv_stream.stores.source import StoreSource

        return StoreSource(path, session_id, subagents)
    return FileSource(path)


async def _run(source: ByteSource, settings: Settings, live: "LiveCheck | None", prices: bool) -> int:
    """Reads, writes and reports; no signal ends it before the last output is written."""
    stats = settings.stats
    printed = PipeOutput(stats) if stats is not None and cannot_seek(stats) else None
    watchers = [live.checker] if live is not None else []
    session = StreamSession(source, settings, watchers=watchers, lists=False)  # made while they are written
    redact_messages(session.redactor)
    if live is not None:
        live.redact(session.redactor)
        session.verdicts = live.verdicts
    if live is not None and live.fail_fast == "close":
        live.stop = session.stop

    def interrupt(number: int) -> None:
        session.interrupt(number)
        if session.report.result is not None and printed is not None:  # all else is done
            session.report.signalled = number
            printed.hurry(LAST_SECONDS)

    async with heeded(interrupt):
        async with anyio.create_task_group() as tasks:
            if is_wanted(settings):
                line = LiveLine(session, sys.stderr)
                tasks.start_soon(line.run)
                if live is not None:
                    live.before_telling = line.clear
            # The reader of a pipe gets only the last result: after a first one it would stop reading.
            if stats is not None and printed is None:
                tasks.start_soon(_keep_stats, session, Path(stats))
            await session.run()
            tasks.cancel_scope.cancel()
        if prices and session.report.result is not None:
            from agentv_stream.costs.prices import estimate_cost

            estimate_cost(session.report.result)
        result = session.report.result
        failed = live is not None and result is not None and live.finish(result, session.provider, settings.quiet)
        if live is not None and session.spans is not None:
            from agentv_stream.otel.verdicts import export_verdicts

            await export_verdicts(session, live.checker.finish())
        if printed is not None:
            if session.cut_short:
                printed.hurry(LAST_SECONDS)
            session.report.failures += await _print_stats(session, printed)
            printed.close()
            # If we closed the pipe ourselves the end has no meaning, and the verdict's code counts.
        place = Path(stats) if stats is not None and printed is None else None
        code = _finish(session, settings, place, failed, stopped=live is not None and live.stopped is not None)
        return 128 + (session.report.signalled or 0) if printed is not None and printed.gave_up else code


async def _print_stats(session: StreamSession, output: PipeOutput) -> list[Exception]:
    """Writes the result to standard output or a named pipe. Waits for the reader, unless a signal ends us."""
    result, observer = session.report.result, session.observer
    if result is None or observer is None:
        return []
    try:
        for piece in result.json_pieces(observer.stats.members()):
            await output.write(piece)
    except SinkError as error:
        return [] if output.left else [error]
    return []


async def _keep_stats(session: StreamSession, place: Path) -> None:
    """Publishes the result so far while the stream runs, for others to read; a failure is reported at the end."""
    published = 0
    while True:
        await anyio.sleep(STATS_SECONDS)
        chain = session.chain
        if chain is not None and chain.batches != published:
            published = chain.batches
            result = chain.observer.result(chain.pair.left, lists=False)
            result.status = "running"
            now = settled(chain.observer.stats.members())  # figures change while a thread writes
            with suppress(SinkError):
                await publish(place, result.json_pieces(now), sync=False)


def _finish(session: StreamSession, settings: Settings, stats: Path | None, failed: bool, stopped: bool) -> int:
    """Writes the statistics file, reports how it ended, and returns the exit code; `failed`: a verdict failed."""
    report = session.report
    result = report.result
    code = EXIT_VERDICT if failed else EXIT_FINE
    for warning in report.warnings:
        say(warning)
    for failure in report.failures:
        say(*_shown_failure(failure, session))
        if isinstance(failure, AgentvStreamError):
            code = worst((code, failure.exit_code))
    if result is not None:
        if stats is not None and session.observer is not None:
            try:
                publish_now(stats, result.json_pieces(session.observer.stats.members()))
            except SinkError as error:
                say(error)
                code = worst((code, error.exit_code))
        if not settings.quiet:
            if session.dialect is not None and session.dialect.answer_only:
                say("the input is the last answer alone: calls and tokens are in the session on disk", ANSWER_HINT)
            elif _is_end_alone(result):
                say(f"the input is the closing object alone, without the {result.agent_num_turns} turns before", HINT)
            tell_closing(result, report.failures)
        if result.status in ("error", "incomplete", "interrupted", "stalled", "killed") and not stopped:
            code = worst((code, EXIT_RUN))
    sys.stderr.flush()
    if session.cut_short and report.signalled is not None:
        return 128 + report.signalled
    return code


def _is_end_alone(result: Result) -> bool:
    """Whether an agent reports turns of which it printed nothing, as with `--output-format json`."""
    turns = result.agent_num_turns
    return (
        isinstance(turns, int) and turns > 1 and result.records == 1 and not result.tool_use_summary["total_tool_calls"]
    )


def _shown_failure(failure: Exception, session: StreamSession) -> tuple[str, str]:
    """The message for a failure, and the lines below it."""
    if isinstance(failure, NotALog) and session.source.finished:
        return f"{failure}{WHICH}", ""
    return str(failure), HINT if isinstance(failure, EmptyInput | NotALog) else ""

"""Runs an agent: starts it, reads its stream, holds it against specs, and stores stream, transcript and result.

<task>_<approach>_<attempt>.json            the result: statistics, totals, verdicts, how the run ended
<task>_<approach>_<attempt>.stream.jsonl    the raw stream, byte for byte
<task>_<approach>_<attempt>.stderr.log      standard error
<task>_<approach>_<attempt>.trace.jsonl     generic trace events, where asked for
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import msgspec
from msgspec import UNSET

from agentv_stages.payload import decode_json
from agentv_stages.result import Evidence, Result
from agentv_stages.trajectory import trace_events
from agentv_stages.trajectory.json_values import is_object
from agentv_stages.trajectory.trace_events import TraceList
from agentv_stream.checks.check import verdicts_json, worst
from agentv_stream.checks.live_check import LiveCheck
from agentv_stream.checks.targets import running_version
from agentv_stream.errors import (
    EXIT_FINE,
    EXIT_RUN,
    EXIT_VERDICT,
    AgentvStreamError,
    EmptyInput,
    NotALog,
    SinkError,
    UsageError,
)
from agentv_stream.files import is_folder
from agentv_stream.live_line import LiveLine
from agentv_stream.naming import prepare_folder, safe_part
from agentv_stream.output_file import publish
from agentv_stream.running.child import Child, ChildEnd, Stopped
from agentv_stream.running.prompt import prompt_of
from agentv_stream.session import Report, StreamSession
from agentv_stream.settings import Settings
from agentv_stream.signals import heeded
from agentv_stream.sink import RenderSink, Sink

OUTPUT_SCHEMA = "agentv_stream.output.v1"
"""What is kept of an output that is no stream: statistics and tokens are null there, not 0."""

DEFAULT_FOLDER = Path(".agentv") / "runs"
LONGEST_DRAIN = 20  # times `linger`: so long a flood from out of reach is read after the agent has gone
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class RunOptions:
    """What `run` was told. Times are seconds; None is without limit.

    `patience` is the time that an agent has to end by itself after the first Ctrl-C, `grace` the time between the
    request to end and the kill, `linger` how long a pipe may stay open that children of the agent hold when the agent
    itself has gone. `shown` is the command as the result names it, where that differs.
    """

    command: tuple[str, ...]
    task: str
    approach: str
    folder: Path = DEFAULT_FOLDER
    cwd: Path | None = None
    environment: Mapping[str, str] | None = None
    timeout: float | None = None
    stall: float | None = None
    grace: float = 5.0
    linger: float = 5.0
    patience: float = 10.0
    save_stream: bool = True
    dump_traces: bool = False
    include_trace: bool = False
    shown: tuple[str, ...] = ()


@dataclass
class RunReport:
    """How a run came out. `value` is the result object as it was written to `path`."""

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
        stopped = self.end.stopped == "fail-fast"
        if self.value["status"] in ("error", "incomplete", "interrupted", "stalled", "killed") and not stopped:
            codes.append(EXIT_RUN)
        if not self.child.received:
            codes.append(EXIT_RUN)
        return worst(codes)


def free_attempt(folder: Path, task: str, approach: str) -> int:
    """The first number from 1 under which nothing is stored."""
    stem = f"{safe_part(task)}_{safe_part(approach)}_"
    taken: set[int] = set()
    for path in folder.glob(f"{stem}*") if is_folder(folder) else ():
        number = path.name[len(stem) :].split(".")[0]
        if number.isascii() and number.isdigit():
            taken.add(int(number))
    return next(n for n in range(1, len(taken) + 2) if n not in taken)


def claim_attempt(folder: Path, task: str, approach: str) -> int:
    """Takes the next free number, so that of runs into one folder each gets its own; the claim is the file of standard
    error, empty as yet. Raises: SinkError."""
    try:
        prepare_folder(folder)
        while True:
            number = free_attempt(folder, task, approach)
            stem = f"{safe_part(task)}_{safe_part(approach)}_{number}"
            claim = folder / f"{stem}.stderr.log"
            try:
                os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                continue
            if not any(folder.glob(f"{stem}.*json*")):
                return number
            claim.unlink()  # another run took it, and ended, while we looked
    except OSError as error:
        raise SinkError(str(folder), error) from error


async def run_agent(options: RunOptions, settings: Settings, attempt: int, live: LiveCheck | None = None) -> RunReport:
    """Runs the command once; with `settings.live` a live line stands on standard error.

    Raises: UsageError when it cannot be started, SinkError when the folder or the result cannot be written.
    """
    stem = f"{safe_part(options.task)}_{safe_part(options.approach)}_{attempt}"
    try:
        prepare_folder(options.folder)
    except OSError as error:
        raise SinkError(str(options.folder), error) from error
    child = Child(
        options.command,
        save=options.folder / f"{stem}.stream.jsonl" if options.save_stream else None,
        stderr=options.folder / f"{stem}.stderr.log",
        cwd=options.cwd,
    )
    settings = replace(
        settings,
        out=settings.out if settings.out is not None else options.folder,
        target=options.approach,
        test_id=options.task,
        attempt=attempt,
        prompt=settings.prompt if settings.prompt is not None else prompt_of(options.command),
        transcript=None,
        stats=None,
        tee=False,
    )
    traces = TraceList() if options.include_trace else None
    sinks: list[Sink] = []
    if options.dump_traces:
        place = options.folder / f"{stem}.trace.jsonl"
        sinks.append(RenderSink("trace", lambda: place, trace_events.render))
    watchers = [w for w in (live.checker if live is not None else None, traces) if w is not None]
    session = StreamSession(child, settings, sinks, watchers)
    overseer = _Overseer(child, session, options)
    if live is not None and overseer.line is not None:
        live.before_telling = overseer.line.clear
    if live is not None and live.fail_fast is not None:
        live.stop = lambda: overseer.end_it("fail-fast")
    # Signals are heeded until the result is written: one that comes late must not leave a run without it.
    async with heeded(overseer.interrupt, FORWARDED):
        begun = datetime.now(UTC)
        started = anyio.current_time()
        report = await overseer.run()
        seconds = anyio.current_time() - started
        result = report.result
        failed = live.finish(result, session.provider, settings.quiet) if live is not None else False
        if result is not None:
            _finish_result(result, child, options, attempt)
            if traces is not None:
                result.traces = traces.events
        value = _value(result, child, live)
        value["run"] = {
            "command": list(options.shown or options.command),
            "started_at": begun.isoformat().replace("+00:00", "Z"),
            "duration_seconds": round(seconds, 3),
            "exit_code": child.end.exit_code,
            "signal": child.end.signal,
            "stopped": child.end.stopped,
            "timed_out": child.end.stopped == "timeout",
            "stderr_tail": child.error_tail(),
            "stream_bytes": child.received,
            "saved_bytes": child.saved,
            "stream": f"{stem}.stream.jsonl" if child.saved else None,
            "attempt": attempt,
            "prompt": settings.prompt,
            "agentv_stream_version": running_version(),
        }
        value |= {"task_id": options.task, "approach": options.approach, "attempt": attempt}
        if traces is not None and traces.truncated:
            value["traces_truncated"] = True
        path = options.folder / f"{stem}.json"
        await publish(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
        made = RunReport(path, value, child.end, report, session, child, failed, signalled=overseer.signalled)
        made.warnings = [*report.warnings, *child.warnings]
        child.drop_empty_files()
        return made


class _Overseer:
    """Runs child and session side by side, and ends the child when time, silence, a verdict or a signal asks for it."""

    def __init__(self, child: Child, session: StreamSession, options: RunOptions) -> None:
        self.child = child
        self.session = session
        self.options = options
        self.signalled: int | None = None
        self.line = LiveLine(session, sys.stderr) if session.settings.live else None
        self._ending = anyio.Event()
        self._interrupted = anyio.Event()
        self._done = anyio.Event()

    def end_it(self, why: Stopped) -> None:
        """Asks for the end; the first reason stays."""
        if self.child.end.stopped is None and not self._done.is_set():
            self.child.end.stopped = why
            self._ending.set()

    async def run(self) -> Report:
        child = self.child
        report = Report()
        # Started before the tasks, so that a command that cannot be started is an error of its own, in no group.
        try:
            await child.start(self.options.environment)
        except UsageError:
            child.drop_empty_files()
            raise
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_end)
            tasks.start_soon(self._watch_exit)
            tasks.start_soon(self._watch_patience)
            if self.line is not None:
                tasks.start_soon(self.line.run)
            if self.options.timeout is not None:
                tasks.start_soon(self._watch_time, self.options.timeout)
            if self.options.stall is not None:
                tasks.start_soon(self._watch_silence, self.options.stall)
            try:
                report = await self.session.run()
                with anyio.move_on_after(self.options.linger) as patience:
                    await child.wait()
                if patience.cancelled_caught:
                    # It closed its output and goes on: there is nothing more to come.
                    await child.terminate(self.options.grace)
                    await child.wait()
            finally:
                self._done.set()
                if child.running:
                    await child.terminate(self.options.grace)
                    with anyio.CancelScope(shield=True):
                        await child.wait()
                elif child.end.stopped is not None:
                    child.send(signal.SIGKILL)
                child.close()
            tasks.cancel_scope.cancel()
        return report

    async def _watch_end(self) -> None:
        await self._ending.wait()
        await self.child.terminate(self.options.grace)
        await self._drain()

    async def _watch_exit(self) -> None:
        await self.child.wait()
        with anyio.move_on_after(self.options.linger):
            await self.child.eof.wait()
            return
        if self.child.end.stopped is None:
            self.child.end.left_open = True
            await self.child.terminate(self.options.grace)
            await self._drain()

    async def _drain(self) -> None:
        """Lets what is in the pipe be read; a pipe that somebody out of reach holds open is left once it is silent."""
        linger = self.options.linger
        with anyio.move_on_after(LONGEST_DRAIN * linger):
            while True:
                with anyio.move_on_after(linger):
                    await self.child.eof.wait()
                    return
                since = self.child.silent_since
                if since is not None and anyio.current_time() - since >= linger:
                    break
        self.child.end.left_open = True
        self.session.stop()

    async def _watch_time(self, seconds: float) -> None:
        await anyio.sleep(seconds)
        self.end_it("timeout")

    async def _watch_silence(self, seconds: float) -> None:
        while True:
            since = self.child.silent_since
            now = anyio.current_time()
            if since is not None and now - since >= seconds:
                self.end_it("stall")
                return
            await anyio.sleep(seconds if since is None else max(0.001, since + seconds - now))

    def interrupt(self, number: int) -> None:
        """Passes a signal on to the group; a second one, and any SIGTERM or SIGHUP, ends it for certain."""
        if self._done.is_set():
            return  # the agent has gone; what is left is to write down what it did
        first = self.signalled is None
        self.signalled = number
        if self.child.started.is_set():
            self.child.send(number)
        self._interrupted.set()
        if number != signal.SIGINT or not first:
            self.end_it("signal")

    async def _watch_patience(self) -> None:
        await self._interrupted.wait()
        await anyio.sleep(self.options.patience)
        self.end_it("signal")


def _finish_result(result: Result, child: Child, options: RunOptions, attempt: int) -> None:
    """Adds to a result what only the one who ran the agent knows."""
    end, evidence = child.end, result.evidence
    result.target, result.test_id, result.attempt = options.approach, options.task, attempt
    if end.exit_code is not None:
        evidence.exit_code = end.exit_code
    if end.signal is not None:
        evidence.signal = end.signal
    status, reason = _ended(end)
    if end.stopped in ("timeout", "stall", "fail-fast"):
        # The agent may print a closing record on its way out; that we ended it is what counts.
        result.status = status
    elif status is not None and result.status in ("complete", "unknown", "incomplete"):
        # An agent that says "success" and exits with an error has failed.
        result.status = status
    if reason is not None and result.status == status:
        evidence.reason = reason if evidence.reason is None else f"{evidence.reason}; {reason}"


def _ended(end: ChildEnd) -> tuple[Any, str | None]:
    """Status and reason that the end of the process speaks for; None where it speaks for nothing."""
    if end.stopped == "stall":
        return "stalled", "silent for longer than --stall"
    if end.stopped == "timeout":
        return "killed", "ran for longer than --timeout"
    if end.stopped == "fail-fast":
        return "killed", "stopped by --fail-fast"
    if end.signal is not None:
        status = "interrupted" if end.signal == "SIGINT" else "killed"
        return status, f"ended by {end.signal}"
    if end.exit_code:
        return "error", f"exit code {end.exit_code}"
    return None, None


def _no_stream(error: Exception) -> bool:
    return isinstance(error, NotALog | EmptyInput)


def _value(result: Result | None, child: Child, live: LiveCheck | None) -> dict[str, Any]:
    """The result as plain values; of an output that is no stream what can be had: its one JSON object, or its text."""
    if result is not None:
        value: dict[str, Any] = msgspec.to_builtins(result)
        return value
    status, reason = _ended(child.end)
    value = {
        "schema_version": OUTPUT_SCHEMA,
        "session": {"id": None, "provider": "unknown", "dialect": "none", "model": None, "version": None},
        "status": status or ("unknown" if child.received else "incomplete"),
        "evidence": msgspec.to_builtins(
            Evidence(
                reason=reason,
                exit_code=UNSET if child.end.exit_code is None else child.end.exit_code,
                signal=UNSET if child.end.signal is None else child.end.signal,
            )
        ),
        "tool_use_summary": None,
        "tokens": None,
        "cost_usd": None,
        "duration_ms": None,
        "losses": ["the agent printed no stream of events: calls, turns and tokens are not known"],
        "outputs": {"transcript": None},
    }
    data = bytes(child.head)
    if data.strip():
        try:
            value["result"] = decode_json(data)
        except (ValueError, RecursionError):
            value["result"] = {"raw_text": data[:200_000].decode("utf-8", "replace")}
    if live is not None:
        # Nothing of what was wished for was seen; a report must not take that for no verdict.
        value["verdicts"] = verdicts_json(live.checker.finish())
    single: Any = value.get("result")
    if is_object(single):
        cost: Any = single.get("total_cost_usd")
        value["cost_usd"] = cost if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    return value


def totals_of_attempts(reports: Sequence[RunReport]) -> str:
    """One line about several attempts."""
    passed = sum(report.exit_code == EXIT_FINE for report in reports)
    return f"{passed} of {len(reports)} attempts fine"

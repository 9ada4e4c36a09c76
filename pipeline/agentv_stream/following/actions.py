"""Runs commands at events of followed sessions: `tail --on EVENT COMMAND`.

Each command gets the session as one JSON object on its standard input. Commands run in threads of their own, so that no
round waits for one.
"""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct

from agentv_stages.figures.result import Outputs
from agentv_stages.model.event import Status
from agentv_stages.model.payload import printable_path
from agentv_stages.model.tokens import TokenTotals, token_totals
from agentv_stages.session.chain import SessionChain
from agentv_stream.errors import UsageError
from agentv_stream.following.followed import Followed, Listener
from agentv_stream.following.service_log import Say
from agentv_stream.live.stall import Stall
from agentv_stream.names import suggestion
from agentv_stream.outputs.naming import RESULT, TRANSCRIPT

if TYPE_CHECKING:  # the evaluators take 80 ms
    from agentv_stages.trajectory import Case

Occasion: TypeAlias = Literal["ended", "failed", "violation", "stalled"]
SCHEMA = "agentv_stream.session_event.v1"
MOST_AT_ONCE = 4
MOST_WAITING = 1_000
LIMIT_SECONDS = 60.0
LAST_SECONDS = 2.0  # for running commands, once the follower is to stop
_MOST_KEPT = 1_000  # reported states of one session and event
_ERROR_BYTES = 500


class SessionEvent(Struct, frozen=True, kw_only=True):
    """The standard input of a command of `tail --on`. `path` is the log, `why` says in words what happened.

    `violations` names the cases of the spec that failed. `tool_use_summary` has no sequences and no watched commands.
    """

    schema_version: str = SCHEMA
    event: Occasion
    id: str | None
    provider: str
    path: str
    status: Status
    why: str
    cwd: str | None
    model: str | None
    outputs: dict[str, str]
    tool_use_summary: dict[str, Any]
    tokens: TokenTotals
    cost_usd: float | None
    duration_ms: int | None
    violations: list[str]


def command_of(event: str, text: str) -> tuple[str, list[str]]:
    """An event and the words of a command. Raises: UsageError."""
    if event not in get_args(Occasion):
        raise UsageError(f"--on: unknown event {event!r}{suggestion(event, get_args(Occasion))}")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--on {event} {text!r}: {error}") from None
    if not words:
        raise UsageError(f"--on {event}: the command is empty")
    return event, words


class Actions(Listener):
    """The commands of a follower. An event is noted while a session is written, and its commands start with `start`,
    when the outputs are in place."""

    def __init__(
        self, commands: Sequence[tuple[str, list[str]]], say: Say, limit_seconds: float = LIMIT_SECONDS
    ) -> None:
        self._commands = commands
        self._say = say
        self._limit = limit_seconds
        self._events = {event for event, _ in commands}
        self._noted: list[tuple[Followed, SessionEvent]] = []
        self._pool = ThreadPoolExecutor(MOST_AT_ONCE, "on")
        self._futures: set[Future[None]] = set()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._turn = Lock()
        self._closed = False

    @property
    def on_stalled(self) -> bool:
        """Whether a command runs for sessions that stall."""
        return "stalled" in self._events

    def settled(self, session: Followed, after: SessionChain, outputs: Outputs) -> None:
        chain = after
        facts, status = chain.observer.facts, chain.observer.status(len(chain.pair.left))
        assert session.chain is not None
        violations = _violations(session.chain.cases)  # in `chain` the end has decided all cases
        if facts.end is not None and chain.observer.over and status not in ("unknown", "incomplete", "running"):
            state = str(facts.end.source.row)
            if facts.end.source.offset < session.files.inputs[0].mute_until:
                self._pass_over(session, "ended", state)
                self._pass_over(session, "failed", state)
            why = f"{status}: {chain.observer.reason}" if chain.observer.reason else status
            self._note(session, chain, outputs, "ended", [state], why, violations)
            if status != "complete":
                self._note(session, chain, outputs, "failed", [state], why, violations)
            if facts.end.source.offset >= session.files.inputs[0].mute_until:
                violations = [case.name for case in chain.cases if case.result().verdict == "fail"]
        self._violated(session, chain, outputs, violations)

    def look(self, session: Followed) -> None:
        """Notes violations of a session that still grows."""
        chain, written = session.chain, session.outputs
        if "violation" not in self._events or chain is None or not chain.cases:
            return
        if written is None or written.state is None or not written.ready:
            return
        outputs = Outputs(transcript=printable_path(str(written.state.path(TRANSCRIPT))))
        self._violated(session, chain, outputs, _violations(chain.cases))

    def stalled(self, session: Followed, stall: Stall) -> None:
        """A session that makes no progress any more; it is marked as reported."""
        chain, written = session.reached or session.chain, session.outputs
        if chain is None or written is None:
            return
        written.standing.reported = stall.reason
        session.dirty = True
        state = written.state if not written.provisional else None
        transcript = None if state is None else printable_path(str(state.path(TRANSCRIPT)))
        self._add(session, chain, Outputs(transcript=transcript), "stalled", "stalled", stall.text, [])

    def _violated(self, session: Followed, chain: SessionChain, outputs: Outputs, cases: list[str]) -> None:
        prefix = session.shared.plan.specs[:16]
        for case in chain.cases:
            at = case.decided.at if case.decided is not None else None
            if case.name in cases and at is not None and at.offset < session.files.inputs[0].mute_until:
                self._pass_over(session, "violation", f"{prefix} {case.name}")
        states = [f"{prefix} {case}" for case in cases]
        self._note(session, chain, outputs, "violation", states, f"violated: {', '.join(cases)}", cases)

    def _pass_over(self, session: Followed, event: Occasion, state: str) -> None:
        """Marks a state as reported: it is from before the end of the log at which following began (`--from end`)."""
        assert session.outputs is not None
        known = session.outputs.reported.setdefault(event, [])
        if state not in known:
            known.append(state)

    def _note(
        self,
        session: Followed,
        chain: SessionChain,
        outputs: Outputs,
        event: Occasion,
        states: list[str],
        why: str,
        violations: list[str],
    ) -> None:
        """Notes an event, unless all of its states are known."""
        assert session.outputs is not None
        known = session.outputs.reported.setdefault(event, [])
        new = [state for state in states if state not in known]
        if event not in self._events or not new:
            return
        session.outputs.reported[event] = [*known, *new][-_MOST_KEPT:]
        session.dirty = True
        status = chain.observer.status(len(chain.pair.left))
        self._add(session, chain, outputs, event, status, why, violations)

    def _add(
        self,
        session: Followed,
        chain: SessionChain,
        outputs: Outputs,
        event: Occasion,
        status: Status,
        why: str,
        violations: list[str],
    ) -> None:
        assert session.outputs is not None
        observer = chain.observer
        paths = {name: path for name, path in msgspec.structs.asdict(outputs).items() if isinstance(path, str)}
        if session.outputs.settled and session.outputs.state is not None:
            paths["result"] = printable_path(str(session.outputs.state.path(RESULT)))
        detail = SessionEvent(
            event=event,
            id=observer.facts.session_id,
            provider=chain.provider.name,
            path=printable_path(session.main),
            status=status,
            why=why,
            cwd=observer.facts.cwd,
            model=observer.facts.model,
            outputs=paths,
            tool_use_summary=observer.stats.summary(False),
            tokens=token_totals(observer.totals.tokens()),
            cost_usd=observer.totals.cost_usd,
            duration_ms=observer.totals.duration_ms,
            violations=violations,
        )
        self._noted.append((session, detail))

    def start(self, blocked: set[int]) -> None:
        """Starts the commands of the noted events. Those of `blocked` sessions are dropped: these are read again."""
        noted, self._noted = self._noted, []
        for session, event in noted:
            if session.number in blocked:
                continue
            data = msgspec.json.encode(event) + b"\n"
            for wanted, words in self._commands:
                if wanted == event.event:
                    self._submit(words, data, event)

    def _submit(self, words: list[str], data: bytes, event: SessionEvent) -> None:
        with self._turn:
            self._futures = {future for future in self._futures if not future.done()}
        if len(self._futures) >= MOST_WAITING:
            self._failed(words, event, "too many commands wait")
            return
        self._futures.add(self._pool.submit(self._run, words, data, event))

    def _run(self, words: list[str], data: bytes, event: SessionEvent) -> None:
        try:
            with tempfile.TemporaryFile() as errors:
                with self._turn:
                    if self._closed:
                        self._failed(words, event, "the follower stops")
                        return
                    process = subprocess.Popen(
                        words,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.DEVNULL,
                        stderr=errors,
                        start_new_session=True,
                    )
                    self._processes.add(process)
                try:
                    process.communicate(data, self._limit)
                    trouble = f"exit code {process.returncode}" if process.returncode else ""
                except subprocess.TimeoutExpired:
                    trouble = f"longer than {self._limit:g} s"
                finally:
                    _kill(process)
                    with self._turn:
                        self._processes.discard(process)
                if trouble:
                    errors.seek(max(0, errors.seek(0, os.SEEK_END) - _ERROR_BYTES))
                    text = errors.read().decode("utf-8", "replace").strip()
                    self._failed(words, event, f"{trouble}: {text}" if text else trouble)
        except (OSError, ValueError) as error:
            self._failed(words, event, str(error))

    def _failed(self, words: list[str], event: SessionEvent, error: str) -> None:
        self._say("command failed", on=event.event, command=shlex.join(words), path=event.path, error=error)

    def close(self, stopping: bool) -> None:
        """Waits for all commands; when `stopping`, for the running ones and a short time only."""
        if stopping and not self._closed:
            self._pool.shutdown(wait=False, cancel_futures=True)
            cancelled = sum(future.cancelled() for future in self._futures)
            if cancelled:
                self._say("commands not run, the follower stops", commands=cancelled)
            wait(self._futures, LAST_SECONDS)
            with self._turn:
                self._closed = True
                for process in self._processes:
                    _kill_group(process)
        self._pool.shutdown()
        self._closed = True


def _violations(cases: "Sequence[Case]") -> list[str]:
    """The cases that have failed for good."""
    return [case.name for case in cases if case.standing == "violated"]


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a command that has not ended, with the programs that it started."""
    if process.poll() is None:
        _kill_group(process)
        process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()

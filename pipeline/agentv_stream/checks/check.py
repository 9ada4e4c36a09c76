"""Checks streams against specs: live, as a watcher of a session, and finished transcripts, sessions and streams."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Status
from agentv_stages.model.payload import indented_json, printable_json
from agentv_stages.model.provider import Folder, Provider
from agentv_stages.providers import get_provider
from agentv_stages.session.chain import Watcher
from agentv_stages.session.parts import NONE, Parts
from agentv_stages.trajectory import Case, CaseResult, Decision
from agentv_stages.trajectory.trace_events import TraceList
from agentv_stream.checks.run_end import RunEnd, run_end, silent_end, told_case
from agentv_stream.checks.spec import Spec, SpecCase
from agentv_stream.checks.turn_index import TurnIndex
from agentv_stream.errors import (
    EXIT_FINE,
    EXIT_RUN,
    EXIT_VERDICT,
    AgentvStreamError,
    EmptyInput,
    NotALog,
    SourceError,
    UsageError,
)
from agentv_stream.outputs.forms import told_twice
from agentv_stream.outputs.naming import RAW_LOG, safe_part
from agentv_stream.running.options import DEFAULT_TASK
from agentv_stream.sources.files import is_file, is_folder, is_gone
from agentv_stream.sources.folder import companions_of
from agentv_stream.summary import SessionReader, without_collector

SCHEMA = "agentv_stream.check.v1"
LINE_SCHEMA = "agentv_stream.check_line.v1"
FAILED: frozenset[Status] = frozenset(("error", "incomplete", "interrupted", "stalled", "killed"))

_ATTEMPT = re.compile(r"_[0-9]+\.json$")

OnDecision = Callable[[Case, Decision], None]


class Checker:
    """Feeds cases with a stream's batches, including those at the session's end. A `Watcher` of a session.

    `on_decision` is called when the verdict of a case becomes final while the stream still runs. `parts` are those of
    the session: if they redact it, cases see the original texts, and outcomes do not quote secrets.
    """

    def __init__(self, cases: Sequence[SpecCase], on_decision: OnDecision | None = None) -> None:
        self.cases = [case.build() for case in cases]
        self.turns = TurnIndex()
        self.results: list[CaseResult] | None = None
        self.parts = NONE
        self._on_decision = on_decision

    def observe(self, batch: Batch) -> None:
        self.turns.observe(batch)
        batch = self.parts.original(batch)
        for case in self.cases:
            for decision in case.on_batch(batch):
                if self._on_decision is not None:
                    self._on_decision(case, decision)

    def finish(self) -> list[CaseResult]:
        """Ends the stream; returns the outcomes, the same ones when called again."""
        if self.results is None:
            for case in self.cases:
                case.flush()
            self.results = hidden_results([case.result() for case in self.cases], self.parts)
        return self.results

    @property
    def failed(self) -> bool:
        """Whether any case failed."""
        return any(result.verdict == "fail" for result in self.finish())


def hidden_results(results: Sequence[CaseResult], parts: Parts) -> list[CaseResult]:
    """Outcomes of cases that saw the original texts, without the secrets in their quotations."""
    if parts.redactor is None:
        return [*results]
    hide = parts.redactor.hide
    return [msgspec.json.decode(hide(msgspec.json.encode(result)), type=CaseResult) for result in results]


def verdicts_json(results: Sequence[CaseResult]) -> list[Any]:
    """Outcomes as plain values, for a result object."""
    return [msgspec.to_builtins(result) for result in results]


@dataclass
class SourceCheck:
    """The outcome of checking one source. `companions` are files of its sub-agents, read or not; `error`: it could not
    be read.

    `status` and `reason` say how the session ended, or for an attempt of `run` how its process ended. `unlisted` is the
    task of a run that no spec has a case for: it is listed, not judged. `turns` finds the turn of an event.
    """

    source: str
    provider: str | None = None
    session_id: str | None = None
    status: Status | None = None
    reason: str | None = None
    by_fail_fast: bool = False
    cases: list[CaseResult] = field(default_factory=list[CaseResult])
    specs: list[str] = field(default_factory=list[str])
    places: list[list[tuple[str, int]]] = field(default_factory=list[list[tuple[str, int]]])
    warnings: list[str] = field(default_factory=list[str])
    companions: list[str] = field(default_factory=list[str])
    error: AgentvStreamError | None = None
    unlisted: str | None = None
    turns: TurnIndex | None = None
    duration_ms: int | None = None
    started_at: str | None = None
    traces: TraceList | None = None

    @property
    def exit_code(self) -> int:
        if self.error is not None:
            return self.error.exit_code
        if self.run_failed:
            return EXIT_RUN
        return EXIT_VERDICT if any(case.verdict == "fail" for case in self.cases) else EXIT_FINE

    @property
    def run_failed(self) -> bool:
        return self.status in FAILED and not self.by_fail_fast and self.unlisted is None

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "provider": self.provider,
            "session_id": self.session_id,
            "status": self.status,
            "reason": self.reason,
            "cases": verdicts_json(self.cases),
            "specs": self.specs,
            "warnings": self.warnings,
            "error": None if self.error is None else str(self.error),
            **self._traced(),
        }

    def _traced(self) -> dict[str, Any]:
        if self.traces is None:
            return {}
        return {"traces": self.traces.events} | ({"traces_truncated": True} if self.traces.truncated else {})


def check_source(
    path: Path,
    specs: Sequence[Spec],
    case: str | None = None,
    provider: str | None = None,
    subagents: bool = True,
    folder: Folder | None = None,
    parts: Parts = NONE,
    watchers: Sequence[Watcher] = (),
) -> SourceCheck:
    """Checks a finished source; `folder` is where sub-agents' files are looked for, by default the local disk.

    `watchers` see every batch; a `TraceList` among them becomes `traces`. A problem with the source is put into
    `error`; a wrong spec raises SpecError.
    """
    from agentv_stream.discovery.show import readable_log, session_pieces

    traces = next((watcher for watcher in watchers if isinstance(watcher, TraceList)), None)
    check = SourceCheck(str(path), traces=traces)
    end = silent_end(path) if path.suffix == ".json" else run_end(path)
    chosen = _chosen(path, end, specs, case)
    if not chosen:
        check.unlisted = task = end.test_id if end is not None else None
        check.warnings.append(f"the spec has no case {task!r}: the run is not judged")
        return check
    check.specs = [str(spec.path) for spec, _ in chosen]
    check.places = [member.places for _, member in chosen]
    checker = Checker([member for _, member in chosen])
    check.turns, checker.parts = checker.turns, parts
    try:
        if end is not None and path.suffix == ".json":
            raise EmptyInput(f"{path}: nothing else of the attempt was stored")
        name = readable_log(str(path))
        with without_collector():
            reader = SessionReader(session_pieces(name), name, provider, folder=folder, parts=parts)
            for batch in reader.batches(subagents):
                checker.observe(batch)
                for watcher in watchers:
                    watcher.observe(batch)
            check.cases = checker.finish()
            result = reader.result()
    except (NotALog, EmptyInput) as error:
        if end is None:
            check.error = error
        else:  # as in `run`: nothing that the spec expects was seen
            check.cases = checker.finish()
            check.warnings.append(f"the agent printed no stream of events: {str(error).removeprefix(f'{path}: ')}")
            _ended(check, end)
        return check
    except AgentvStreamError as error:
        check.error = error
        return check
    check.companions = [companion.path for companion in companions_of(reader.provider, str(path), folder=folder)]
    check.provider = reader.provider.name
    check.session_id = result.session.id
    check.status, check.reason = result.status, result.evidence.reason
    check.duration_ms, check.started_at = result.duration_ms, result.session.started_at
    if end is not None:
        _ended(check, end)
    check.warnings += target_warnings([member for _, member in chosen], reader.provider)
    return check


def cases_of_source(path: Path | None, specs: Sequence[Spec], case: str | None) -> list[tuple[Spec, SpecCase]]:
    """The cases that apply to a source, as `check_source` chooses them; without a path, the named case or all.

    None apply to an attempt of `run` at a task that no spec has a case for. Raises: SpecError for an unknown `case`.
    """
    return cases_for("", specs, case) if path is None else _chosen(path, run_end(path), specs, case)


def _chosen(path: Path, end: RunEnd | None, specs: Sequence[Spec], case: str | None) -> list[tuple[Spec, SpecCase]]:
    chosen = _cases_of_run(end, specs) if end is not None and case is None else None
    return cases_for(_name_of(path, end, specs), specs, case) if chosen is None else chosen


def _cases_of_run(end: RunEnd, specs: Sequence[Spec]) -> list[tuple[Spec, SpecCase]] | None:
    """The cases of an attempt of `run`: those of its task, or those by which `run` itself judged it; none if the specs
    have none for its task. None if its task decides nothing: it has no name, or a spec applies to everything."""
    if end.test_id in (None, DEFAULT_TASK) or any(spec.whole for spec in specs):
        return None
    named = [
        pair for pair in _every(specs) if f"{end.test_id}_".startswith((pair[1].id + "_", safe_part(pair[1].id) + "_"))
    ]
    if named:
        return None
    judged = {verdict.case for verdict in end.verdicts}
    return [pair for pair in _every(specs) if pair[1].id in judged]


def _every(specs: Sequence[Spec]) -> list[tuple[Spec, SpecCase]]:
    return [(spec, case) for spec in specs for case in spec.cases]


def _name_of(path: Path, end: RunEnd | None, specs: Sequence[Spec]) -> str:
    """The name by which the cases of a source are chosen: that of `run`, or the case that its transcript names; else
    its file's. In a file's name `fix_1` is the case fix_1, or the first attempt at the case fix."""
    case_id = end.test_id if end is not None else told_case(path)
    if case_id is not None and (end is not None or any(case.id == case_id for spec in specs for case in spec.cases)):
        return f"{case_id}_"
    return path.name


def _ended(check: SourceCheck, end: RunEnd) -> None:
    check.status, check.reason, check.by_fail_fast = end.status, end.evidence.reason, end.by_fail_fast


def worth_telling(checks: Sequence[SourceCheck], named: Sequence[str]) -> list[SourceCheck]:
    """Leaves out files that were only found below a folder and are no session: files of sub-agents, which belong to
    their session, and files that are no agent's log."""
    companions = {path for check in checks for path in check.companions}
    return [
        check
        for check in checks
        if check.source in named or not (check.source in companions or isinstance(check.error, NotALog))
    ]


def cases_for(source: str, specs: Sequence[Spec], case: str | None) -> list[tuple[Spec, SpecCase]]:
    """The cases against which to check a source: the named case. Without one, the case whose id begins the source's
    name, as `<case>_<approach>_<attempt>`, or ends it, as `<time>_<target>_<case>_<attempt>` (the longest if several
    match); without a match, all cases.

    Raises: SpecError for a case that no spec has.
    """
    if case is not None:
        found = [(spec, member) for spec in specs for member in spec.cases if member.id == case]
        return found or [(spec, member) for spec in specs for member in spec.select(case)]
    every = _every(specs)
    named = [pair for pair in every if source.startswith((pair[1].id + "_", safe_part(pair[1].id) + "_"))]
    if not named:
        named = [pair for pair in every if re.search(rf"_{re.escape(safe_part(pair[1].id))}(_\d+)?(-\d+)?\.", source)]
    # A run of the case fix_1 is not a run of the case fix.
    longest = max((len(member.id) for _, member in named), default=0)
    return [(spec, member) for spec, member in named if len(member.id) == longest] or every


def target_warnings(cases: Sequence[SpecCase], provider: Provider) -> list[str]:
    """A warning for each case that is meant for another agent than that of the log."""
    warnings: list[str] = []
    for case in cases:
        if case.target is None:
            continue
        try:
            intended = get_provider(case.target)
        except KeyError:
            continue  # a target's own name does not reveal its agent
        if intended.name != provider.name:
            warnings.append(f"the case {case.id!r} is meant for {case.target}, the log is of {provider.name}")
    return list(dict.fromkeys(warnings))


def expand(sources: Sequence[str]) -> list[Path]:
    """The files named by the sources, each once; a folder stands for the logs below it.

    Raises: SourceError for what does not exist, UsageError for `-`.
    """
    paths: list[Path] = []
    for source in sources:
        if not source:
            raise SourceError("cannot read '': the name of a source is empty")  # it does not mean the current folder
        path = Path(source)
        if source == "-" and is_gone(path):
            raise UsageError("check reads files; `… | agentv-stream consume --check SPEC` checks a pipe")
        if is_folder(path):
            found = sorted(_logs_below(path))
            if not found:
                raise SourceError(f"{path}: no .jsonl, .jsonl.gz or .jsonl.zst below it")
            paths += found
        else:
            paths.append(path)
    return list(dict.fromkeys(paths))


def _logs_below(folder: Path) -> Iterator[Path]:
    """The logs below a folder, each run once: `run` leaves the agent's stream, the transcript, and trace events. If the
    agent printed nothing only the result exists, and is given instead."""
    endings = (".jsonl", ".jsonl.gz", ".jsonl.zst")
    names: dict[Path, list[str]] = {}
    for path in folder.rglob("*"):
        if path.name.endswith(endings) and not path.name.endswith(".dead-letters.jsonl") and is_file(path):
            names.setdefault(path.parent, []).append(path.name)
        elif _ATTEMPT.search(path.name) and not is_file(path.with_suffix(RAW_LOG)) and silent_end(path) is not None:
            yield path
    for place, found in names.items():
        twice = told_twice(found)
        yield from (place / name for name in found if name not in twice)


def summary_of(checks: Sequence[SourceCheck]) -> dict[str, int]:
    """How many cases passed, failed and were skipped, and how many sources could not be read."""
    verdicts = [case.verdict for check in checks for case in check.cases]
    return {
        "pass": verdicts.count("pass"),
        "fail": verdicts.count("fail"),
        "skipped": verdicts.count("skipped"),
        "errors": sum(check.error is not None for check in checks),
    }


def report_json(checks: Sequence[SourceCheck]) -> bytes:
    """All checks as one indented JSON object with a line end."""
    value = {"schema_version": SCHEMA, "summary": summary_of(checks), "results": [check.to_json() for check in checks]}
    return indented_json(value)


def report_jsonl(checks: Sequence[SourceCheck]) -> bytes:
    """One line for each source and case."""
    lines: list[bytes] = []
    for check in checks:
        head = {key: value for key, value in check.to_json().items() if key not in ("cases", "specs")}
        if not check.cases:  # it could not be read, so there is no outcome
            lines.append(printable_json({"schema_version": LINE_SCHEMA, **head}))
            continue
        for spec, case in zip(check.specs, check.cases, strict=True):
            row = {"schema_version": LINE_SCHEMA, **head, "spec": spec, **msgspec.to_builtins(case)}
            lines.append(printable_json(row))
    return b"".join(line + b"\n" for line in lines)

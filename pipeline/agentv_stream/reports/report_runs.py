"""Reads results of runs for a report: ours, and those of bobbin's evaluation; one `Run` per file."""

import json
import os
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentv_stages.model.event import FAILED_OUTCOMES
from agentv_stages.model.payload import decode_json
from agentv_stages.model.tokens import known_sum
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stream.errors import AgentvStreamError, SourceError
from agentv_stream.sources.files import is_file, is_folder, is_there
from agentv_stream.summary import summarize

if TYPE_CHECKING:
    from agentv_stages.findings.finding import Finding

MOST_BYTES = 256 * 1024 * 1024
MOST_FIGURE = 1e15
OURS = ("agentv_stream.result.", "agentv_stream.output.")
NO_RUN = frozenset(("workspace_error", "bobbin_setup_error"))
RUNNING = "running"


@dataclass
class KindTotal:
    """The findings of one kind of a run. A cost is None where no finding of that kind has it.

    `first_turn` is the turn of the first call that proves one of them; None on other streams than the main one.
    """

    findings: int = 0
    calls: int | None = None
    duration_ms: int | None = None
    tokens: int | None = None
    estimated: bool = False
    first_turn: int | None = None

    def add(self, finding: "Finding") -> None:
        """Adds one."""
        if not self.findings and finding.cites:
            self.first_turn = finding.cites[0].turn
        self.findings += 1
        self.calls = known_sum((self.calls, finding.calls))
        self.duration_ms = known_sum((self.duration_ms, finding.ms))
        self.tokens = known_sum((self.tokens, finding.tokens))
        self.estimated |= finding.basis == "estimated"


@dataclass
class Run:
    """One run, as its result file describes it. `silent`: it left no stream of events, so it cannot name its model.

    `apart` says why it may be in no difference. `first_failure` is the first assertion that failed, with its evaluator
    and case; `transcript` the path of the transcript, as the result names it. `findings`: totals by kind; None if they
    were not looked for, or its stream is not there.
    """

    path: Path
    task: str
    approach: str
    attempt: int | None = None
    status: str | None = None
    model: str | None = None
    passed: bool | None = None
    tool_calls: float | None = None
    tool_errors: float | None = None
    first_edit_turn: float | None = None
    turns: float | None = None
    input: float | None = None
    cached: float | None = None
    output: float | None = None
    cost_usd: float | None = None
    duration_s: float | None = None
    watched: dict[str, int] = field(default_factory=dict[str, int])
    by_tool: dict[str, int] = field(default_factory=dict[str, int])
    historical: dict[str, Any] = field(default_factory=dict[str, Any])
    apart: str | None = None
    silent: bool = False
    first_failure: str | None = None
    transcript: str | None = None
    findings: "dict[str, KindTotal] | None" = None

    @property
    def counts(self) -> bool:
        """Whether the run began and ended, and something is known of it: a verdict, a stream, or its cost.

        A run that does not count is excluded from every table.
        """
        if self.status in NO_RUN or self.status == RUNNING:
            return False
        return not self.silent or self.passed is not None or self.cost_usd is not None

    @property
    def error_rate(self) -> float | None:
        if self.tool_errors is None or not self.tool_calls:
            return None
        return self.tool_errors / self.tool_calls


def result_files(sources: Sequence[Path]) -> list[Path]:
    """The files to read, each once, sorted; in folders every .json below except manifests.

    Raises: SourceError for what does not exist, or is neither a file nor a folder.
    """
    files: list[Path] = []
    for source in sources:
        if is_folder(source):
            files += [p for p in source.rglob("*.json") if is_file(p) and p.name != "manifest.json"]
        elif is_file(source):
            files.append(source)
        elif is_there(source):
            raise SourceError(f"cannot read {source}: it is neither a file nor a folder")
        else:
            raise SourceError(f"{source}: no such file or folder")
    once: dict[str, Path] = {}
    # Beside a link there is no stream; of several names of a file the shortest counts.
    for path in sorted(files, key=lambda path: (path.is_symlink(), len(path.parts), path)):
        once.setdefault(os.path.realpath(path), path)
    return list(once.values())


def is_result(path: Path) -> bool:
    """Whether the file exists and is a result."""
    try:
        return is_file(path) and read_run(path, streams=False) is not None
    except SourceError:
        return False


def read_run(path: Path, streams: bool = True) -> Run | None:
    """Reads one result, ours or bobbin's; None for JSON that is no result. Raises: SourceError."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise SourceError(f"{path}: is too large for a result")
        value: Any = decode_json(path.read_bytes().removeprefix(BOM_UTF8))
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
            several = "holds several results, as `import` writes them; a file for each is read"
            raise SourceError(f"{path}: {several}") from error
        raise SourceError(f"{path}: is not JSON: {error}") from error
    if not is_object(value):
        return None
    schema = value.get("schema_version")
    if isinstance(schema, str) and schema.startswith(OURS):
        return _own(path, value)
    if _text(value.get("approach")) and _text(value.get("task_id")):
        return _bobbin(path, value, streams)
    return None


def _own(path: Path, value: Mapping[str, Any]) -> Run:
    parts = path.name.removesuffix(".json").rsplit("_", 2)
    named = parts if len(parts) == 3 else [path.stem, "", ""]
    task = _text(value.get("task_id")) or _text(value.get("test_id")) or named[0]
    session = _table(value.get("session"))
    approach = _text(value.get("approach")) or _text(value.get("target")) or _text(session.get("provider")) or named[1]
    run = Run(path, task, approach or "?", _integer(value.get("attempt")), _text(value.get("status")))
    run.model = _text(session.get("model"))
    tokens = _table(value.get("tokens"))
    run.input, run.cached = _number(tokens.get("input")), _number(tokens.get("cached"))
    run.output, run.cost_usd = _number(tokens.get("output")), _number(value.get("cost_usd"))
    milliseconds = _number(value.get("duration_ms"))
    ran = _table(value.get("run"))
    if milliseconds is not None:
        run.duration_s = milliseconds / 1000
    elif ran.get("stream_bytes") != 0:  # an agent that printed nothing failed at once, or hung until it was ended
        run.duration_s = _number(ran.get("duration_seconds"))
    verdicts: Any = value.get("verdicts")
    if is_list(verdicts):
        outcomes = [v["verdict"] for v in verdicts if is_object(v) and v.get("verdict") in ("pass", "fail")]
        run.passed = all(v == "pass" for v in outcomes) if outcomes else None
        run.first_failure = first_failure(verdicts)
    run.transcript = _text(_table(value.get("outputs")).get("transcript"))
    _summary(run, value.get("tool_use_summary"))
    run.silent = run.tool_calls is None
    if run.silent:
        run.apart = "it has no tool_use_summary: the agent printed no stream of events"
    elif run.status == RUNNING:
        run.apart = "it has not ended, or its end was not recorded"
    elif run.model is None:
        run.apart = "its log does not say which model answered"
    return run


def first_failure(verdicts: Sequence[Any]) -> str | None:
    """`case · evaluator: assertion` of the first that failed; None if none did."""
    for case in _failed(verdicts, "verdict", "fail"):
        for member in _failed(case.get("evaluators"), "verdict", "fail"):
            assertion = next(_failed(member.get("assertions"), "passed", False), None)
            reason = None if assertion is None else _text(assertion.get("text"))
            return f"{case.get('case')} · {member.get('name')}: {reason or 'failed'}"
    return None


def _failed(values: Any, name: str, sign: object) -> Iterator[Mapping[str, Any]]:
    return (value for value in (values if is_list(values) else ()) if is_object(value) and value.get(name) == sign)


def _summary(run: Run, summary: Any) -> None:
    """Takes the figures from a `tool_use_summary` of ours."""
    if not is_object(summary):
        return
    run.by_tool = {str(k): int(v) for k, v in _table(summary.get("by_tool")).items() if _number(v) is not None}
    run.tool_calls = _calls_of(summary)
    outcomes: Any = summary.get("by_outcome")
    if is_object(outcomes):
        run.tool_errors = sum(_number(outcomes.get(name)) or 0 for name in FAILED_OUTCOMES)
    run.first_edit_turn = _number(summary.get("first_edit_turn"))
    run.turns = _number(summary.get("turns"))
    watched: Any = summary.get("watched_commands")
    if is_object(watched):
        run.watched = {str(name): len(calls) for name, calls in watched.items() if is_list(calls)}
    lines = _number(summary.get("first_edit_turn_lines"))
    if lines is not None:
        run.historical["first_edit_turn_lines"] = lines


def _bobbin(path: Path, value: Mapping[str, Any], streams: bool) -> Run:
    """A result of bobbin's evaluation. Its own figures count lines and path parts; they are kept as historical."""
    run = Run(path, str(value["task_id"]), str(value["approach"]), _integer(value.get("attempt")))
    run.status = _text(value.get("status"))
    agent = _table(value.get("agent_result"))
    usage = _table(value.get("token_usage"))
    run.duration_s = _number(agent.get("duration_seconds"))
    run.cost_usd = _number(usage.get("total_cost_usd", agent.get("cost_usd")))
    parts = [_number(usage.get(k)) for k in ("input_tokens", "cache_read_tokens", "cache_creation_tokens")]
    run.input = sum(p for p in parts if p is not None) if any(p is not None for p in parts) else None
    run.cached, run.output = parts[1], _number(usage.get("output_tokens"))
    test: Any = value.get("test_result")
    if is_object(test) and isinstance(test.get("passed"), bool):
        run.passed = test["passed"]
    run.model = _serving_model(value, usage)
    stored: Any = value.get("tool_use_summary")
    if is_object(stored):
        run.by_tool = {str(k): int(v) for k, v in _table(stored.get("by_tool")).items() if _number(v) is not None}
        run.tool_calls = _calls_of(stored)
        commands: Any = stored.get("bobbin_commands")
        run.historical = {
            "tool_calls": run.tool_calls,
            "first_edit_turn_lines": _number(stored.get("first_edit_turn")),
            "bobbin_commands": len(commands) if is_list(commands) else None,
        }
    stream = path.with_name(path.name.removesuffix(".json") + ".stream.jsonl")
    if streams and is_file(stream):
        _recount(run, stream)
    run.silent = run.tool_calls is None
    if run.status in NO_RUN:
        run.apart = f"the agent never ran ({run.status})"
    elif agent.get("timed_out") is True and run.tool_calls is None:
        run.apart = "it ran out of time and left no figures"
    elif run.model is None:
        run.apart = "nothing says which model answered"
    return run


def _recount(run: Run, stream: Path) -> None:
    try:
        result = summarize(stream, subagents=False)
    except AgentvStreamError:
        return
    kept = dict(run.historical)
    _summary(run, result.tool_use_summary.as_dict())
    recounted = run.historical.get("first_edit_turn_lines")
    run.historical = {**run.historical, **kept}
    if recounted is not None:
        run.historical["first_edit_turn_lines_recounted"] = recounted
    for name in ("input", "cached", "output"):
        known = _number(result.tokens.get(name))
        if known is not None:
            setattr(run, name, known)
    if result.cost_usd is not None:
        run.cost_usd = result.cost_usd


def _serving_model(value: Mapping[str, Any], usage: Mapping[str, Any]) -> str | None:
    """The model that answered, never the requested one; small helper models are ignored."""
    if "serving_model" in value:
        return _text(value["serving_model"])
    table = _table(usage.get("model_usage") or _table(value.get("agent_result")).get("model_usage"))
    names = sorted(str(name) for name in table if "haiku" not in str(name))
    return "+".join(names) or None


def _calls_of(summary: Mapping[str, Any]) -> float | None:
    """The stored number of calls, or the sum of `by_tool`, which may be cut short; None, not 0, without either."""
    total = _number(summary.get("total_tool_calls"))
    if total is not None:
        return total
    table: Any = summary.get("by_tool")
    if not is_object(table):
        return None
    figures = [_number(value) for value in table.values()]
    known = [figure for figure in figures if figure is not None]
    return float(sum(known)) if len(known) == len(figures) else None


def _table(value: Any) -> Mapping[str, Any]:
    """A mapping, or an empty one if the value is none (old results have null there)."""
    return value if is_object(value) else {}


def _number(value: Any) -> float | None:
    """A figure; None if it is not a number, or an impossible one: a damaged file must not spoil all means."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_FIGURE:
        return None
    return value


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None

"""The result object of a run: the result of its stream, with facts that only the program that ran the agent knows."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from signal import SIGINT, SIGTERM
from typing import Any

import msgspec
from msgspec import UNSET

from agentv_stages.figures.result import Evidence, Result
from agentv_stages.model.payload import decode_json
from agentv_stages.trajectory.json_values import is_object
from agentv_stream.checks.check import verdicts_json
from agentv_stream.checks.live_check import LiveCheck
from agentv_stream.running.child import HEAD_BYTES, Child, ChildEnd
from agentv_stream.running.options import RunOptions
from agentv_stream.sources.files import is_file

OUTPUT_SCHEMA = "agentv_stream.output.v1"
"""The result for an output that is not a stream: statistics and tokens are null there, not 0."""
_SIGNALLED = {128 + SIGINT: "interrupted", 128 + SIGTERM: "killed"}
"""Exit codes of programs that handle a signal and then end."""


def finish_result(result: Result, child: Child, options: RunOptions, attempt: int) -> None:
    """Adds to a result the facts that only the program that ran the agent knows."""
    end, evidence = child.end, result.evidence
    result.target, result.test_id, result.attempt = options.approach, options.task, attempt
    if end.exit_code is not None:
        evidence.exit_code = end.exit_code
    if end.signal is not None:
        evidence.signal = end.signal
    status, reason = _ended(end)
    if end.stopped in ("timeout", "stall", "fail-fast", "budget"):
        # The agent may print a closing record before it exits; what counts is that we ended it.
        result.status = status
    elif status is not None and result.status in ("complete", "unknown", "incomplete"):
        # An agent that says "success" and exits with an error has failed.
        result.status = status
    if reason is not None and result.status == status:
        evidence.reason = reason if evidence.reason is None else f"{evidence.reason}; {reason}"


def _ended(end: ChildEnd) -> tuple[Any, str | None]:
    """Status and reason according to the end of the process; None if it does not decide them."""
    if end.stopped == "stall":
        return "stalled", "silent for longer than --stall"
    if end.stopped == "timeout":
        return "killed", "ran for longer than --timeout"
    if end.stopped == "fail-fast":
        return "killed", "stopped by --fail-fast"
    if end.stopped == "budget":
        return "killed", "spent more than --budget"
    if end.signal is not None:
        status = "interrupted" if end.signal == "SIGINT" else "killed"
        why = ", because it ran on after it had closed its output" if end.stopped == "closed" else ""
        return status, f"ended by {end.signal}{why}"
    if end.exit_code:
        return _SIGNALLED.get(end.exit_code, "error"), f"exit code {end.exit_code}"
    return None, None


def _written(place: Path | None) -> bytes:
    """The beginning of a file that the agent wrote; a link or a pipe that it put there is not read."""
    if place is None or place.is_symlink() or not is_file(place):
        return b""
    with suppress(OSError), place.open("rb") as file:
        return file.read(HEAD_BYTES)
    return b""


def run_value(
    result: Result | None, child: Child, live: LiveCheck | None, output_file: Path | None = None
) -> dict[str, Any]:
    """The result as plain values; for an output that is not a stream, its one JSON object or its text. A file that the
    agent wrote its output to goes before standard output."""
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
    data = _written(output_file) or bytes(child.head)
    if data.strip():
        try:
            value["result"] = decode_json(data)
        except (ValueError, RecursionError):
            value["result"] = {"raw_text": data[:200_000].decode("utf-8", "replace")}
    if live is not None:
        # Nothing that the spec expects was seen; a report must not take that for no verdict.
        value["verdicts"] = verdicts_json(live.checker.finish())
    single: Any = value.get("result")
    if is_object(single):
        cost: Any = single.get("total_cost_usd")
        value["cost_usd"] = cost if isinstance(cost, int | float) and not isinstance(cost, bool) else None
    return value


def run_facts(child: Child, options: RunOptions, begun: datetime, seconds: float) -> dict[str, Any]:
    """How the process ran."""
    return {
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
    }

"""A run over recordings: the totals of each dialect's logs, and how the calls of one script ended in each."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from agentv_stages.figures.result import Result
from agentv_stages.model.event import ToolCall, ToolResult, call_key
from agentv_stages.providers import all_providers
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.summary import SessionReader, read_file


class Findings(Struct):
    """The findings of a run over the recordings in one dialect. `faults` and `unknown` by name."""

    files: int = 0
    records: int = 0
    events: int = 0
    unknown: dict[str, int] = {}
    faults: dict[str, int] = {}


OUTCOMES = ("sleep 2", "exit 1", "exit 3", "kill -9", "missing.py", "this text is not there", "no_such_tool")
"""Calls that scenario s2 makes fail, and one that works, each by a part of its arguments or name."""


def survey(corpus: Path) -> dict[str, Findings]:
    """Reads every log of the recordings; files that are no log of a known agent are left out."""
    found: dict[str, Findings] = {}
    for folder in ("clients", "samples", "wild", "new-agents", "bobbin", "agtrace/samples", "agentv"):
        for path in sorted(p for p in (corpus / folder).rglob("*") if p.is_file() and p.name != "truth.json"):
            try:
                reader = SessionReader(read_file(str(path)), str(path))
            except (NotALog, EmptyInput):
                continue
            for _ in reader.batches(companions=False):
                pass
            _add(found.setdefault(reader.dialect.name, Findings()), reader.result())
    return found


def _add(seen: Findings, result: Result) -> None:
    seen.files += 1
    seen.records += result.records
    seen.events += result.events
    for total, part in ((seen.unknown, result.unknown), (seen.faults, result.faults)):
        for name, count in part.items():
            total[name] = total.get(name, 0) + count


def outcomes(path: Path) -> tuple[str, list[str]]:
    """The dialect of a recording of scenario s2, and the outcome of each call that `OUTCOMES` names."""
    reader = SessionReader(read_file(str(path)), str(path))
    calls: list[ToolCall] = []
    results: dict[str, ToolResult] = {}
    for batch in reader.batches():
        calls += [event for event in batch.events if isinstance(event, ToolCall)]
        results.update((call_key(e.call or e), e) for e in batch.events if isinstance(e, ToolResult) and not e.partial)
    return reader.dialect.name, [_outcome(mark, calls, results) for mark in OUTCOMES]


def _outcome(mark: str, calls: list[ToolCall], results: Mapping[str, ToolResult]) -> str:
    for call in calls:
        if mark in call.name or mark.encode() in bytes(call.input_json):
            result = results.get(call_key(call))
            if result is None:
                return "unpaired"
            return f"{result.outcome} {result.exit_code}" if result.exit_code is not None else str(result.outcome)
    return "absent"


def recordings(folder: Path) -> list[Path]:
    """The live stream of a recorded scenario and the main log that it left on disk, as far as they are there."""
    found = [path for path in (folder / "stream.jsonl", folder / "stream.jsonl.gz") if path.exists()]
    logs = [p for pattern in _disk() for p in (folder / "home").glob(pattern) if not _is_childs(p)]
    return found + sorted(logs, key=lambda p: -p.stat().st_size)[:1]


EXPORTS = ("export-*.json",)


def _disk() -> list[str]:
    """The globs below a home folder that find agents' logs."""
    roots = [root for provider in all_providers() for root in provider.roots if not root.database]
    return [*EXPORTS, *(f"{root.default.removeprefix('~/')}/{pattern}" for root in roots for pattern in root.patterns)]


_CHILD = (b'"parent_thread_id":"', b'"kind":"subagent"', b'"parentID": "ses_')


def _is_childs(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(4096)
    return any(mark in head for mark in _CHILD)

"""Verdicts and statistics of a session, and of its transcript read back.

`SPEC` has every evaluator, over the main stream and over all, with the names and patterns that logs in tests contain.
"""

from collections.abc import Iterable
from typing import Any

from agentv_stages.chain.consolidate import Consolidate
from agentv_stages.model.message import Message
from agentv_stages.sinks.transcript import Identity, TranscriptRows, closing_members
from agentv_stages.trajectory import Case, Context, build
from agentv_stages.trajectory.answer import KINDS
from agentv_stream.summary import SessionReader

Config = dict[str, Any]

PROGRAMS = ("cat", "echo", "git", "grep", "ls", "make", "python", "python3", "rm", "sed")
FORMS = (
    *(f"Bash({program} *)" for program in PROGRAMS),
    *(f"{tool}(**)" for tool in ("Read", "Edit", "Write", "Grep", "Glob", "LS", "kind:read", "kind:write")),
    *("Edit(*.py)", "Write(src/**)", "kind:execute", "kind:search", "kind:other", "mcp__*", "exec_command"),
    *("command_execution", "shell", "file_change", "apply_patch", "run_shell_command", "view"),
)
STEPS = [{"tool": "Read"}, {"tool": "Edit"}, {"tool": "Bash", "args": {"command": "echo *"}, "args_match": "superset"}]
LIMITS = {
    "max_tool_calls": 4,
    "max_llm_calls": 4,
    "max_tokens": 5000,
    "max_cost_usd": 0.01,
    "max_duration_ms": 3000,
    "target_exploration_ratio": 0.5,
    "max_turns": 3,
    "max_first_edit_turn": 2,
}
CONDITIONS: list[Config] = [
    *({"outcome": outcome} for outcome in ("ok", "error", "denied", "cancelled", "unpaired")),
    {"exit_code": 0},
    {"exit_code": [1, 2, 127]},
    {"outcome": "ok", "max_ms": 500},
    {"stream": "main"},
    {"stream": "sub", "outcome": ["ok", "error"]},
]
"""Of a call: how it ended, and on which stream."""
ENTRIES: list[Config] = [
    *(
        {"type": "tool-trajectory", "mode": mode, "expected": [{"tool": "Read"}, {"kind": "execute", **condition}]}
        for condition in CONDITIONS
        for mode in ("in_order", "superset")
    ),
    *(
        {"type": "tool-trajectory", "mode": "any_order", "minimums": {"kind:execute": {"min": 2, **condition}}}
        for condition in CONDITIONS
    ),
    *({"type": "forbid", "calls": [{"call": "kind:execute", **condition}]} for condition in CONDITIONS),
    {"type": "tool-trajectory", "mode": "any_order", "minimums": {"Bash": 1, "Read": 1, "Edit": 1, "kind:write": 1}},
    *({"type": "tool-trajectory", "mode": mode, "expected": STEPS} for mode in ("in_order", "exact", "superset")),
    {"type": "tool-trajectory", "mode": "subset", "expected": [{"tool": "Bash"}, {"kind": "read"}, {"tool": "Edit"}]},
    {"type": "expected-messages"},
    {"type": "expected-tool-calls", "mode": "in_order"},
    *({"type": kind, "value": "fix-bug"} for kind in ("skill-trigger", "skill-used", "not-skill-used")),
    {"type": "trajectory:tool-used", "value": ["Bash", "Edit"]},
    {"type": "trajectory:tool-args-match", "value": {"name": "Bash", "args": {"command": "ls"}}},
    {"type": "trajectory:tool-args-match", "value": {"name": "*", "args": {"file_path": "calc.py"}}},
    {"type": "trajectory:tool-sequence", "value": ["Read", "Edit"]},
    *({"type": "trajectory:step-count", "value": {"min": 2, "type": kind}} for kind in ("tool", "command", "search")),
    {"type": "execution-metrics", **LIMITS},
    {"type": "latency", "max_duration_ms": 3000},
    {"type": "cost", "budget": 0.01},
    {"type": "token-usage", "max_total": 5000, "max_input": 4000, "max_output": 50},
    {"type": "max-turns", "max": 3},
    {"type": "first-edit-turn", "max": 2},
    *({"type": "forbid", "calls": [form]} for form in FORMS),
    *({"type": "watched-commands", "used": [program]} for program in PROGRAMS),
    *({"type": kind, "max": 1} for kind in ("max-repeats", "cycles")),
    *({"type": kind, "max": n} for kind in ("no-progress", "repeated-failures") for n in (0, 1, 2)),
    {
        "type": "composite",
        "assertions": [{"type": "max-turns", "max": 3}, {"type": "forbid", "calls": ["Bash(sleep *)"]}],
    },
    {"type": "is-json"},
    *({"type": kind, "value": "done"} for kind in KINDS if kind != "is-json"),
]
SPEC = [
    {**entry, "name": f"{entry['type']} {number}, {streams}", "streams": streams}
    for number, entry in enumerate(ENTRIES)
    for streams in ("main", "all")
]
CONTRADICTED = "at the end the log says"
"""In assertions about a limit that sums exceeded before the log's own, lower total, which a transcript has first."""
CONTEXT = Context(expected_calls=({"tool": "Read", "input": {"file_path": "calc.py"}}, {"tool": "Bash"}))


class Reading:
    """What a log, or a transcript, says of its session: its figures, its verdicts, and its rows as a transcript."""

    def __init__(self, pieces: Iterable[bytes], name: str, *, subagents: bool = True) -> None:
        self.reader = SessionReader(pieces, name, None, PROGRAMS)
        case = Case("case", [build(entry, CONTEXT) for entry in SPEC])
        consolidate, messages = Consolidate(), list[Message]()
        for batch in self.reader.batches(subagents):
            case.on_batch(batch)
            messages += [message for done in consolidate.push(batch) for message in done.messages]
        messages += [message for done in consolidate.flush() for message in done.messages]
        list(case.flush())
        observer, result = self.reader.observer, self.reader.result()
        started = observer.facts.started_ms
        identity = Identity.of(
            observer, test_id="case", target="target", session_id="session", path=None, started_ms=started
        )
        rows = TranscriptRows(identity, gap=False)
        self.transcript = rows.render(messages[:-1])
        if messages:
            self.transcript += rows.row(messages[-1], closing_members(observer))
        self.verdicts = {one.name: (one.score, one.verdict) for one in case.result().evaluators}
        self.contradicted = {
            one.name for one in case.result().evaluators if any(CONTRADICTED in a.text for a in one.assertions)
        }
        self.figures: dict[str, Any] = dict(result.tool_use_summary)
        del self.figures["first_edit_turn_lines"]  # counts lines of Claude's stream, which a transcript does not have
        self.figures |= {name: getattr(result, name) for name in ("tokens", "cost_usd", "duration_ms", "status")}


def differences(pieces: Iterable[bytes], name: str, *, subagents: bool = True) -> dict[str, tuple[Any, Any]] | None:
    """Figures and verdicts that a session's transcript does not give back, with both values; None without a message."""
    log = Reading(pieces, name, subagents=subagents)
    if not log.transcript:
        return None
    back = Reading([log.transcript], "session.transcript.jsonl")
    assert back.reader.dialect.name == "agentv-transcript"
    both = ((log.figures, back.figures), (log.verdicts, back.verdicts))
    found = {key: (one[key], other.get(key)) for one, other in both for key in one if one[key] != other.get(key)}
    return {key: values for key, values in found.items() if key not in log.contradicted}

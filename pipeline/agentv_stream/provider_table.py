"""What is read: each dialect with the command that makes it, the versions seen, its end rule and its losses.

The facts come from the providers; what a provider does not say of itself (commands, versions of the recordings) stands
in the tables here. `python -m agentv_stream.provider_table CORPUS > docs/providers.md` writes the page, with counts
from a run over the recordings below CORPUS; without CORPUS those counts are left out.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, field

from agentv_stages.event import ToolCall, ToolResult
from agentv_stages.provider import Dialect, LogRoot, Provider
from agentv_stages.providers import all_providers
from agentv_stages.result import Result
from agentv_stream.errors import EmptyInput, NotALog
from agentv_stream.summary import SessionReader, read_file

PRODUCED: Mapping[str, str] = {
    "claude-stream": "claude -p PROMPT --output-format stream-json --verbose",
    "claude-session": "written by every session",
    "codex-exec": "codex exec --json PROMPT",
    "codex-app-server": "codex app-server (its notifications); AgentV's log of the SDK",
    "codex-rollout": "written by every session",
    "codex-exec-old": "codex exec --json PROMPT, first versions",
    "codex-rollout-old": "written by every session, first versions",
    "copilot-stream": "copilot -p PROMPT --output-format json",
    "copilot-acp": "copilot --acp",
    "copilot-session": "written by every session",
    "gemini-stream": "gemini -p PROMPT --output-format stream-json",
    "gemini-chat": "written by every session",
    "gemini-chat-json": "written by every session, older versions",
    "qwen-stream": "qwen -p PROMPT --output-format stream-json",
    "qwen-session": "written by every session",
    "pi-stream": "pi --mode json -p PROMPT",
    "pi-session": "written by every session",
    "pi-subagent": "written by its sub-agent extension",
    "opencode-stream": "opencode run --format json PROMPT",
    "opencode-export": "opencode export SESSION",
    "opencode-rows": "agentv-stream consume opencode.db --session SESSION",
    "cursor-stream": "cursor-agent -p PROMPT --output-format stream-json",
    "cursor-transcript": "written by the IDE",
    "acp": "gemini --acp, qwen --acp, opencode acp (one or both directions)",
    "vscode-chat": "written by VS Code",
    "vscode-chat-jsonl": "written by VS Code, newer versions",
    "agentv-trace": "AgentV's trace events",
    "agentv-transcript": "agentv-stream consume … --out DIR; AgentV",
    "atif": "harbor and other writers of ATIF",
}
"""Dialect -> how an input of it is made."""

VERSIONS: Mapping[str, str] = {
    "claude-stream": "2.1.1 to 2.1.330",
    "claude-session": "1.0.0 to 2.1.330",
    "codex-exec": "0.50.0 to 0.169.0",
    "codex-exec-old": "0.27.0",
    "codex-rollout": "0.46.0 to 0.169.0",
    "copilot-stream": "1.0.102",
    "copilot-acp": "1.0.102",
    "copilot-session": "0.0.420 to 1.0.102",
    "gemini-stream": "0.61.0",
    "gemini-chat": "0.61.0 and others that the log does not name",
    "qwen-stream": "0.15.10, 0.24.4",
    "qwen-session": "0.14.0 to 0.24.4",
    "pi-stream": "0.73.1, 1.5.2 and others that the log does not name",
    "pi-session": "0.73.1, 1.5.2 and others that the log does not name",
    "opencode-stream": "1.18.33 and others that the log does not name",
    "opencode-export": "1.4.1 to 1.18.33",
    "acp": "Gemini 0.61.0, Qwen 0.15.10 and 0.24.4, OpenCode 1.18.33",
}
"""Dialect -> versions of the agent in the recordings that it was tested with; the log does not say it for the rest."""

ENDS: Mapping[str, str] = {
    "claude-stream": "`result`; of several the last",
    "codex-exec": "`turn.completed`, `turn.failed`",
    "codex-app-server": "`turn/completed`",
    "codex-rollout": "`task_complete`, `turn_aborted`; in versions that write neither, a last answer with no open call",
    "codex-exec-old": "none; `task_complete` where it is printed",
    "copilot-stream": "`result`, the last line",
    "copilot-acp": "the answer to `session/prompt`",
    "copilot-session": "`session.shutdown`",
    "gemini-stream": "`result`",
    "qwen-stream": "`result`; a text `[API Error: …]` is an error whatever it says",
    "qwen-session": "none; complete when the last answer asks for no tool",
    "pi-stream": "`agent_end` that no retry follows",
    "pi-session": "none; complete when the last answer's `stopReason` is final",
    "claude-session": "none; complete when the last answer's `stop_reason` is final",
    "opencode-stream": "`step_finish` with the reason `stop`",
    "opencode-export": "none; complete when the last answer's `finish` is final",
    "opencode-rows": "none; complete when the last answer's `finish` is final",
    "cursor-stream": "`result`",
    "acp": "the answer to `session/prompt`",
    "vscode-chat": "none; the last request's `result`, `isCanceled` or `modelState`",
    "vscode-chat-jsonl": "none; the last request's `result`, `isCanceled` or `modelState`",
}
"""Dialect -> its end record, or how a good end is told without one."""


class DialectRow(Struct, frozen=True):
    """One dialect, as `agentv-stream providers --json` writes it."""

    provider: str
    title: str
    aliases: tuple[str, ...]
    dialect: str
    live: bool
    produced_by: str | None
    lies_in: tuple[str, ...]
    versions: str | None
    has_end: bool
    end: str | None
    has_prompt: bool
    losses: tuple[str, ...]


def dialect_rows(providers: Iterable[Provider]) -> list[DialectRow]:
    """Every dialect of the providers, in their order."""
    return [_row(provider, dialect) for provider in providers for dialect in provider.dialects]


def _row(provider: Provider, dialect: Dialect) -> DialectRow:
    return DialectRow(
        provider.name,
        provider.title,
        provider.aliases,
        dialect.name,
        dialect.live,
        PRODUCED.get(dialect.name),
        () if dialect.live else tuple(dict.fromkeys(_place(root) for root in provider.roots)),
        VERSIONS.get(dialect.name),
        dialect.has_end,
        ENDS.get(dialect.name),
        dialect.has_prompt,
        dialect.losses,
    )


def _place(root: LogRoot) -> str:
    return f"{root.default}/{root.patterns[0]}"  # of several patterns the first, for it is the newest layout


def text_table(rows: Iterable[DialectRow]) -> str:
    """The rows for a terminal."""
    out: list[str] = []
    provider = None
    for row in rows:
        if row.provider != provider:
            names = f", also {', '.join(row.aliases)}" if row.aliases else ""
            out += ["", f"{row.title} ({row.provider}{names})"]
            provider = row.provider
        out.append(f"  {row.dialect}  ({'live' if row.live else 'on disk'})")
        out += [f"    {label}: {said}" for label, said in _facts(row)]
        out += [f"    loses: {loss}" for loss in row.losses]
    return "\n".join(out[1:]) + "\n"


def _facts(row: DialectRow) -> list[tuple[str, str]]:
    facts = [("made by", row.produced_by or "its agent")]
    if row.lies_in:
        facts.append(("lies in", ", ".join(row.lies_in)))
    facts.append(("seen", row.versions or "versions that the log does not name"))
    facts.append(("end", row.end or ("an end record" if row.has_end else "none; its status is unknown")))
    if not row.has_prompt:
        facts.append(("prompt", "not in the log; --prompt puts it in"))
    return facts


class Seen(Struct):
    """What a run over the recordings found in one dialect. `faults` and `unknown` by name."""

    files: int = 0
    records: int = 0
    events: int = 0
    unknown: dict[str, int] = field(default_factory=dict[str, int])
    faults: dict[str, int] = field(default_factory=dict[str, int])


OUTCOMES = ("sleep 2", "exit 1", "exit 3", "kill -9", "missing.py", "this text is not there", "no_such_tool")
"""What scenario s2 lets fail, besides a shell that works: by a part of the call's arguments or name."""


def survey(corpus: Path) -> dict[str, Seen]:
    """Reads every log of the recordings; files that are no log of a known agent are left out."""
    found: dict[str, Seen] = {}
    for folder in ("clients", "samples", "wild", "bobbin", "agtrace/samples", "agentv"):
        for path in sorted(p for p in (corpus / folder).rglob("*") if p.is_file() and p.name != "truth.json"):
            try:
                reader = SessionReader(read_file(str(path)), str(path))
            except (NotALog, EmptyInput):
                continue
            for _ in reader.batches(companions=False):
                pass
            _add(found.setdefault(reader.dialect.name, Seen()), reader.result())
    return found


def _add(seen: Seen, result: Result) -> None:
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
        results.update((e.call_id, e) for e in batch.events if isinstance(e, ToolResult) and not e.partial)
    return reader.dialect.name, [_outcome(mark, calls, results) for mark in OUTCOMES]


def _outcome(mark: str, calls: list[ToolCall], results: Mapping[str, ToolResult]) -> str:
    for call in calls:
        if mark in call.name or mark.encode() in bytes(call.input_json):
            result = results.get(call.call_id)
            if result is None:
                return "unpaired"
            return f"{result.outcome} {result.exit_code}" if result.exit_code is not None else str(result.outcome)
    return "absent"


def markdown(corpus: Path | None = None) -> str:
    """docs/providers.md; with recordings their counts behind what the code says."""
    out = [
        "# Providers and dialects",
        "",
        "Made by `python -m agentv_stream.provider_table CORPUS > docs/providers.md`; do not edit.",
        "",
        "A dialect is told by the content of its first records. `--provider NAME` limits the search to one provider.",
        "What a format cannot say is null in results, never 0; the losses below stand in each result as `losses`.",
        "Details, agent by agent, are in `docs/providers/`.",
    ]
    provider = None
    for row in dialect_rows(all_providers()):
        if row.provider != provider:
            out += ["", f"## {row.title} (`{row.provider}`)"]
            if row.aliases:
                out += ["", f"Aliases: {', '.join(f'`{name}`' for name in row.aliases)}."]
            provider = row.provider
        out += ["", f"### `{row.dialect}`, {'live' if row.live else 'on disk'}", ""]
        out += [f"- {label}: {_code(label, said)}" for label, said in _facts(row)]
        out += [f"- loses: {loss}" for loss in row.losses]
    out += ["", "## Not supported, but named", "", *_foreign()]
    if corpus is not None:
        out += _measured(corpus)
    return "\n".join(out) + "\n"


def _code(label: str, said: str) -> str:
    return ", ".join(f"`{place}`" for place in said.split(", ")) if label == "lies in" else said


def _foreign() -> list[str]:
    from agentv_stages.foreign import AGENTS

    return ["The error for such an input says whose it is:", "", *(f"- {name}" for name, _ in AGENTS)]


def _measured(corpus: Path) -> list[str]:
    out = ["", MEASURED, "", "| dialect | files | records | events | unknown types | faults |"]
    out.append("|---|---|---|---|---|---|")
    for name, seen in sorted(survey(corpus).items()):
        counts = (seen.files, seen.records, seen.events, _listed(seen.unknown), _listed(seen.faults))
        out.append(f"| {name} | " + " | ".join(str(cell) for cell in counts) + " |")
    out += ["", "Faults come from files that are torn, hold other programs' output, or were broken on purpose."]
    out += ["", "## Outcomes of one script", "", OUTCOMES_NOTE, ""]
    out += ["| recording | dialect | " + " | ".join(f"`{mark}`" for mark in OUTCOMES) + " |"]
    out.append("|---" * (len(OUTCOMES) + 2) + "|")
    for folder in sorted((corpus / "clients").glob("*/s2")):
        for path in recordings(folder):
            dialect, found = outcomes(path)
            form = "live" if path.parent == folder else "disk"
            out.append(f"| {folder.parent.name}, {form} | {dialect} | " + " | ".join(found) + " |")
    return out


MEASURED = "## Recordings read"
OUTCOMES_NOTE = """\
The same calls (scenario s2), as each agent's log tells their ends; a number is the exit code. Agents differ where
they work differently: Qwen refuses to sleep, Copilot to kill its shell, OpenCode waits for the killed shell until
its time is over. They lose where the format does: Gemini and Qwen print no exit code behind output, Pi none for a
signal, Codex's stream no failed patch and no unknown tool, Gemini's ACP no exit code at all; Qwen's ACP log on disk
ends early and calls reads and edits that failed a success."""


def recordings(folder: Path) -> list[Path]:
    """The live stream of a recorded scenario and the main log that it left on disk, as far as they are there."""
    found = [path for path in (folder / "stream.jsonl", folder / "stream.jsonl.gz") if path.exists()]
    logs = [p for pattern in DISK for p in (folder / "home").glob(pattern) if not _is_childs(p)]
    return found + sorted(logs, key=lambda p: -p.stat().st_size)[:1]


DISK = (
    ".claude/projects/*/*.jsonl",
    ".codex/sessions/**/rollout-*.jsonl",
    ".copilot/session-state/*/events.jsonl",
    ".gemini/tmp/*/chats/session-*.json*",
    ".pi/agent/sessions/**/*.jsonl",
    ".qwen/projects/*/chats/*.jsonl",
    "export-*.json",
)
_CHILD = (b'"parent_thread_id":"', b'"kind":"subagent"', b'"parentID": "ses_')


def _is_childs(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(4096)
    return any(mark in head for mark in _CHILD)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


if __name__ == "__main__":
    sys.stdout.write(markdown(Path(sys.argv[1]) if len(sys.argv) > 1 else None))

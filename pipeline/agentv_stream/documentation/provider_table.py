"""What is read: each dialect with the command that makes it, the versions seen, its end rule and its losses.

The facts come from the providers; what a provider does not define itself (commands, versions of the recordings) is in
the tables here.
"""

from collections.abc import Iterable, Mapping
from textwrap import wrap

from msgspec import Struct

from agentv_stages.model.provider import Dialect, LogRoot, Provider
from agentv_stages.providers import all_providers

PRODUCED: Mapping[str, str] = {
    "claude-stream": "claude -p PROMPT --output-format stream-json --verbose",
    "claude-session": "every session",
    "codex-exec": "codex exec --json PROMPT",
    "codex-app-server": "codex app-server (its notifications); AgentV's log of the SDK",
    "codex-rollout": "every session",
    "codex-exec-old": "codex exec --json PROMPT, first versions",
    "codex-rollout-old": "every session, first versions",
    "copilot-stream": "copilot -p PROMPT --output-format json",
    "copilot-acp": "copilot --acp",
    "copilot-session": "every session",
    "gemini-stream": "gemini -p PROMPT --output-format stream-json",
    "gemini-chat": "every session",
    "gemini-chat-json": "every session, older versions",
    "qwen-stream": "qwen -p PROMPT --output-format stream-json",
    "qwen-session": "every session",
    "pi-stream": "pi --mode json -p PROMPT",
    "pi-session": "every session",
    "pi-subagent": "its sub-agent extension",
    "oh-my-pi-stream": "omp --mode json -p PROMPT",
    "oh-my-pi-session": "every session",
    "openclaw-session": "files of earlier versions; now rows of `openclaw-agent.sqlite`, one a line",
    "kilo-stream": "kilo run --format json PROMPT",
    "kilo-export": "kilo export SESSION",
    "kilo-rows": "agentv-stream consume kilo.db --session SESSION",
    "opencode-stream": "opencode run --format json PROMPT",
    "opencode-export": "opencode export SESSION",
    "opencode-rows": "agentv-stream consume opencode.db --session SESSION",
    "crush-rows": "agentv-stream consume .crush/crush.db --session SESSION",
    "cursor-stream": "cursor-agent -p PROMPT --output-format stream-json",
    "cursor-transcript": "the IDE",
    "kimi-stream": "kimi -p PROMPT --output-format stream-json",
    "kimi-session": "every session",
    "cline-stream": "cline --json PROMPT",
    "cline-session": "every session",
    "continue-output": "cn -p --format json PROMPT",
    "continue-session": "every session; of `cn -p` those that ended well; `/export`",
    "grok-stream": "grok -p PROMPT --output-format streaming-json",
    "grok-messages": "grok -p PROMPT --output-format streaming-messages-json",
    "grok-acp": "grok agent stdio",
    "grok-session": "every session",
    "mini-swe-agent": "mini -t TASK -o FILE.traj.json; mini-extra swebench -o FOLDER",
    "openhands-stream": "openhands --headless --json -t TASK",
    "openhands-session": "every session: a folder with a file for each event",
    "vibe-stream": "vibe -p PROMPT --output streaming (or json), since 2.26",
    "vibe-session": "every session, since 2.26",
    "vibe-stream-old": "vibe -p PROMPT --output streaming (or json), up to 2.22",
    "vibe-session-old": "every session, up to 2.22",
    "acp": "gemini --acp, qwen --acp, vibe-acp, and `acp` of opencode, kilo, kimi, openhands (one or both directions)",
    "vscode-chat": "VS Code",
    "vscode-chat-jsonl": "VS Code, newer versions",
    "agentv-trace": "AgentV's trace events",
    "agentv-transcript": "agentv-stream consume … --out DIR; AgentV",
    "atif": "harbor and other writers of ATIF",
}
"""Dialect -> the command that produces it."""

VERSIONS: Mapping[str, str] = {
    "claude-stream": "1.0.60 to 2.1.332",
    "claude-session": "1.0.0 to 2.1.332",
    "codex-exec": "0.42.0 to 0.171.0",
    "codex-app-server": "0.110.0, 0.142.5, 0.171.0",
    "codex-exec-old": "0.8.0 to 0.29.0",
    "codex-rollout": "0.42.0 to 0.171.0",
    "copilot-stream": "1.0.34 to 1.0.102",
    "copilot-acp": "1.0.102",
    "copilot-session": "0.0.420 to 1.0.102",
    "gemini-stream": "0.15.3 to 0.61.0",
    "gemini-chat": "0.29.0 to 0.61.0 and others that the log does not name",
    "qwen-stream": "0.5.0 to 0.24.4",
    "qwen-session": "0.5.0 to 0.24.4",
    "pi-stream": "0.31.1 to 1.6.0 and others that the log does not name",
    "pi-session": "0.31.1 to 1.6.0 and others that the log does not name",
    "oh-my-pi-stream": "13.19.0 to 18.2.3",
    "oh-my-pi-session": "13.19.0 to 18.2.3",
    "openclaw-session": "2026.6.11, 2026.9.6",
    "kilo-stream": "7.7.2, 7.7.9",
    "kilo-export": "7.0.33, 7.7.2, 7.7.9",
    "kilo-rows": "7.0.33, 7.7.2, 7.7.9",
    "crush-rows": "of September 2025; of August 2026 by its source (unverified)",
    "opencode-stream": "1.2.27 to 1.18.33, 2.0 by its source, and others that the log does not name",
    "opencode-export": "1.2.27 to 1.18.33, 2.0 by its source",
    "kimi-stream": "0.10.0 to 2.1.0",
    "kimi-session": "0.10.0 to 2.1.0",
    "grok-stream": "0.1.220, 1.0.5, 1.0.41",
    "grok-messages": "1.0.5, 1.0.41",
    "grok-acp": "0.1.220, 1.0.5, 1.0.41",
    "grok-session": "0.1.220, 1.0.5, 1.0.41",
    "cline-stream": "3.0.57, 3.0.65",
    "cline-session": "3.0.57, 3.0.65",
    "continue-output": "1.5.47",
    "continue-session": "1.5.47",
    "mini-swe-agent": "1.1.0 to 2.4.6",
    "openhands-stream": "1.10.0, 1.14.0, 1.16.0",
    "openhands-session": "CLI 1.10.0 to 1.16.0; SDK 1.16.1, 1.21.0, 1.58.2",
    "vibe-stream": "2.23.0 to 3.0.3",
    "vibe-session": "2.26.0 to 3.0.3",
    "vibe-stream-old": "1.0.0 to 2.14.0",
    "vibe-session-old": "1.0.0 to 2.25.8",
    "acp": "Gemini 0.29.0 to 0.61.0, Qwen 0.10.1 to 0.24.4, OpenCode 1.2.27 to 1.18.33, Kilo 7.0.33 to 7.7.9, "
    "Kimi Code 0.31.0 to 2.1.0, OpenHands 1.16.0, Mistral Vibe 2.14.0 to 3.0.3",
}
"""Dialect -> versions of the agent in the recordings that it was tested with; other logs do not say their version."""

LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "vibe-session-old": ("session_*/messages.jsonl", "session_*.json"),
    "vscode-chat-jsonl": ("workspaceStorage/*/chatSessions/*.jsonl",),
    "opencode-export": (),
    "kilo-export": (),
}
"""Dialect -> globs below its provider's roots, if not the first pattern's; empty: it may be anywhere."""

ENDS: Mapping[str, str] = {
    "claude-stream": "`result`; of several the last",
    "codex-exec": "`turn.completed`, `turn.failed`",
    "codex-app-server": "`turn/completed`",
    "codex-rollout": "`task_complete`, `turn_aborted`; in versions that write neither, a last answer with no open call",
    "codex-exec-old": "none; `task_complete` where it is printed",
    "codex-rollout-old": "none; complete when an answer came last and no call is open",
    "copilot-stream": "`result`, the last line",
    "copilot-acp": "the answer to `session/prompt`",
    "copilot-session": "`session.shutdown`",
    "gemini-stream": "`result`",
    "gemini-chat": "none; an API error or a cancelled request that nothing follows, else unknown",
    "gemini-chat-json": "none; an API error or a cancelled request that nothing follows, else unknown",
    "qwen-stream": "`result`; a text `[API Error: …]` is an error whatever it says",
    "qwen-session": "none; complete when the last answer asks for no tool",
    "pi-stream": "`agent_end` that no retry follows",
    "pi-session": "none; complete when the last answer's `stopReason` is final",
    "pi-subagent": "as `pi-session`",
    "oh-my-pi-stream": "`agent_end` that no retry and no work in the background follows",
    "oh-my-pi-session": "as `pi-session`; interrupted when a signal found calls open (`session_exit`)",
    "openclaw-session": "as `pi-session`",
    "claude-session": "none; complete when the last answer's `stop_reason` is final",
    "kilo-stream": "`step_finish` with the reason `stop`",
    "kilo-export": "none; complete when the last answer's `finish` is final",
    "kilo-rows": "none; complete when the last answer's `finish` is final",
    "opencode-stream": "`step_finish` with the reason `stop`",
    "opencode-export": "`idle` (2.x); else complete when the last answer's `finish` is final",
    "opencode-rows": "`idle` (2.x); else complete when the last answer's `finish` is final",
    "crush-rows": "none; the last answer's `finish` says it",
    "cursor-stream": "`result`",
    "cursor-transcript": "`turn_ended`; else complete when the last answer asks for no tool, all calls have results",
    "grok-stream": "`end`, `error`",
    "grok-messages": "`result`",
    "grok-acp": "`turn_completed`; else `prompt_complete`, the answer to `session/prompt`",
    "grok-session": "`turn_completed`, by its stop reason; in 0.1 none",
    "kimi-stream": "`session.resume_hint`, the last line",
    "kimi-session": "`turn.ended`, with its reason; before protocol 1.5 a last step with a final `finishReason`",
    "cline-stream": "`run_result`; a `run_aborted` behind it says that it was stopped",
    "cline-session": "none; the manifest's `status`, without it a last answer that asks for no tool",
    "continue-output": "the answer, the only one that is printed; an error",
    "continue-session": "none; complete when the last answer asks for no tool",
    "mini-swe-agent": "the message of role `exit`; in 1.x, and before the first step, `info.exit_status`",
    "openhands-stream": "an answer without a call, the call of `finish`; an error of the conversation",
    "openhands-session": "as `openhands-stream`; of a run that was paused or stuck the state says it",
    "vibe-stream": "none; interrupted where its last entry broke off, else unknown",
    "vibe-session": "the end of the last turn (`latestTurn`)",
    "vibe-stream-old": "none; complete when the last answer asks for no tool",
    "vibe-session-old": "none; complete when the last answer asks for no tool",
    "acp": "the answer to `session/prompt`",
    "vscode-chat": "none; the last request's `result`, `isCanceled` or `modelState`",
    "vscode-chat-jsonl": "none; the last request's `result`, `isCanceled` or `modelState`",
    "agentv-trace": "`final_response`, `error`; the older list has none, and its status is unknown",
    "agentv-transcript": "what our finished rows say; else complete when the last answer's calls have results",
    "atif": "what our documents say; else complete when the last answer asks for no tool",
}
"""Dialect -> its end record, or how a good end is recognised without one."""


class DialectRow(Struct, frozen=True):
    """One dialect of those that `providers --json` prints."""

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


def stream_command(program: str) -> str | None:
    """The command line with which an agent's program prints its stream; None for other programs."""
    streams = (d for provider in all_providers() for d in provider.dialects if d.live and not d.answer_only)
    live = (PRODUCED.get(d.name, "") for d in streams)
    return next((line for line in live if line.split(maxsplit=1)[:1] == [program]), None)


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
        () if dialect.live else tuple(dict.fromkeys(_places(dialect, provider.roots))),
        VERSIONS.get(dialect.name),
        dialect.has_end,
        ENDS.get(dialect.name),
        dialect.has_prompt,
        dialect.losses,
    )


def _places(dialect: Dialect, roots: Iterable[LogRoot]) -> Iterable[str]:
    for root in roots:
        # the first of several patterns is the newest layout
        for pattern in LAYOUTS.get(dialect.name, root.patterns[:1]):
            yield f"{root.default}/{pattern}"


def text_table(rows: Iterable[DialectRow], width: int | None = None) -> str:
    """The rows for people; lines longer than `width` are wrapped between words."""
    out: list[str] = []
    provider = None
    for row in rows:
        if row.provider != provider:
            names = f", also {', '.join(row.aliases)}" if row.aliases else ""
            out += ["", f"{row.title} ({row.provider}{names})"]
            provider = row.provider
        out.append(f"  {row.dialect}  ({'live' if row.live else 'on disk'})")
        out += [f"    {label}: {said}" for label, said in facts_of(row)]
        out += [f"    missing: {loss}" for loss in row.losses]
    lines = out[1:]
    if width is not None:
        room = max(width, 40)
        lines = [piece for line in lines for piece in wrap(line, room, subsequent_indent=" " * 6) or [""]]
    return "\n".join(lines) + "\n"


def facts_of(row: DialectRow) -> list[tuple[str, str]]:
    facts = [("from", row.produced_by)] if row.produced_by else []
    if row.lies_in:
        facts.append(("stored in", ", ".join(row.lies_in)))
    if row.produced_by or row.versions:  # else it is a plug-in's dialect, of which neither is known here
        facts.append(("versions", row.versions or "unknown (the log does not name them)"))
    facts.append(("end", row.end or ("an end record" if row.has_end else "none; its status is unknown")))
    if not row.has_prompt:
        facts.append(("prompt", "not in the log; --prompt adds it"))
    return facts

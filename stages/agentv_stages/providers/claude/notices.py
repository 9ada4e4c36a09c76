"""Lines of a session on disk that are not messages but worth reporting: commands, hooks, retries, attachments."""

import hashlib

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, Level, Notification, SessionEnd, SlashCommand, Source, Status, UserText
from agentv_stages.model.payload import text_of
from agentv_stages.providers.claude.blocks import slash_command
from agentv_stages.providers.claude.catalogue import QUIET_SUBTYPES, TOLD_SUBTYPES
from agentv_stages.providers.claude.wire import MetaLine

_ENDS: dict[str, Status] = {
    "structured_output": "complete",
    "max_turns_reached": "error",
    "hook_stopped_continuation": "complete",
    "blocked_by_hook": "complete",
}
"""What ends a run without an answer: attachments for the answer to `--json-schema`, `--max-turns`, and a hook with
`continue: false`; a notice for a prompt that a hook refused. The stream reports both hooks as a success (2.1.332).
"""


def attached(line: MetaLine, source: Source, batch: Batch) -> UserText | Notification | None:
    """The event of an attachment: a queued prompt or a hook; None for context that the program gave the model."""
    attachment = line.attachment
    name = attachment.type if attachment else ""
    if attachment and name == "queued_command" and attachment.prompt:
        noticed = attachment.commandMode == "task-notification"
        return UserText(source, "", attachment.prompt, line.uuid or "", noticed)
    if attachment and name in ("hook_blocking_error", "hook_cancelled", "max_turns_reached"):
        return Notification(source, "", name, f"{name} {attachment.hookName or ''}".strip(), "warning")
    batch.ignore(f"attachment/{name}")
    return None


def end_of_run(line: MetaLine, source: Source) -> SessionEnd | None:
    """The end of the run that a line marks, if any; one of a sub-agent does not end the session."""
    refused = line.promptSubmitEnding
    name = line.attachment.type if line.attachment else (refused.ending.kind or "") if refused else ""
    status = _ENDS.get(name) if source.stream == MAIN else None
    return None if status is None else SessionEnd(source, "-end", status, name)


def progress(line: MetaLine, source: Source, batch: Batch) -> Notification | None:
    """A notification for a running hook; other progress is only counted."""
    if line.data and line.data.type == "hook_progress":
        text = f"Hook: {line.data.hookName or 'unknown'} ({line.data.hookEvent})"
        return Notification(source, "", "hook_progress", text, "debug")
    batch.ignore(f"progress/{line.data.type if line.data else ''}")
    return None


def tell_system(line: MetaLine, source: Source, record: Record, batch: Batch) -> None:
    """Appends the event of a `system` line: a terminal command, or a notice."""
    name = line.subtype
    text = text_of(line.content) if line.content else ""
    level: Level = "info"
    if name == "local_command":
        command, _, args = text.partition(" ")
        if command.startswith("/"):
            batch.events.append(SlashCommand(source, "", command, args or None))
            return
        named = slash_command(source, "", text)
        if named is not None:
            batch.events.append(named)
            return
    elif name == "turn_duration":
        text, level = f"Turn duration: {line.durationMs or 0:.0f}ms", "debug"
    elif name in ("compact_boundary", "microcompact_boundary"):
        meta = line.compactMetadata
        before = f", pre_tokens: {meta.preTokens}" if meta and meta.preTokens is not None else ""
        text = f"Context compaction (trigger: {meta.trigger if meta else 'unknown'}{before})"
    elif name == "stop_hook_summary":
        text = f"Stop hooks executed (count: {line.hookCount or 0})"
    elif name == "api_error":
        text, level = f"retry {line.retryAttempt or '?'} of {line.maxRetries or '?'}", "warning"
    elif name in ("informational", "away_summary"):
        pass
    elif name in TOLD_SUBTYPES:
        text, level = text or TOLD_SUBTYPES[name], "warning"
    elif not name and text:
        name = "informational"  # version 1 had no subtypes: warnings about limits, changes of the model
    elif name in QUIET_SUBTYPES:
        batch.ignore(f"system/{name}")
        return
    else:
        batch.unknown_type(f"system/{name}", record)
        return
    batch.events.append(Notification(source, "", name, text[:2000], level))


def generated(data: bytes) -> str:
    """A base id for a record that has none, from its content."""
    return f"gen-{hashlib.sha1(data, usedforsecurity=False).hexdigest()[:16]}"


def renamed(source: Source, base_id: str) -> Source:
    """The same source with another base id."""
    return Source(source.file, source.row, source.offset, source.length, source.time_ms, source.stream, base_id)

"""Lines that are not messages but worth reporting: commands, hooks, retries, attachments, queued prompts."""

import hashlib

from msgspec import Raw, Struct

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import MAIN, Level, Notification, SessionEnd, SlashCommand, Source, Status, UserText
from agentv_stages.model.payload import decode_json, has_value, plain_text, text_of
from agentv_stages.providers.claude.blocks import slash_command
from agentv_stages.providers.claude.catalogue import QUIET_SUBTYPES, TOLD_SUBTYPES
from agentv_stages.providers.claude.wire import MetaLine, SystemLine, before

# Prompts that a person typed while a turn ran and that the model received within that turn.
#
# Versions before 2.1.104 log them only as queue operations: `enqueue` with the text, later `remove`, in some versions
# without the text. Later versions also log an attachment, which is used instead. After `dequeue` comes an ordinary
# user line; `popAll` put the texts back into the input field.
#
# Source: Claude Code 2.0.30, 2.1.90, 2.1.330 and 2.1.332 in the terminal.

_LOGS_ATTACHMENTS = [2, 1, 104]
_MOST_WAITING = 64
_NO_PROMPT = ("<", "/")  # notices of background tasks, and commands


class Queue(Struct):
    """The texts that wait, oldest first; empty for versions that log attachments."""

    waiting: list[str] = []

    def delivered(self, operation: str, text: str | None, version: str | None) -> str | None:
        """The prompt that a queue operation gave to the model within a turn; None for any other operation."""
        if not before(version, _LOGS_ATTACHMENTS):
            return None
        waiting = self.waiting
        if operation == "enqueue":
            if len(waiting) < _MOST_WAITING:
                waiting.append(text or "")
            return None
        if operation != "remove":
            del waiting[: 1 if operation == "dequeue" else None]
            return None
        if text is None:
            alike = len({prompt.startswith(_NO_PROMPT) for prompt in waiting}) == 1
            text, waiting[:1] = waiting[0] if alike else None, []
        elif text in waiting:
            waiting.remove(text)
        return text if text and not text.startswith(_NO_PROMPT) else None


def notice_of(name: str, line: SystemLine) -> tuple[str, Level] | None:
    """Message and level of a notice; None for an unknown subtype."""
    if name == "compact_boundary":
        return f"context compaction {short(line.compact_metadata)}".strip(), "info"
    if name == "api_retry":
        why = short(line.error) or short(line.error_status)
        return f"retry {line.attempt or '?'} of {line.max_retries or '?'}: {why}", "warning"
    if name == "hook_response":
        level: Level = "warning" if line.outcome == "error" else "debug"
        return f"hook {line.hook_name or line.hook_event or ''}: {line.outcome or 'done'}", level
    if name == "task_started":
        return line.description or line.task_id or "", "info"
    if name == "task_notification":
        return f"task {line.status or 'ended'}: {line.summary or ''}", "info"
    if name == "permission_denied":
        why = short(line.message)
        return f"permission denied for {line.tool_name or 'a tool'}{': ' if why else ''}{why}", "warning"
    if name in ("informational", "notification", "local_command_output", "local_command"):
        return short(line.content or line.text or line.message), "info"
    if name in TOLD_SUBTYPES:
        return short(line.content or line.message) or TOLD_SUBTYPES[name], "warning"
    return None


def short(raw: Raw) -> str:
    if not has_value(raw):
        return ""
    text = text_of(raw)[:300]
    return text if text or bytes(raw)[:1] == b'"' else bytes(raw)[:300].decode("utf-8", "replace")


def short_errors(raw: Raw) -> str:
    """A list of errors as one text; anything else as its own text."""
    value = decode_json(raw) if has_value(raw) else None
    errors = list(map(plain_text, value)) if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - decoded JSON
    return "; ".join(filter(None, errors))[:300] or (short(raw) if value else "")


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

"""Short messages for the notices (`system` lines) of Claude Code's stream."""

from msgspec import Raw

from agentv_stages.model.event import Level
from agentv_stages.model.payload import decode_json, plain_text, text_of
from agentv_stages.providers.claude.catalogue import TOLD_SUBTYPES
from agentv_stages.providers.claude.wire import SystemLine


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
    if not raw:
        return ""
    return text_of(raw)[:300] or bytes(raw)[:300].decode("utf-8", "replace")


def short_errors(raw: Raw) -> str:
    """A list of errors as one text; anything else as its own text."""
    value = decode_json(raw)
    errors = list(map(plain_text, value)) if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - decoded JSON
    return "; ".join(filter(None, errors))[:300] or short(raw)

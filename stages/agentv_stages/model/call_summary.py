"""The subject of a call, in one phrase: for the summary log, `show`, `watch` and `Adapter.summarize`."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.event import ToolCall
from agentv_stages.model.payload import decode_json
from agentv_stages.model.visible import visible

WIDTH = 80
NO_SUMMARY = "(args...)"

_PATHS = ("file_path", "path", "filePath", "absolute_path", "notebook_path", "dir_path", "uri", "files")
SUMMARY_KEYS: Mapping[str, tuple[str, ...]] = {
    "execute": ("command", "cmd", "skill", "bash_id", "shell_id", "description"),
    "read": _PATHS,
    "write": _PATHS,
    "search": ("pattern", "query", "input", "url", "searchTerm", "prompt", *_PATHS),
    "plan": ("description", "explanation", "subject", "prompt", "plan", "todos"),
    "ask": ("prompt", "question", "questions"),
}
"""Kind -> the most informative arguments of a call, the best one first."""
_INSIDE = ("content", "description", "step", "header", "question", "title", "text", "file_path", "path")


def summarize_arguments(kind: str, args: Any) -> str:
    """One line of at most 80 characters about the arguments of a call of this kind; `(args...)` if none says much."""
    if isinstance(args, str):
        return visible(" ".join(args[: WIDTH * 4].split()), WIDTH) or NO_SUMMARY
    if isinstance(args, Mapping):
        for key in SUMMARY_KEYS.get(kind, ()):
            text = _as_text(args.get(key))  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType] - decoded JSON
            if text:
                return visible(text, WIDTH)
    return NO_SUMMARY


def target_of(call: ToolCall) -> str:
    """The subject of a normalised call: its command, its files or its most informative argument; otherwise all of
    them.
    """
    if call.command is not None:
        return call.command
    if call.files:
        return call.files[0] if len(call.files) == 1 else f"{call.files[0]} and {len(call.files) - 1} more"
    raw = bytes(call.input_json)
    if raw == b"{}":
        return ""
    try:
        summary = summarize_arguments(call.kind, decode_json(call.input_json))
    except (ValueError, RecursionError):
        summary = NO_SUMMARY
    return raw[:400].decode("utf-8", "replace") if summary == NO_SUMMARY else summary


def _as_text(value: Any) -> str:
    """A value as text: a string, a list of words, or the first of a list of objects with the number of the others."""
    if isinstance(value, str):
        return value.strip()
    if not isinstance(value, list) or not value:
        return ""
    items: list[Any] = value  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    if all(isinstance(item, str) for item in items):
        return " ".join(items[:100]).strip()
    first = items[0]
    if isinstance(first, Mapping):
        text = next((str(first[key]) for key in _INSIDE if isinstance(first.get(key), str)), "")  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType] - decoded JSON
        return f"{text[:60]} (+{len(items) - 1} more)" if text and len(items) > 1 else text
    return ""

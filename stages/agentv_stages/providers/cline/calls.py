"""Arguments and results of Cline's tools: the commands and files of a call, and how it ended.

One call of Cline may do several things: run several commands, read several files. It counts as an error if one of them
failed; its exit code is that of the first failed command.
Source: Cline CLI 3.0.65.
"""

import shlex

import msgspec
from msgspec import Raw

from agentv_stages.model.event import EMPTY_OBJECT, Outcome
from agentv_stages.model.payload import add_key, has_value, text_of, to_raw
from agentv_stages.providers.cline.wire import (
    Entry,
    Task,
    decode_command_list,
    decode_commands,
    decode_entries,
    decode_entry,
    decode_error,
    decode_files,
    decode_task,
)

SHELL = "run_commands"
READ = "read_files"
SPAWNS = frozenset(("spawn_agent", "team_run_task"))
"""Tools that give a task to another agent."""
_REFUSED = (msgspec.MsgspecError, UnicodeDecodeError)
_ARRAY, _OBJECT, _STRING = b'[{"'
_EXITED = "Command exited with code "
_CANCELLED = ("aborted", "Command failed: Command was aborted", "Command was aborted")
_DENIED = " -- NOT a tool or system failure. Clarify with user before proceeding."
"""What Cline appends to any reason why a call was not approved."""
_JSON_IN_TEXT = b'"{\\"'
_FAILED_IN_TEXT = (b'\\"success\\":false}"', b'\\"isError\\":true}"')


def arguments(name: str, raw: Raw) -> Raw:
    """The input of a call. A shell call gets `command`, all its commands as the lines of one script; a call that reads
    one file gets `file_path`.
    """
    if not has_value(raw):
        return EMPTY_OBJECT
    if name == SHELL:
        script = _script(raw)
        return raw if script is None else add_key(raw, "command", to_raw(script))
    if name == READ:
        try:
            read = decode_files(raw)
        except _REFUSED:
            return raw
        if len(read.files) == 1 and not read.file_path:
            file = read.files[0]
            path = file.path or file.file_path or file.filePath
            return raw if path is None else add_key(raw, "file_path", to_raw(path))
    return raw


def _script(raw: Raw) -> str | None:
    """The commands as one script; None if the input has a `command` of its own, or an unknown form."""
    try:
        found = decode_commands(raw)
        if has_value(found.command) or not has_value(found.commands):
            return None
        if _first(found.commands) == _ARRAY:
            commands = decode_command_list(found.commands)
        else:
            commands = decode_command_list(b"[" + bytes(found.commands) + b"]")
    except _REFUSED:
        return None
    return "\n".join(
        [
            command if isinstance(command, str) else shlex.join([command.command, *(command.args or ())])
            for command in commands
        ]
    )


def task_of(raw: Raw) -> Task:
    """The task that another agent gets."""
    try:
        return decode_task(raw)
    except _REFUSED:
        return Task()


def ending(name: str, output: Raw, error: str | None) -> tuple[Outcome, int | None]:
    """Outcome and exit code of a call, from its output and, if the log has one, its `error`."""
    bad = error is not None
    failed = [entry for entry in _entries(name, output, bad) if _failed(entry) or (bad and entry.error)]
    if not bad and not failed:
        return "ok", 0 if name == SHELL else None
    texts = [entry.error or entry.finishReason or "" for entry in failed] or [error or ""]
    code = next((_exit_code(text) for text in texts if text.startswith(_EXITED)), None)
    if any(text.endswith(_DENIED) for text in texts):
        return "denied", code
    if any(text.startswith(_CANCELLED) for text in texts):
        return "cancelled", code
    return "error", code


def _failed(entry: Entry) -> bool:
    return entry.success is False or bool(entry.isError) or entry.finishReason not in (None, "completed")


def _entries(name: str, output: Raw, bad: bool) -> list[Entry]:
    """The results of a call's parts. A text on disk may hold the JSON of one result."""
    first = _first(output)
    try:
        if first == _ARRAY:
            return decode_entries(output)
        if first == _OBJECT:
            return [decode_entry(output)]
        if first == _STRING and bytes(memoryview(output)[:4]) == _JSON_IN_TEXT:
            if bad or name in SPAWNS or _says_failed(output):
                return [decode_entry(text_of(output).encode())]
    except _REFUSED:
        pass
    return []


def _first(raw: Raw) -> int:
    return memoryview(raw)[0] if raw else 0


def _says_failed(output: Raw) -> bool:
    """Whether the JSON in a text ends with the member that reports a failure; copies no payload."""
    end = memoryview(output)
    return any(bytes(end[-len(mark) :]) == mark for mark in _FAILED_IN_TEXT)


def _exit_code(text: str) -> int | None:
    digits = text[len(_EXITED) :]
    return int(digits) if digits.isdecimal() and len(digits) < 10 else None


def error_text(raw: Raw) -> str:
    """The message of an error, which is a text or an object."""
    first = _first(raw)
    if first == _OBJECT:
        return decode_error(raw).message or ""
    return text_of(raw) if first == _STRING else ""

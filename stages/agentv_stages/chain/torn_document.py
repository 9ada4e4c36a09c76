"""Recovers a truncated log that is one JSON document: its text in, the records before the tear out.

A document holds its records in a list, at the top level or under one of a few names. The record at the tear keeps its
intact members, but of its parts only intact ones: half a tool call is no tool call. This is only for documents: a
half-written line of a log is never read in part.
"""

import json
import re
from typing import Any

from agentv_stages.model.payload import number

RECORDS = frozenset(("messages", "requests", "history", "turns", "steps", "trace", "events", "output"))
"""Names of lists of records. Gemini and OpenCode: messages; VS Code: requests; Continue: history; AgentV: turns, trace,
events, output; ATIF: steps."""
PARTS = frozenset(("parts", "response", "toolCalls", "tool_calls"))
"""Names of lists of a record's parts."""

_read = json.JSONDecoder(strict=False, parse_int=number).raw_decode
_BETWEEN = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")


def whole_part(text: str) -> tuple[list[dict[str, Any]], int] | None:
    """The records before the tear, or for an object the document itself, and where in `text` the torn part begins.

    None if `text` is whole, or if there is no record before the tear.
    """
    start = len(text) - len(text.lstrip())
    opener = text[start : start + 1]
    try:
        if opener == "[":
            elements, end, closed = _elements(text, start + 1, False)
            found: list[dict[str, Any]] = [element for element in elements if isinstance(element, dict)]
            return (found, end) if found and len(found) == len(elements) and not closed else None
        if opener == "{":
            members, end, closed = _members(text, start + 1, RECORDS)
            listed = any(isinstance(members.get(name), list) and members[name] for name in RECORDS & members.keys())
            return ([members], end) if listed and not closed else None
    except RecursionError:
        pass
    return None


def _elements(text: str, at: int, part: bool) -> tuple[list[Any], int, bool]:
    """The intact elements of a list from `at`, where the torn part begins, and whether the list ends before it.

    With `part`, also the intact members of a torn element.
    """
    elements: list[Any] = []
    while True:
        at = _next(text, at)
        if text[at : at + 1] == "]":
            return elements, at + 1, True
        try:
            value, end = _read(text, at)
        except ValueError:
            if part and text[at : at + 1] == "{":
                members, torn, _ = _members(text, at + 1, PARTS)
                if members:
                    return [*elements, members], torn, False
            return elements, at, False
        elements.append(value)
        at = end


def _members(text: str, at: int, lists: frozenset[str]) -> tuple[dict[str, Any], int, bool]:
    """The intact members of an object from `at`, where the torn part begins, and whether the object ends before it."""
    members: dict[str, Any] = {}
    while True:
        at = _next(text, at)
        if text[at : at + 1] == "}":
            return members, at + 1, True
        torn, key = at, None
        try:
            key, at = _read(text, at)
            at = _next(text, at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                return members, torn, False
            at = _next(text, at + 1)
            value, end = _read(text, at)
        except ValueError:
            if key in lists and text[at : at + 1] == "[":
                members[key], torn, _ = _elements(text, at + 1, lists is RECORDS)
            return members, torn, False
        if _next(text, end) >= len(text) and not isinstance(value, str | list | dict):
            return members, torn, False  # a number may have been longer
        members[key] = value
        at = end


def _next(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at

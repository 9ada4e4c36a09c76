"""How rules look at tool calls: which calls count, and how a step of a spec refers to one."""

import hashlib
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, json

from agentv_stages.model.event import MAIN, AnyEvent, Kind, ToolCall
from agentv_stages.trajectory.arguments import MISSING, ArgsMatch, args_match
from agentv_stages.trajectory.endings import ANYHOW, Ending, on_stream
from agentv_stages.trajectory.json_values import is_object
from agentv_stages.trajectory.wildcards import glob


def counts(event: AnyEvent, all_streams: bool) -> bool:
    """Whether an event is on a stream that the rule considers."""
    return all_streams or event.source.stream == MAIN


def steps_count(steps: "Sequence[Step]", event: AnyEvent, all_streams: bool) -> bool:
    """As `counts`; also the streams that steps name are considered."""
    return counts(event, all_streams) or any(
        step.stream is not None and on_stream(step.stream, event.source.stream, False) for step in steps
    )


def arguments_of(call: ToolCall) -> Any:
    """The decoded arguments, MISSING where the log has none (null also counts as none)."""
    raw = bytes(call.input_json)
    if not raw or raw == b"null":
        return MISSING
    try:
        return call.input
    except ValueError:
        return MISSING


def is_glob(text: str) -> bool:
    return "*" in text or "?" in text


def named(pattern: str, call: ToolCall) -> bool:
    """Whether `pattern` names the call: canonical or native name, exactly, or as a glob where it is one."""
    if pattern == call.tool or pattern == call.name:
        return True
    if is_glob(pattern):
        test = glob(pattern)
        return test(call.tool) or test(call.name)
    return False


def _sorted(call: ToolCall) -> bytes:
    """The arguments as bytes that do not depend on the order of keys or on blanks."""
    value = arguments_of(call)
    if value is MISSING:
        return b""
    try:
        return json.encode(value, order="sorted")
    except (ValueError, TypeError, RecursionError):
        return bytes(call.input_json)


def same_call(call: ToolCall) -> str:
    """A key that calls share if they are the same: of one tool, with equal arguments, on one stream."""
    same = f"{call.source.stream}\0{call.tool or call.name}\0".encode("utf-8", "replace") + _sorted(call)
    return hashlib.blake2b(same, digest_size=12).hexdigest()


class Step(Struct, frozen=True):
    """One expected call: by `tool` or by `kind`, with `args` that must fit according to `args_match`.

    `ending` and `stream` are further conditions: how the call ended, and on which stream it was; without a
    `stream` it is the main one, or any (`everywhere`). `compat` compares names as AgentV does: only the
    canonical one, no globs.
    """

    tool: str | None = None
    kind: Kind | None = None
    args: Any = MISSING
    args_match: ArgsMatch = "exact"
    max_duration_ms: float | None = None
    compat: bool = False
    ending: Ending = ANYHOW
    stream: str | None = None
    everywhere: bool = True

    @property
    def title(self) -> str:
        name = self.tool if self.tool is not None else f"kind:{self.kind}"
        return name + (f"@{self.stream}" if self.stream is not None else "") + self.ending.title

    def names(self, call: ToolCall) -> bool:
        """Whether the call is of this step's tool or kind, on its stream, whatever its arguments."""
        if not on_stream(self.stream, call.source.stream, self.everywhere):
            return False
        if self.tool is None:
            return call.kind == self.kind
        if self.compat:
            return (call.tool or call.name) == self.tool
        return named(self.tool, call)

    def fits(self, call: ToolCall, arguments: "Arguments") -> bool:
        """Whether the call fits this step, regardless of its duration and of how it ended."""
        if not self.names(call):
            return False
        if self.args is MISSING or self.args == "any" or self.args_match == "ignore":
            return True
        return args_match(self.args, arguments.get(call), self.args_match)


class Arguments:
    """Decodes the arguments of a call once for all steps that need them, and only if one does."""

    __slots__ = ("_call", "_value")

    def __init__(self) -> None:
        self._call: ToolCall | None = None
        self._value: Any = MISSING

    def get(self, call: ToolCall) -> Any:
        if self._call is not call:
            self._call, self._value = call, arguments_of(call)
        return self._value


def string_member(value: Any, *keys: str) -> str:
    """The first of the members that is a string, else ""."""
    if is_object(value):
        for key in keys:
            member: Any = value.get(key)
            if isinstance(member, str):
                return member
    return ""

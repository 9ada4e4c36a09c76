"""Calls among items of the Responses API, and their results.

Functions, shells, patches and custom tools run where the agent runs: their results are items of their own. A call
without a `call_id` was run by OpenAI (`web_search_call`, `mcp_call`) and is its own result.
Source: openai-agents 0.24.0, recorded (`SQLiteSession` with a scripted Responses server), and the types of openai 2.x.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.event import EMPTY_OBJECT, Outcome
from agentv_stages.model.payload import ABSENT, add_key, has_value, inner_json, text_of, to_raw
from agentv_stages.model.provider import REFUSED

CALL = "_call"
RESULT = "_call_output"
_ENDED: dict[str | None, Outcome] = {None: "ok", "completed": "ok", "failed": "error"}
_FAILED = b'"An error occurred while running the tool.'
"""What the SDK returns of a function that raised, unless its maker says otherwise (`default_tool_error_function`)."""
_DENIED = "Tool execution was not approved."
"""What the SDK returns of a call that was not approved, unless its maker says otherwise."""


class Item(Struct, gc=False):
    type: str | None = None
    role: str | None = None
    content: Raw = ABSENT
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    server_label: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT
    action: Raw = ABSENT
    operation: Raw = ABSENT
    queries: Raw = ABSENT
    code: Raw = ABSENT
    output: Raw = ABSENT
    outputs: Raw = ABSENT
    results: Raw = ABSENT
    error: Raw = ABSENT
    summary: Raw = ABSENT
    status: str | None = None
    provider_data: "Answered | None" = None


class Answered(Struct, gc=False):
    """The model call that an item comes from; items of the SDK's chat models have it."""

    model: str | None = None
    response_id: str | None = None


class Action(Struct, gc=False):
    commands: list[str] | None = None


class End(Struct, gc=False):
    type: str | None = None
    exit_code: int | None = None


class Ran(Struct, gc=False):
    """A command's part of a shell's result."""

    stdout: str | None = None
    stderr: str | None = None
    outcome: End | None = None


decode_action = Decoder(Action).decode
decode_ran = Decoder(list[Ran]).decode


def request_of(item: Item, kind: str) -> tuple[str, Raw]:
    """The name of a call and its input."""
    name = item.name or kind.removesuffix(CALL)
    if kind == "mcp_call" and item.server_label:
        name = f"mcp__{item.server_label}__{name}"
    if has_value(item.arguments):
        return name, inner_json(item.arguments)
    if kind == "shell_call":
        return name, _commands(item.action)
    if has_value(item.operation):  # `apply_patch` is also the name of a function whose input is a patch
        return kind, item.operation
    if has_value(item.action):
        return name, item.action
    for key, payload in (("input", item.input), ("queries", item.queries), ("code", item.code)):
        if has_value(payload):
            return name, to_raw({key: payload})
    return name, EMPTY_OBJECT


def _commands(action: Raw) -> Raw:
    """The action of a shell, with its commands as one text."""
    try:
        commands = decode_action(action).commands if has_value(action) else None
    except REFUSED:
        commands = None
    if commands is None:
        return action if has_value(action) else EMPTY_OBJECT
    return add_key(action, "command", to_raw("\n".join(commands)))


def hosted_outcome(item: Item) -> Outcome | None:
    """How a call that OpenAI ran ended; None while it goes on."""
    return "error" if has_value(item.error) else _ENDED.get(item.status)


def hosted_output(item: Item) -> Raw | None:
    """What a tool that OpenAI ran returned."""
    return next((value for value in (item.output, item.outputs, item.results, item.error) if has_value(value)), None)


def result_of(item: Item) -> tuple[Raw | None, Outcome | None, int | None]:
    """The output of a call that ran where the agent runs, its outcome and its exit code."""
    if not has_value(item.output):
        return None, "error" if item.status == "failed" else None, None
    data = bytes(item.output)
    if data[:1] == b"[":
        return item.output, *_ran(item.output)
    if data[:1] == b'"' and len(data) < 100 and text_of(item.output) == _DENIED:
        return item.output, "denied", None
    return item.output, "error" if item.status == "failed" or data.startswith(_FAILED) else None, None


def _ran(output: Raw) -> tuple[Outcome | None, int | None]:
    """The outcome of a shell's commands, and the exit code of the first one that failed, else of the last one."""
    try:
        ran = [(one, one.outcome) for one in decode_ran(output) if one.outcome is not None]
    except REFUSED:
        return None, None
    if any(not one.stdout and one.stderr == _DENIED for one, _ in ran):
        return "denied", None
    if any(end.type == "timeout" for _, end in ran):
        return "error", None
    codes = [end.exit_code for _, end in ran if end.exit_code is not None]
    code = next((code for code in codes if code), codes[-1] if codes else None)
    return "error" if code else None, code

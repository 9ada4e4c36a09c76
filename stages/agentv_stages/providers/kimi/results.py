"""The meaning of Kimi's tool results: exit codes, refusals, the name and input of a call; and how a goal ended.

The shell tool ends the output of a failed command with `Command failed with exit code: N.` (-1: by a signal).
Source: Kimi Code 0.10.0 to 2.1.0, recordings, and the bundled source of 2.1.0.
"""

import re

from msgspec import Raw

from agentv_stages.model.event import EMPTY_OBJECT, Outcome, Status
from agentv_stages.model.payload import EMPTY_STRING, has_value, inner_json
from agentv_stages.providers.kimi.tools import SHELLS
from agentv_stages.providers.kimi.wire import AskedCall

GOAL_ENDS: dict[str, Status] = {"blocked": "error", "paused": "interrupted"}
"""The status of a run, by the state in which it left its goal."""
_TAIL = 400  # a hint at the file with the whole output may follow the code
_HEAD = 300
_FAILED = b"Command failed with exit code: "
_KILLED = b"Command killed by timeout ("
_CODE = re.compile(rb"Command failed with exit code: (-?\d{1,10})\.")
_TOOL = b'"Tool \\"'
_DENIED = re.compile(rb"was denied by permission (?:rule|policy)|was not run because the user rejected ")
_HOOK = b'"Blocked by PreToolUse hook'
_UNASKED = b"was not run because the approval request was cancelled"
_INTERRUPTED = b'"Tool execution was interrupted before its result was recorded'
_STOPPED = tuple(mark + word for mark in (b'"', b"\\n") for word in (b'Interrupted by user"', b'Session closed"'))
_NOT_FOUND = b'\\" not found"'
_BAD_ARGUMENTS = b'"Invalid args for tool \\"'
AGENT_ID = b'"agent_id: '
_AGENT = re.compile(rb'"agent_id: ([\w-]{1,80})\\n')
_PLANNING = b'"Plan mode is active. You may only write to '
_NO_FILE = (b'"\\"',)  # the path in quotes; a file's text begins with a line number
_NO_SEARCH = (b'"ripgrep (rg) is not available ',)
_FAILURES: dict[str, tuple[bytes, ...]] = {
    "Read": _NO_FILE,
    "ReadMediaFile": _NO_FILE,
    "Edit": (b'"old_string not found in ', b'"old_string is not unique in ', b'"No changes to make: ', b'"ENOENT: '),
    "Write": (b'"Failed to write ', b'"Parent directory does not exist: '),
    "Grep": _NO_SEARCH,
    "Glob": _NO_SEARCH,
    "FetchURL": (b'"Failed to fetch URL',),
    "ExitPlanMode": (b'"No plan file found. ',),
    "AskUserQuestion": (b'"AskUserQuestion is disabled while ',),
}
_AGENT_FAILED = re.compile(rb'"agent_id: [\w-]{1,80}(?:\\n[a-z_]+: [\w-]+)*?\\nstatus: failed\\n')
CHECKED = frozenset((*SHELLS, *_FAILURES, "Agent"))
"""Tools whose failures are reported in words that cannot begin any other result of theirs."""


def shell_failure(output: bytes) -> tuple[bool, int | None]:
    """Whether a shell's output, a JSON text, says that its command failed; and the exit code."""
    tail = output[-_TAIL:]
    at = tail.rfind(_FAILED)
    if at < 0:
        return tail.rfind(_KILLED) >= 0, None
    found = _CODE.match(tail, at)
    code = int(found[1]) if found else -1
    return True, code if code >= 0 else None


def refusal(output: bytes) -> Outcome | None:
    """Whether an error result says that its call never ran, or was broken off."""
    if output.startswith(_TOOL):
        head = output[:_HEAD]
        return "denied" if _DENIED.search(head) else "cancelled" if _UNASKED in head else None
    if output.startswith((_HOOK, _PLANNING)):
        return "denied"
    return "cancelled" if output.startswith(_INTERRUPTED) else None


def failure(output: bytes) -> tuple[Outcome, int | None]:
    """How a call failed that is marked as failed: its outcome and exit code, by its output."""
    outcome = refusal(output)
    if outcome is not None:
        return outcome, None
    failed, code = shell_failure(output)
    return "cancelled" if not failed and stopped(output) else "error", code


def stopped(output: bytes) -> bool:
    """Whether a shell's output says that its command was broken off; a line that a command prints has an end."""
    return output.endswith(_STOPPED)


def agent_named(output: bytes) -> str | None:
    """The sub-agent that a result belongs to, if it begins with `AGENT_ID`."""
    found = _AGENT.match(output)
    return found[1].decode() if found else None


def told_failure(name: str, output: bytes) -> tuple[bool, int | None]:
    """For the stream, which has no flag: whether a result says in the agent's own words that its call failed.

    `name` is the tool's if it is one of `CHECKED`, else "".
    """
    if output.startswith(_BAD_ARGUMENTS) or (output.startswith(_TOOL) and output.endswith(_NOT_FOUND)):
        return True, None
    if name in SHELLS:
        return shell_failure(output)
    if name == "Agent":
        return _AGENT_FAILED.match(output[:_HEAD]) is not None, None
    return output.startswith(_FAILURES.get(name, ())), None


def named_call(call: AskedCall) -> tuple[str, Raw]:
    """Name and arguments of a call in chat-completions form; arguments that are not JSON stay a string."""
    function = call.function
    name = (function.name if function else None) or call.name or "unknown"
    arguments = function.arguments if function and has_value(function.arguments) else call.arguments
    return name, inner_json(arguments) if has_value(arguments) and arguments != EMPTY_STRING else EMPTY_OBJECT

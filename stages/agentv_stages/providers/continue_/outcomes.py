"""How a call of Continue ended: from its status, for some tools from the words of its output.

Source: Continue CLI 1.5.47, `streamChatResponse.helpers.ts`, `runTerminalCommand.ts`, `subagent.ts`, recorded runs.
"""

import re
from typing import NamedTuple

from agentv_stages.model.event import Outcome
from agentv_stages.providers.continue_.tools import TABLE

DENIED = ("Command blocked by security policy", "Permission denied by user")
RUNNING = frozenset(("generating", "generated", "calling"))
"""Statuses of calls that have not ended."""
_EXITED = re.compile(r"Error executing tool \w+: Error \(exit code (\d{1,3})\): ")
_TIMED_OUT = re.compile(r"\[Command timed out after [\d.]{1,12} seconds of no output\]")
_FAILED = "<task_metadata>\nstatus: failed\n</task_metadata>"
_TAIL = 600  # characters: the line about a timeout comes last, before a note of some 200 on shortened output


class Ending(NamedTuple):
    """How a call ended. Without an outcome it just ended."""

    outcome: Outcome | None
    exit_code: int | None = None


def ending(name: str, status: str | None, output: str) -> Ending:
    """For a call that has ended.

    A shell command that fails without a word on standard error is `done`, and so is an MCP tool that fails.
    """
    if status == "canceled":
        return Ending("denied" if output in DENIED else "cancelled")
    if status == "errored":
        found = _EXITED.match(output)
        return Ending("error", int(found[1]) if found else None)
    if status != "done":
        return Ending(None)
    row = TABLE.by_name.get(name)
    if row is None:
        return Ending(None)
    if row.shell:
        return Ending("error" if _TIMED_OUT.search(output[-_TAIL:]) else None)
    return Ending("error" if row.tool == "Task" and output.endswith(_FAILED) else "ok")

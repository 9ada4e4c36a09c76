"""Tells what an error result of Claude Code means: refused, interrupted or failed.

Source: logs of Claude Code 1.0.128 to 2.1.332, headless and from its terminal.
"""

import re

from agentv_stages.model.event import Outcome
from agentv_stages.providers.claude.wire import PermissionDecision, SessionLine, since

INTERRUPTED = b'"[Request interrupted by user'
_EXIT_CODE = re.compile(rb'"(?:Error: )?Exit code (\d{1,3})\b(\\n\[Request interrupted by user)?')
_REFUSED = (
    b"Claude requested permissions",
    b"This command requires approval",
    b"Permission to use",
    b"Permission for this",
    b"permission denied by",
    b"hook error:",
    b"was blocked",
    b"denied by the Claude Code",
    b"command contains multiple operations. The following part",  # require approval: …
    b'"Command contains ',
    b"cannot be checked in advance",
    b"Run outside of the sandbox",
)
_REFUSED_NODE = re.compile(rb'"Contains [a-z]+(?:_[a-z]+)+"')  # a node of a shell command that was not understood
REJECTED = "user-rejected"
"""The kind of a call that needed approval and got none: a person refused or interrupted, or nobody was there to ask."""
_DECLINED = b"The user doesn't want to proceed"
_NOT_BEGUN = b"The user doesn't want to take this action"  # another call of the same answer was refused or interrupted
_ANSWERED = b"the user said:"
_TELLS_RUNS = [2, 1, 326]  # the first version whose logs say whether a call was rejected before it ran


def failure(output: bytes, unasked: bool, rejected: bool = False) -> tuple[Outcome, int | None]:
    """How a call with an `is_error` result ended (refused, interrupted or failed), and its exit code.

    A person's refusal and an interrupt give the same sentence; for a call without a question to the user (`unasked`) it
    is an interrupt. `rejected`: the log also records that the call did not run, so any other text is the reason for a
    refusal.
    """
    code = _EXIT_CODE.search(output[:96])
    if code:
        return ("cancelled" if code[2] else "error"), int(code[1])
    if b"Error: Exit code" in output[:128]:
        return "error", None
    head = output[:400]
    if _DECLINED in head:
        return ("cancelled" if unasked and _ANSWERED not in head else "denied"), None
    if _NOT_BEGUN in head:
        return "cancelled", None
    if INTERRUPTED in head:
        return "cancelled", None
    if rejected or any(mark in head for mark in _REFUSED) or _REFUSED_NODE.search(head):
        return "denied", None
    return "error", None


def denial_outcome(kind: str, decision: PermissionDecision | None) -> Outcome | None:
    """The outcome of a call that did not run, from the fields beside its text; None if only the text shows it. The text
    may be a rule's, a hook's, or any words of a host that asked a person.

    Source: the list of kinds in the program of Claude Code 2.1.332; on disk 2.1.212 writes them, 2.1.142 does not. An
    interrupted call has no decision, a refused one has `reject` (2.1.332, live and on disk).
    """
    if decision is not None and decision.decision == "reject":
        return "denied"
    if kind in ("interrupted", "cancelled"):
        return "cancelled"
    return "denied" if kind == "permission-rule" or kind.startswith("automode-") else None


def was_interrupted(line: SessionLine) -> bool:
    """Whether the rejected call of a line had begun to run; then only an interrupt can have ended it."""
    if line.toolDenialKind != REJECTED or line.toolDenialBeforeRun:
        return False
    return since(line.version, _TELLS_RUNS)

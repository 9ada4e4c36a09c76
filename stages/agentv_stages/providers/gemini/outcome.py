"""Exit codes and refusals from the texts of results, for Gemini CLI and its relative Qwen Code.

Both agents report a shell call as a success whatever its command did; the exit code is in the text (Gemini 0.61 and
Qwen 0.15: `Exit Code: 1` near the end of the model's text, `Command exited with code: 3` in the text shown to a
person).
"""

import re

from agentv_stages.model.event import Outcome

SHELL_TOOLS = frozenset(("run_shell_command",))
DENIED_TYPES = frozenset(("execution_denied", "policy_violation"))

_TAIL = 400
_END = re.compile(
    rb"(?:\\nExit Code: (-?\d+|\(none\)))?(?:\\nSignal: (\w+|\(none\)))?(?:\\nBackground PIDs: [^\"\\]*)?"
    rb"(?:\\nProcess Group PGID: [^\"\\]*)?(?:\\n</untrusted_context>)?\""
)
_SHOWN = re.compile(rb'"Command (?:exited with code: (-?\d+)|terminated by signal: (\w+))\b')
_NO_SIGNAL = (b"0", b"(none)", b"null")
_DENIED = re.compile(
    rb"(?i)user (?:denied|did not allow|declined|rejected)|denied by polic|"
    rb"requires (?:user )?(?:approval|confirmation|permission, but)|but that permission was declined"
)
_BLOCKED = b'"Tool execution blocked: '  # by a hook
_CANCELLED = re.compile(
    rb'^"(?:\[Operation Cancelled\]|User cancell?ed|'
    rb"(?:Error: )?(?:Command|Tool call|Operation|Request) (?:was )?cancell?ed)"
)


def shell_outcome(output: bytes) -> tuple[Outcome, int | None]:
    """Outcome and exit code of a shell call that was reported as a success; `output` is a JSON string."""
    if output[:9] == b'"Command ':
        shown = _SHOWN.match(output)
        if shown:
            code = int(shown[1]) if shown[1] is not None else None
            return ("ok" if code == 0 else "error"), code
    tail = output[-_TAIL:]
    at = tail.rfind(b"\\nExit Code: ")
    if at < 0:
        at = tail.rfind(b"\\nSignal: ")
    end = _END.fullmatch(tail, at) if at >= 0 else None
    if end is None:
        return "ok", None
    if end[2] is not None and end[2] not in _NO_SIGNAL:
        return "error", None
    if end[1] is None or end[1] == b"(none)":
        return "ok", None
    code = int(end[1])
    return ("error" if code else "ok"), code


def success_outcome(output: bytes, shell: bool) -> tuple[Outcome, int | None]:
    """As `shell_outcome`, for any tool: a text that begins like a cancellation is one."""
    if output[:2] in (b'"[', b'"C', b'"T', b'"O', b'"R', b'"U') and _CANCELLED.match(output[:80]):
        return "cancelled", None
    return shell_outcome(output) if shell else ("ok", None)


def _denied(low: bytes) -> bool:
    """A plain search for a word comes first: the expression alone would take longer than the rest of a result."""
    return (b"user " in low or b"denied by" in low or b"requires " in low) and _DENIED.search(low) is not None


def failure_outcome(output: bytes, error_type: str | None, cancelled: bool) -> Outcome:
    """The outcome of an unsuccessful result: refused by a person, a policy or a hook, interrupted, or failed."""
    if error_type in DENIED_TYPES or output.startswith(_BLOCKED) or _denied(output[:400].lower()):
        return "denied"
    if cancelled or _CANCELLED.match(output[:80]):
        return "cancelled"
    return "error"

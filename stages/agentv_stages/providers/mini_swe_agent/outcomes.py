"""How a command ended: from its exit code, from an exception, in 1.x from the text of the agent's templates.

Source: mini-swe-agent 1.1.0 to 2.4.6, `interactive.py`, `actions_toolcall.py`, the templates of its configurations.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from agentv_stages.model.event import Outcome
from agentv_stages.providers.mini_swe_agent.wire import Extra

# Finds the commands that 1.x cuts out of an answer's text. In: a text. Out: its commands. Linear in the length.
#
# The agent's regular expressions are replaced by plain searches, because on hostile text their time is quadratic. A
# user's own expression is not run, because it comes from the log.
# Source: mini-swe-agent 1.1.0 to 1.17.5, `parse_action`, and `action_regex` of its configurations.
_FENCE, _END_OF_FENCE = "```bash", "\n```"
_TAG, _END_OF_TAG = "<bash_code>", "</bash_code>"
FENCES = (r"```bash\s*\n(.*?)\n```", r"```bash\n(.*?)\n```")
TAGS = "<bash_code>(.*?)</bash_code>"


def commands_in(text: str, action_regex: str | None) -> list[str]:
    """Every command in an answer, as its configuration defines them; the agent runs a command only if it is the only
    one.
    """
    if action_regex is None or action_regex in FENCES:
        found = _fenced(text)
    elif action_regex == TAGS:
        found = _tagged(text)
    else:
        return []
    return [command.strip() for command in found]


def _fenced(text: str) -> Iterator[str]:
    at = text.find(_FENCE)
    while at >= 0:
        begin = text.find("\n", at)
        if begin < 0:
            return
        if text[at + len(_FENCE) : begin].strip():  # "```bashful"
            at = text.find(_FENCE, at + len(_FENCE))
            continue
        end = text.find(_END_OF_FENCE, begin + 1)
        if end < 0:
            return
        yield text[begin + 1 : end]
        at = text.find(_FENCE, end + len(_END_OF_FENCE))


def _tagged(text: str) -> Iterator[str]:
    at = text.find(_TAG)
    while at >= 0:
        end = text.find(_END_OF_TAG, at)
        if end < 0:
            return
        yield text[at + len(_TAG) : end]
        at = text.find(_TAG, end)


NOT_EXECUTED = "action was not executed"
SUBMITTED = "Submitted"
MARKER = b"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The first line of output of a command that submits."""
REJECTED = ("Commands not executed. ", "Command not executed. ")
INTERRUPTED, NEW_TASK = "Interrupted by user: ", "The user added a new task: "
SWITCHED = "Switched to human mode."
"""The user took over instead of letting the agent finish."""
UNSAID = frozenset(
    (
        *(INTERRUPTED + "Temporary interruption caught.", SWITCHED),
        *(start + "Switching to human mode" for start in REJECTED),
    )
)
"""The agent's words for what the user did without typing; otherwise the typed text follows them."""
TYPED = (*REJECTED, INTERRUPTED, NEW_TASK, "User command: \n```bash\n")
_TIMED_OUT = "The last command <command>"
_RETURNCODE = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>")


class End(NamedTuple):
    """How a command ended; `is_output` means that the message is its output. Without an outcome it just ended."""

    outcome: Outcome | None
    exit_code: int | None = None
    is_output: bool = True


def typed(text: str) -> bool:
    """Whether a message in the user's name contains a text that the user typed."""
    return text.startswith(TYPED) and text not in UNSAID


def end_of(extra: Extra) -> End:
    """For a command whose result is kept beside its message. A broken-off command has a made-up exit code."""
    if extra.exception_info:
        return End("error")
    code = extra.returncode
    return End(None if code is None else "error" if code else "ok", code)


def told_end(text: str) -> End:
    """For a command, by the message after it: always in 1.x, later if it was cut out of a text and did not run."""
    if text.startswith(REJECTED):
        return End("denied", is_output=False)
    if text.startswith(INTERRUPTED):
        return End("cancelled", is_output=False)
    if text.startswith(NEW_TASK) or text == SWITCHED:
        return End("ok", is_output=False)
    if text.startswith(_TIMED_OUT):
        return End("error")
    found = _RETURNCODE.match(text)
    if found is None:
        return End(None)
    code = int(found[1])
    return End("error" if code else "ok", code)


def unexecuted(text: str) -> Outcome:
    """For commands that did not run to their end, by the message after them."""
    return "denied" if text.startswith(REJECTED) else "cancelled"


def submits(exit_status: str | None, text: str) -> bool:
    """Whether the next message shows that the first command without a result submitted the work."""
    return exit_status == SUBMITTED or text.startswith(NEW_TASK) or text == SWITCHED

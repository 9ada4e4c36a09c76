"""Claude's sessions on disk as its terminal writes them: refusals, interrupts, commands, what is queued."""

from typing import Any

import pytest

from agentv_stages.event import Notification, SlashCommand, UserText
from support.claude_disk import line, only, tell, user
from support.decoding import results

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected. "
STOP = REJECTED + "STOP what you are doing and wait for the user to tell you how to proceed."
OTHERWISE = REJECTED + "To tell you how to proceed, the user said:\ndo it otherwise"
NOT_BEGUN = "The user doesn't want to take this action right now. STOP what you are doing and wait."
REFUSED_BY_USER = {"toolDenialKind": "user-rejected"}
BEFORE = {**REFUSED_BY_USER, "toolDenialBeforeRun": True}


def ended(content: str, **more: Any) -> tuple[str | None, int | None]:
    block = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    (told,) = results(tell(user([block], **more)).events)
    return told.outcome, told.exit_code


@pytest.mark.parametrize(
    ("content", "more", "outcome"),
    [
        (STOP, {**BEFORE, "version": "2.1.330"}, ("denied", None)),
        (STOP, {**REFUSED_BY_USER, "version": "2.1.330"}, ("cancelled", None)),
        (OTHERWISE, {**REFUSED_BY_USER, "version": "2.1.330"}, ("denied", None)),
        (STOP, {**REFUSED_BY_USER, "version": "2.1.282"}, ("denied", None)),
        (STOP, {**REFUSED_BY_USER, "version": "next"}, ("denied", None)),
        (STOP, {"version": "2.1.330"}, ("denied", None)),
        (NOT_BEGUN, {"version": "2.1.90"}, ("cancelled", None)),
        ("Exit code 137\n[Request interrupted by user for tool use]\nbegun", {}, ("cancelled", 137)),
        ("Exit code 137\nKilled", {}, ("error", 137)),
        ("Exit code 1\nit says [Request interrupted by user]", {}, ("error", 1)),
    ],
)
def test_a_refusal_and_an_interrupt_are_told_apart(content: str, more: Any, outcome: Any) -> None:
    """From version 2.1.326 on Escape while a call runs leaves the sentence of a refusal."""
    assert ended(content, **more) == outcome


def test_a_command_of_the_terminal_is_a_slash_command_in_tags_too() -> None:
    tags = "<command-name>/context</command-name>\n<command-args>all</command-args>"
    command = only(tell(line("system", subtype="local_command", content=tags)), SlashCommand)
    assert (command.name, command.args) == ("/context", "all")
    printed = line("system", subtype="local_command", content="<local-command-stdout>1k</local-command-stdout>")
    assert only(tell(printed), Notification).name == "local_command"


def test_a_queued_notice_of_a_background_task_is_no_prompt() -> None:
    notice = {"type": "queued_command", "prompt": "<task-notification>done</task-notification>"}
    assert only(tell(line("attachment", attachment={**notice, "commandMode": "task-notification"})), UserText).injected
    typed = {"type": "queued_command", "prompt": "and this", "commandMode": "prompt"}
    assert not only(tell(line("attachment", attachment=typed)), UserText).injected

"""The user's records of Gemini's chat recordings to events: prompts, slash commands, and late results."""

import re
from typing import Protocol

from msgspec import Raw

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import SlashCommand, Source, ToolResult, UserText
from agentv_stages.model.payload import join_array, text_of
from agentv_stages.providers.gemini.outcome import SHELL_TOOLS
from agentv_stages.providers.gemini.parts import begins_files, head_of, parts_of, spoken
from agentv_stages.providers.gemini.results import outcome_of, response_of
from agentv_stages.providers.gemini.state import ChatState
from agentv_stages.providers.gemini.wire import FunctionResponse, MessageHead, Part, decode_elements

CONTEXT = b"<session_context>"
USER_SHELL = b"I ran the following shell command:\\n```"
LOOP = b'"System: Potential loop detected'
_DIRECTORY = re.compile(r"Workspace Director(?:ies|y):\**\s*(?:-\s+)?(/[^\n]*|[A-Za-z]:\\[^\n]*)")
_COMMAND = re.compile(r"(/[a-zA-Z][\w:-]*)(?:\s+(.*))?\s*\Z", re.DOTALL)


class Session(Protocol):
    """The part of a recording's decoder that the functions here and in `answers` use."""

    state: ChatState
    parent_call: str | None

    def facts(
        self, source: Source, batch: Batch, session_id: str | None, model: str | None, directories: list[str] | None
    ) -> None: ...


def emit(at: Session, message: MessageHead, source: Source, batch: Batch) -> None:
    """Handles a user's record that was not seen before."""
    content = message.content or message.parts
    if head_of(content) == b'"':
        _user_text(at, content, source, batch)
        return
    parts = parts_of(content, source, batch)
    answers = [part.functionResponse for part in parts if isinstance(part, Part) and part.functionResponse]
    for i, answer in enumerate(answers):
        _late_result(at, answer, i, source, batch)
    if len(answers) < len(parts):
        typed, sent = _typed(content, parts, message.displayContent)
        if message.displayContent is None:
            _user_text(at, spoken(typed), source, batch)
        else:
            at.state.asking = ""
            batch.events.append(UserText(source, "", spoken(typed), source.base_id))
        if sent is not None:
            batch.events.append(UserText(source, "-sent", spoken(sent), source.base_id, True))
    elif answers:
        batch.ignore("user/function_response")
    else:
        batch.ignore("user/empty")


def _typed(content: Raw, parts: list[Part | str], shown: list[Raw] | None) -> tuple[Raw, Raw | None]:
    """The text that a person typed, and the text that the model got after it (files named with `@`) or instead of it (a
    command's text). Versions before 0.61 do not record the text that was `shown`.
    """
    typed = 0
    if shown is None:
        typed = next((i for i, part in enumerate(parts) if isinstance(part, Part) and begins_files(part.text)), 0)
        if not typed:
            return content, None
    if head_of(content) != b"[":
        return content, None
    elements = decode_elements(content)
    if shown is None:
        shown = elements[:typed]
    elif elements[: len(shown)] == shown:
        typed = len(shown)
    return join_array(shown), join_array(elements[typed:]) if typed < len(elements) else None


def _user_text(at: Session, body: Raw, source: Source, batch: Batch) -> None:
    head = head_of(body, 64)
    context = CONTEXT in head
    if context and at.state.cwd is None:
        found = _DIRECTORY.search(text_of(body))
        if found:
            at.facts(source, batch, None, None, [found[1].strip()])
    at.state.asking = ""
    if b'"/' in head:
        command = _COMMAND.match(text_of(body))
        if command:
            batch.events.append(SlashCommand(source, "", command[1], command[2] or None))
            return
    batch.events.append(UserText(source, "", body, source.base_id, context or LOOP in head or USER_SHELL in head))


def _late_result(at: Session, answer: FunctionResponse, index: int, source: Source, batch: Batch) -> None:
    """A result that only the next user record has, because the answer was not written again."""
    if answer.id is None or at.state.calls.get(answer.id, True):
        return
    at.state.calls[answer.id] = True
    output, failed = response_of(answer.response)
    outcome, exit_code = outcome_of(output, "error" if failed else "success", answer.name in SHELL_TOOLS)
    batch.events.append(ToolResult(source, f"-tool-{index}", answer.id, output, outcome, exit_code))

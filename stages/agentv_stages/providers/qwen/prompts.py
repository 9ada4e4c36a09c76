"""The user's lines of Qwen Code's sessions to events: separates a person's text from the program's additions.

Source: Qwen Code 0.14 to 0.24.4. The files that a prompt names with `@` follow it as parts. The text that a command
like `/init` sends to the model has a line of its own, after the command's record.
"""

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import Source, UserText
from agentv_stages.model.payload import EMPTY_STRING, join_array, text_of
from agentv_stages.providers.gemini.parts import begins_files
from agentv_stages.providers.qwen.parts import EMPTY, body_of
from agentv_stages.providers.qwen.wire import Part, Payload, SessionLine

INJECTED = frozenset(("notification", "goal_runtime", "cron"))
REMINDER = b'"<system-reminder>'


def asked_by(command: Payload) -> str | None:
    """A person's text after a command that sends a text to the model; None for a command that sends nothing."""
    return (command.rawCommand or "").strip().partition(" ")[2].strip() if command.sentToModel else None


def emit(
    line: SessionLine,
    parts: list[Part],
    command_text: str | None,
    message_id: str,
    first: int,
    source: Source,
    batch: Batch,
) -> None:
    """A line's texts and attachments. `command_text`: the words of the command that sent the text; None for a
    prompt.
    """
    typed = len(parts)
    if typed > 1:
        typed = next((i for i, part in enumerate(parts) if begins_files(part.text)), typed)
    injected = line.subtype in INJECTED
    if command_text is not None and not injected:
        injected = not parts or text_of(parts[0].text or EMPTY_STRING).strip() != command_text
    emitted = _text(parts[:typed], injected, message_id, first, source, batch)
    if _text(parts[typed:], True, message_id, first + typed, source, batch) or emitted:
        return
    batch.ignore("user/no_text")


def _text(parts: list[Part], injected: bool, message_id: str, first: int, source: Source, batch: Batch) -> bool:
    bodies = [body for body in map(body_of, parts) if body is not None]
    if not bodies:
        return False
    if len(bodies) == 1 and bytes(parts[0].text) not in EMPTY:
        body = parts[0].text
    else:
        body = join_array(bodies)
    injected = injected or bytes(body).startswith(REMINDER)
    batch.events.append(UserText(source, f"-{first}" if first else "", body, message_id, injected))
    return True

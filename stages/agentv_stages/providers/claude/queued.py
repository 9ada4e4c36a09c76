"""Prompts that a person typed while a turn ran and that the model received within that turn.

Versions before 2.1.104 log them only as queue operations: `enqueue` with the text, later `remove`, in some versions
without the text. Later versions also log an attachment, which is used instead. After `dequeue` comes an ordinary user
line; `popAll` put the texts back into the input field.

Source: Claude Code 2.0.30, 2.1.90, 2.1.330 and 2.1.332 in the terminal.
"""

from msgspec import Struct

from agentv_stages.providers.claude.versions import before

_LOGS_ATTACHMENTS = [2, 1, 104]
_MOST_WAITING = 64
_NO_PROMPT = ("<", "/")  # notices of background tasks, and commands


class Queue(Struct):
    """The texts that wait, oldest first; empty for versions that log attachments."""

    waiting: list[str] = []

    def delivered(self, operation: str, text: str | None, version: str | None) -> str | None:
        """The prompt that a queue operation gave to the model within a turn; None for any other operation."""
        if not before(version, _LOGS_ATTACHMENTS):
            return None
        waiting = self.waiting
        if operation == "enqueue":
            if len(waiting) < _MOST_WAITING:
                waiting.append(text or "")
            return None
        if operation != "remove":
            del waiting[: 1 if operation == "dequeue" else None]
            return None
        if text is None:
            alike = len({prompt.startswith(_NO_PROMPT) for prompt in waiting}) == 1
            text, waiting[:1] = waiting[0] if alike else None, []
        elif text in waiting:
            waiting.remove(text)
        return text if text and not text.startswith(_NO_PROMPT) else None

"""Claude sessions on disk by hand: prompts, answers in pieces, results; copies of them."""

from typing import Any

import msgspec

from agentv_stages.model.times import iso

FIRST_MS = 1_780_000_000_000
SESSION = "5e550000-0000-4000-8000-000000000001"
Lines = list[dict[str, Any]]


class ClaudeSession:
    """Collects the lines of a session. Records are a second apart; ids are counted."""

    def __init__(self, session: str = SESSION, first: int = 0, **ambient: Any) -> None:
        self.lines: Lines = []
        self.ambient = {"sessionId": session, "version": "2.1.200", "cwd": "/w", "gitBranch": "main", **ambient}
        self._next = first
        self._parent: str | None = None

    def line(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        number, self._next = self._next, self._next + 1
        uuid = f"0000abc0-0000-4000-8000-{number:012x}"
        time = iso(FIRST_MS + 1_000 * number + number % 1_000)
        head = {"parentUuid": self._parent, "isSidechain": False, "type": kind, "uuid": uuid, "timestamp": time}
        self.lines.append({**head, "message": message, **self.ambient, **more})
        self._parent = uuid

    def prompt(self, text: str = "Go on.") -> None:
        self.line("user", {"role": "user", "content": text})

    def piece(self, message_id: str, block: dict[str, Any], tokens: tuple[int, int] | None, **more: Any) -> None:
        """A line with a block of an answer; `tokens` are those of the prompt and of the output."""
        usage = None if tokens is None else {"input_tokens": tokens[0], "output_tokens": tokens[1]}
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        message = {"id": message_id, "role": "assistant", "model": "m", "content": [block], "stop_reason": stop}
        self.line("assistant", {**message, "usage": usage}, **more)

    def call(self, message_id: str, call_id: str, tokens: tuple[int, int] | None = (10, 20), **more: Any) -> None:
        block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": f"cat {call_id}"}}
        self.piece(message_id, block, tokens, **more)

    def result(self, call_id: str) -> None:
        self.line(
            "user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": "x"}]}
        )

    def text(self, message_id: str, text: str, tokens: tuple[int, int] | None = (10, 30), **more: Any) -> None:
        self.piece(message_id, {"type": "text", "text": text}, tokens, **more)

    def round(self, number: int) -> None:
        """A prompt, an answer with a call, its result, and an answer that ends the turn."""
        self.prompt(f"Do step {number}.")
        self.call(f"msg_{number}a", f"toolu_{number}")
        self.result(f"toolu_{number}")
        self.text(f"msg_{number}b", f"Step {number} is done.")


def encoded(lines: Lines) -> bytes:
    """One line of JSON each."""
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)

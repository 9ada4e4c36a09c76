"""Rollouts of a made-up Codex thread that was rewound, as Codex 0.169 writes them: a file for each time."""

import json
from pathlib import Path
from typing import Any

THREAD = "019f0000-0000-7000-8000-000000000001"
SECOND, THIRD = "019f0000-0010-7000-8000-000000000002", "019f0000-0020-7000-8000-000000000003"
FORK, CHILD = "019f0000-0030-7000-8000-000000000004", "019f0000-0012-7000-8000-000000000005"


class Rollout:
    """A file of a thread whose first line has the time `second` and `ordinal`."""

    def __init__(self, second: int, ordinal: int = 0, base: str | None = None, **meta: Any) -> None:
        self.second, self.ordinal = second, ordinal
        self.lines: list[bytes] = []
        if base is not None:
            meta["history_base"] = {"thread_id": base, "end_ordinal_exclusive": ordinal, "end_byte_offset": 1}
        self.line("session_meta", **{"id": THREAD, "session_id": THREAD, "cwd": "/w", "cli_version": "0.169.0"} | meta)

    def line(self, kind: str, **payload: Any) -> None:
        at = f"2026-03-01T10:{self.second // 60:02}:{self.second % 60:02}.{self.ordinal:03}Z"
        row = {"timestamp": at, "ordinal": self.ordinal, "type": kind, "payload": payload}
        self.lines.append(json.dumps(row, separators=(",", ":")).encode() + b"\n")
        self.ordinal += 1

    def _message(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        self.line("response_item", type="message", id=f"msg_{self.second}_{text}", role=role, content=content)

    def turn(self, name: str) -> "Rollout":
        """A prompt, a call, an answer: two model calls of 10 tokens in and 1 out."""
        turn, call = f"019f0000-{self.second:04}-7{self.ordinal:03}-8000-000000000009", f"call_{self.second}_{name}"
        self.line("event_msg", type="task_started", turn_id=turn)
        self._message("user", f"{name}?")
        used = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
        self.line("response_item", type="function_call", call_id=call, name="exec_command", arguments='{"cmd":"true"}')
        self.line("token_usage_record", response_id=f"{call}_1", usage=used)
        self.line("response_item", type="function_call_output", call_id=call, output="Exit code: 0\nOutput:\n")
        self._message("assistant", f"{name}.")
        self.line("token_usage_record", response_id=f"{call}_2", usage=used)
        self.line("event_msg", type="task_complete", turn_id=turn)
        return self

    def put(self, folder: Path, day: str = "2026/03/01", own: str | None = None, thread: str = THREAD) -> Path:
        """Writes it where Codex does, `own` being the id of a further file."""
        name = f"rollout-{day.replace('/', '-')}T10-{self.second // 60:02}-{self.second % 60:02}-{thread}"
        path = folder / day / f"{name}{'_' + own if own else ''}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(self.lines))
        return path


def first() -> Rollout:
    return Rollout(0).turn("One").turn("Two").turn("Three")


def second() -> Rollout:
    """The first turn stays, which ends with line 8."""
    return Rollout(10, 9, THREAD).turn("Four").turn("Five")


def third() -> Rollout:
    """Back to the very beginning: nothing is named, ordinals begin anew."""
    return Rollout(20).turn("Six")


def fork() -> Rollout:
    """A fork names its parent's history and has no copy of it."""
    return Rollout(30, 9, THIRD, id=FORK, session_id=FORK, forked_from_id=THREAD).turn("Seven")


def child() -> Rollout:
    """A sub-agent that the second file began."""
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1, "agent_nickname": "Kepler"}}}
    return Rollout(12, 0, id=CHILD, parent_thread_id=THREAD, source=source).turn("Look")


def put_all(folder: Path) -> list[Path]:
    """The thread's three files, on two days, then its sub-agent's and a fork's."""
    return [
        first().put(folder),
        second().put(folder, own=SECOND),
        third().put(folder, "2026/03/02", THIRD),
        child().put(folder, thread=CHILD),
        fork().put(folder, "2026/03/02", thread=FORK),
    ]

"""Fake agents of a few lines of Python: they print a Claude stream and exit, hang, flood, fork or ignore signals."""

import json
import os
import select
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"
MODEL = "claude-sonnet-4-5-20250929"
LONGEST_DYING_SECONDS = 30


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def init(session: str = SESSION, model: str = MODEL) -> bytes:
    return line(
        {
            "type": "system",
            "subtype": "init",
            "cwd": "/w",
            "session_id": session,
            "tools": ["Bash", "Read", "Edit"],
            "model": model,
            "claude_code_version": "2.1.0",
            "uuid": "u-init",
        }
    )


def call(number: int, name: str, args: dict[str, Any], session: str = SESSION, model: str = MODEL) -> bytes:
    """The records of an answer with one call, and of the call's result."""
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": args}
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": f"msg_{number}", "role": "assistant", "model": model, "content": [block], "usage": usage}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "ok"}
    back = {"role": "user", "content": [result]}
    return line({"type": "assistant", "message": message, "session_id": session, "uuid": f"a{number}"}) + line(
        {"type": "user", "message": back, "session_id": session, "uuid": f"u{number}"}
    )


def end(cost: float = 0.25, session: str = SESSION) -> bytes:
    usage = {"input_tokens": 100, "output_tokens": 50}
    return line(
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": "done",
            "num_turns": 3,
            "duration_ms": 1200,
            "total_cost_usd": cost,
            "usage": usage,
            "session_id": session,
            "uuid": "u-end",
        }
    )


def stream(calls: Iterable[tuple[str, dict[str, Any]]] = (), whole: bool = True, **more: Any) -> bytes:
    """A stream with these calls; `whole` False: without its end record."""
    body = b"".join(call(i, name, args, **more) for i, (name, args) in enumerate(calls))
    return init(**more) + body + (end() if whole else b"")


READ_EDIT: Sequence[tuple[str, dict[str, Any]]] = (
    ("Read", {"file_path": "a.py"}),
    ("Bash", {"command": "bobbin search x"}),
    ("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}),
)


def agent(folder: Path, code: str, data: bytes = b"") -> tuple[str, ...]:
    """The command line of a fake agent. `code` may use `say(DATA)`, `os`, `signal`, `sys`, and `note(pid)`."""
    (folder / "data.bin").write_bytes(data)
    script = folder / "agent.py"
    script.write_text(
        "import os, signal, sys, threading\n"
        f"DATA = open({str(folder / 'data.bin')!r}, 'rb').read()\n"
        "def say(data):\n"
        "    sys.stdout.buffer.write(data)\n"
        "    sys.stdout.buffer.flush()\n"
        "def note(pid):\n"
        f"    with open({str(folder / 'pids')!r}, 'a') as file:\n"
        "        file.write(f'{pid}\\n')\n"
        "def hang():\n"
        "    while True:\n"
        "        signal.pause()\n"
        "note(os.getpid())\n" + code,
        encoding="utf-8",
    )
    return (sys.executable, "-S", str(script))


def alive(folder: Path) -> list[int]:
    """The noted processes that still run; zombies do not count."""
    running: list[int] = []
    for text in (folder / "pids").read_text(encoding="ascii").split():
        try:
            state = (
                Path(f"/proc/{text}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
            )
        except OSError:
            continue
        if state not in "ZX":
            running.append(int(text))
    return running


def survivors(folder: Path) -> list[int]:
    """As `alive`, after killed processes had time to end: sending a signal returns before it is delivered."""
    for pid in alive(folder):
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            select.select([handle], [], [], LONGEST_DYING_SECONDS)
            os.close(handle)
    return alive(folder)

"""A made-up session of Kimi Code and its forks, as 2.1.0 writes them: a copy of the parent's logs, a record `forked`
behind it, and last of all `state.json`, which names the parent."""

import json
import shutil
from pathlib import Path
from typing import Any

BEGUN = 1772443800000
MINUTE = 60_000


def _bytes(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def opening(at: int = BEGUN) -> bytes:
    return _bytes(
        {"type": "metadata", "protocol_version": "1.5", "created_at": at},
        {
            "type": "profile.bind",
            "agentId": "main",
            "modelAlias": "kimi-code/bead",
            "environmentDisclosure": {"cwd": "/home/ada/slug"},
            "time": at + 1,
        },
    )


def turn(name: str, at: int) -> bytes:
    """A prompt, a call, its result, in one step of 10 tokens in and 1 out."""
    step, call = f"step-{name}-{at}", f"call-{name}-{at}"

    def event(second: int, kind: str, **more: Any) -> dict[str, Any]:
        return {
            "type": "context.append_loop_event",
            "agentId": "main",
            "event": {"type": kind, "uuid": step if kind == "step.begin" else f"{step}-{kind}-{second}", **more},
            "time": at + second * 1000,
        }

    return _bytes(
        {"type": "turn.prompt", "agentId": "main", "time": at},
        {
            "type": "context.append_message",
            "agentId": "main",
            "message": {
                "role": "user",
                "content": [{"type": "text", "text": f"{name}?"}],
                "id": f"msg-{name}-{at}",
                "origin": {"kind": "user"},
            },
            "time": at + 1,
        },
        event(1, "step.begin"),
        {"type": "llm.request", "agentId": "main", "kind": "loop", "model": "bead-2", "time": at + 1100},
        event(2, "content.part", stepUuid=step, part={"type": "text", "text": f"{name}."}),
        event(3, "tool.call", stepUuid=step, toolCallId=call, name="Bash", args={"command": "ls"}),
        event(4, "tool.result", toolCallId=call, result={"output": "a\n"}),
        {
            "type": "usage.record",
            "agentId": "main",
            "usage": {"inputOther": 10, "output": 1, "inputCacheRead": 0, "inputCacheCreation": 0},
            "usageScope": "turn",
            "time": at + 4500,
        },
        event(5, "step.end", finishReason="end_turn"),
        {"type": "turn.ended", "agentId": "main", "reason": "completed", "time": at + 5001},
    )


def wire(root: Path, session: str, agent: str = "main") -> Path:
    return root / "wd_slug_1" / session / "agents" / agent / "wire.jsonl"


def append(log: Path, data: bytes) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        file.write(data)


def put_state(root: Path, session: str, at: int, parent: str | None = None) -> None:
    state = {"id": session, "version": 2, "createdAt": at, "title": session} | (
        {"forkedFrom": parent} if parent else {}
    )
    (root / "wd_slug_1" / session / "state.json").write_text(json.dumps(state))


def begin(root: Path, session: str = "session_p") -> Path:
    """A session of two turns and a sub-agent."""
    log = wire(root, session)
    spawned = {
        "type": "subagent.spawned",
        "agentId": "main",
        "subagentId": "agent-0",
        "parentToolCallId": f"call-One-{BEGUN + MINUTE}",
        "time": BEGUN + MINUTE + 3500,
    }
    append(log, opening() + turn("One", BEGUN + MINUTE) + _bytes(spawned) + turn("Two", BEGUN + 2 * MINUTE))
    append(wire(root, session, "agent-0"), opening(BEGUN + MINUTE) + turn("Look", BEGUN + MINUTE + 4000))
    put_state(root, session, BEGUN - 100)
    return log


def copy(root: Path, parent: str, session: str) -> list[Path]:
    """The first thing that a fork does."""
    logs = sorted((root / "wd_slug_1" / parent / "agents").glob("*/wire.jsonl"))
    for log in logs:
        wire(root, session, log.parent.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, wire(root, session, log.parent.name))
    return [wire(root, session, log.parent.name) for log in logs]


def mark(root: Path, session: str, at: int) -> None:
    """The second."""
    for log in sorted((root / "wd_slug_1" / session / "agents").glob("*/wire.jsonl")):
        append(log, _bytes({"type": "forked", "agentId": log.parent.name, "time": at}))


def fork(root: Path, parent: str, session: str, at: int) -> Path:
    """The whole of it."""
    copy(root, parent, session)
    mark(root, session, at)
    put_state(root, session, at + 45, parent)
    return wire(root, session)

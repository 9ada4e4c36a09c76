"""Small Claude sessions made for tests of bulk work, with calls, failures, sub-agents."""

import hashlib
import json
from pathlib import Path
from typing import Any

TOOLS = ("Read", "Bash", "Edit", "Grep")


def claude_session(number: int, calls: int, *, day: int = 1, broken: bool = False) -> bytes:
    """A session on disk. Every third call fails; call 2 is an edit."""
    session = session_id(number)
    lines = [_user(session, number, 0, f"task {number}: größer <b>&\x1b[31m", day)]
    for i in range(calls):
        tool = TOOLS[(number + i) % len(TOOLS)]
        given: dict[str, Any] = {"command": f"make test-{i % 3}"} if tool == "Bash" else {"file_path": f"/w/{i}.py"}
        block = {"type": "tool_use", "id": f"toolu_{number}_{i}", "name": tool, "input": given}
        lines.append(_assistant(session, number, i, [block], day))
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": f"toolu_{number}_{i}", "content": f"out {i}"}
        if i % 3 == 2:
            result["is_error"] = True
        lines.append(_user(session, number, i + 1, [result], day))
    lines.append(_assistant(session, number, calls, [{"type": "text", "text": "done"}], day))
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return data + b'{"type":"assistant","mess' if broken else data


def session_id(number: int) -> str:
    digest = hashlib.md5(str(number).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _common(session: str, number: int, step: int, kind: str, day: int) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"{kind}-{number}-{step}",
        "parentUuid": None,
        "sessionId": session,
        "isSidechain": False,
        "cwd": f"/repo/p{number % 3}",
        "version": "2.1.197",
        "timestamp": f"2026-03-{day:02d}T10:{step // 60 % 60:02d}:{step % 60:02d}.{number % 1000:03d}Z",
    }


def _user(session: str, number: int, step: int, content: Any, day: int) -> dict[str, Any]:
    return {**_common(session, number, step, "user", day), "message": {"role": "user", "content": content}}


def _assistant(session: str, number: int, step: int, content: list[Any], day: int) -> dict[str, Any]:
    message = {
        "id": f"msg_{number}_{step}",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": content,
        "stop_reason": "end_turn" if content[0]["type"] == "text" else "tool_use",
        "usage": {"input_tokens": 10 + step, "cache_read_input_tokens": 100, "output_tokens": 7},
    }
    return {**_common(session, number, step, "assistant", day), "message": message}


def make_folder(root: Path, sessions: int = 12) -> list[Path]:
    """A folder of sessions in three projects on three days; sizes differ, one has a sub-agent, one ends torn."""
    paths: list[Path] = []
    for number in range(sessions):
        folder = root / f"-work-p{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{session_id(number)}.jsonl"
        calls = 3 + (number * 7) % 20
        path.write_bytes(claude_session(number, calls, day=1 + number % 3, broken=number == 5))
        paths.append(path)
    if sessions:
        agents = paths[0].with_suffix("") / "subagents"
        agents.mkdir(parents=True)
        agent = claude_session(0, 4).replace(b'"isSidechain": false', b'"isSidechain": true, "agentId": "abc123"')
        (agents / "agent-abc123.jsonl").write_bytes(agent.replace(b"_0_", b"_900_").replace(b"-0-", b"-900-"))
    return paths


def tree(root: Path) -> dict[str, bytes]:
    """Every output below a folder, without the state of the import, which knows who did what when."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in found
        if not any(part == "_state" or part.endswith(".state") for part in path.parts)
    }

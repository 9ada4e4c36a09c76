"""Codex threads that begin with a copy of their parent's history, written with any delays, with and without ids."""

from itertools import chain
from typing import Any

from agentv_stages.model.times import iso_bytes

PARENT, FORK = "019f0000-0000-7000-8000-000000000001", "019f0100-0000-7000-8000-000000000002"
BEGUN = 1_780_000_000_000
Row = dict[str, Any]


def row(kind: str, **payload: Any) -> Row:
    return {"timestamp": "", "type": kind, "payload": payload}


def counted(total: int) -> Row:
    tokens = {"input_tokens": total, "output_tokens": 0, "total_tokens": total}
    last = {"input_tokens": 100, "output_tokens": 0, "total_tokens": 100}
    return row("event_msg", type="token_count", info={"total_token_usage": tokens, "last_token_usage": last})


def turn(name: str, turn_id: str | None, total: int) -> list[Row]:
    """One turn with a call; without a turn id as versions before 0.9x wrote it."""
    ids = {} if turn_id is None else {"turn_id": turn_id}

    def said(role: str, text: str) -> Row:
        return row("response_item", type="message", role=role, content=[{"type": "text", "text": text}])

    begun = [row("event_msg", type="task_started", **ids)] if turn_id else []
    ended = [row("event_msg", type="task_complete", last_agent_message=f"did {name}", **ids)] if turn_id else []
    return [
        *begun,
        said("user", f"do {name}"),
        row("event_msg", type="user_message", message=f"do {name}"),
        row("turn_context", model="m-1", **ids),
        row("response_item", type="function_call", name="exec_command", arguments='{"cmd":"ls"}', call_id=f"c-{name}"),
        counted(total),
        row("response_item", type="function_call_output", call_id=f"c-{name}", output="Exit code: 0\nok"),
        said("assistant", f"did {name}"),
        counted(total + 100),
        *ended,
    ]


def timed(rows: list[Row], delays: list[int]) -> list[Row]:
    """The rows with times, each later by its delay (milliseconds); the delays repeat."""
    now, out = BEGUN, list[Row]()
    for i, one in enumerate(rows):
        now += delays[i % len(delays)] if i else 0
        out.append({**one, "timestamp": iso_bytes(now).decode()})
    return out


def turn_id(thread: str, n: int) -> str:
    return f"{thread[:9]}{n:04x}{thread[13:]}"


def history(turns: int, *, ids: bool) -> list[Row]:
    made = (turn(f"old {n}", turn_id(PARENT, n + 1) if ids else None, 200 * n + 100) for n in range(turns))
    return [row("session_meta", id=PARENT, cli_version="0.140.0" if ids else "0.80.0"), *chain.from_iterable(made)]


def forked(copied: list[Row], delays: list[int], *, ids: bool, spawned: bool) -> list[Row]:
    version = "0.140.0" if ids else "0.80.0"
    kin: Row = {"forked_from_id": PARENT}
    if spawned:
        kin = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}}
    spent = sum(one["payload"].get("type") == "token_count" for one in copied) * 100
    own = turn("new", turn_id(FORK, 9) if ids else None, spent + 100)
    return timed([row("session_meta", id=FORK, cli_version=version, **kin), *copied, *own], delays)

"""Notifications of `codex app-server`, as tests write them."""

from typing import Any

from agentv_stages.providers.codex import PROVIDER
from support.decoding import dialect

SERVER = dialect(PROVIDER, "codex-app-server")


def note(method: str, thread: str = "t-1", **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": thread, "turnId": "u", **params}}


def item(event: str, kind: str, number: int = 0, thread: str = "t-1", **more: Any) -> dict[str, Any]:
    time = {"startedAtMs": 1000} if event == "started" else {"completedAtMs": 2000}
    return note(f"item/{event}", thread, item={"type": kind, "id": f"i{number}", **more}, **time)


def started() -> list[dict[str, Any]]:
    thread = {"id": "t-1", "cwd": "/w", "cliVersion": "0.142.5", "parentThreadId": None}
    return [
        {"id": 1, "result": {"userAgent": "x", "codexHome": "/h"}},
        {"id": 2, "result": {"thread": thread, "model": "m-1"}},
        {"method": "thread/started", "params": {"thread": thread}},
        item("completed", "userMessage", 9, content=[{"type": "text", "text": "Go."}]),
    ]


def used(total: int, last: int) -> dict[str, Any]:
    def tokens(n: int) -> dict[str, int]:
        return {"totalTokens": n, "inputTokens": n - 1, "cachedInputTokens": 0, "outputTokens": 1}

    return note("thread/tokenUsage/updated", tokenUsage={"total": tokens(total), "last": tokens(last)})


def ended(status: str = "completed", **more: Any) -> dict[str, Any]:
    return note("turn/completed", turn={"id": "u", "status": status, "durationMs": 12, **more})

"""Lines of a Claude session on disk, made by hand, and what is told of them."""

from typing import Any

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent
from agentv_stages.model.provider import DecodeContext
from agentv_stages.providers.claude import PROVIDER
from support.decoding import dialect, lines, pushed

DISK = dialect(PROVIDER, "claude-session")


def line(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": f"u-{kind}", "parentUuid": None, "isSidechain": False, "sessionId": "s",
            "version": "2.1.300", "cwd": "/w", "timestamp": "2026-03-01T10:00:00.000Z", **members}  # fmt: skip


def answer(*blocks: Any, own: str = "msg_1", stop: str | None = None, used: int | None = None, **more: Any) -> Any:
    message: dict[str, Any] = {"id": own, "model": "claude-x", "content": list(blocks), "stop_reason": stop}
    if used is not None:
        message["usage"] = {"input_tokens": 10, "output_tokens": used}
    return line("assistant", message=message, **more)


def user(content: Any, **more: Any) -> dict[str, Any]:
    return line("user", message={"role": "user", "content": content}, **more)


def tell(*values: Any, context: DecodeContext | None = None) -> Batch:
    batch = pushed(DISK, lines(*values), context)
    assert (batch.unknown, batch.faults) == ({}, [])
    return batch


def only(batch: Batch, kind: type[AnyEvent]) -> Any:
    (event,) = [e for e in batch.events if isinstance(e, kind)]
    return event

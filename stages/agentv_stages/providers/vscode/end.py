"""How a request of a VS Code chat ended, and when.

Source: VS Code 1.9x (`isCanceled`, `result`) to 1.10x (`modelState`, `elapsedMs`).
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.providers.vscode.wire import Request

COMPLETE, CANCELLED, FAILED = 1, 2, 3
_ENDED = (COMPLETE, CANCELLED, FAILED)


def state_of(request: Request) -> int | str | None:
    return request.modelState.value if request.modelState is not None else None


def cancelled(request: Request) -> bool:
    return bool(request.isCanceled) or state_of(request) == CANCELLED


def has_ended(request: Request) -> bool:
    """Whether the request says that its answer is complete, or that no more will come."""
    return request.result is not None or cancelled(request) or state_of(request) in (COMPLETE, FAILED)


def may_have_ended(members: Mapping[str, Any]) -> bool:
    """As `has_ended`, for a request as it is in the log, without decoding all of it; False is certain. Every line that
    adds to an answer asks this, and decoding each time would take quadratic time.
    """
    state: Any = members.get("modelState")
    value: Any = state.get("value") if isinstance(state, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    return members.get("result") is not None or bool(members.get("isCanceled")) or value in _ENDED


def duration_of(request: Request) -> int | None:
    """The duration that VS Code measured, or the time from the prompt to the end."""
    timings = request.result.timings if request.result is not None else None
    took = timings.totalElapsed if timings is not None else None
    took = took if took is not None else request.elapsedMs
    end = request.modelState.completedAt if request.modelState is not None else None
    if took is None and end is not None and request.timestamp is not None:
        took = end - request.timestamp
    return round(took) if took is not None and 0 <= took < 1e15 else None

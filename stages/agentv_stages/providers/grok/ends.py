"""Ends of Grok's runs and turns, and its compactions. In: the agent's words. Out: status and reason.

Source: Grok Build 0.1.220 to 1.0.41, recorded ends of all kinds and the user guide.
"""

from msgspec import Struct
from msgspec.json import Decoder

from agentv_stages.chain.pruning import REFUSED
from agentv_stages.model.event import Notification, Source, Status

MAX_TURNS = "max_turns_reached"
COMPACTION = "auto_compact_"
_GOOD = frozenset(("end_turn", "stop_sequence", "EndTurn"))
_CANCELLED = frozenset(("cancelled", "Cancelled"))
_WRAPPED = "Internal error: "


class _Failure(Struct, gc=False):
    message: str


_decode = Decoder(_Failure | str).decode


def ended(stop_reason: str, cancelled_by: str | None, failure: str | None) -> tuple[Status, str | None]:
    """The status and reason of a turn, from its stop reason, which 0.1 writes in camel case. `cancelled_by` is the
    cause of a cancellation, `failure` the error message.
    """
    if stop_reason in _GOOD:
        return "complete", None
    if stop_reason in _CANCELLED:
        return "error" if cancelled_by == MAX_TURNS else "interrupted", cancelled_by or "cancelled"
    return ("error", failure or stop_reason) if stop_reason or failure else ("unknown", None)


def reason_of(message: str | None) -> str | None:
    """An error's message, without the JSON in which Grok wraps some."""
    if message and message.startswith(_WRAPPED):
        try:
            value = _decode(message[len(_WRAPPED) :].encode())
            return value if isinstance(value, str) else value.message
        except (*REFUSED, UnicodeEncodeError):
            return message
    return message


def compaction(source: Source, kind: str, text: str | None) -> Notification:
    """For an `auto_compact_…` record; a completed one gets the name that all agents share."""
    if kind == "auto_compact_completed":
        return Notification(source, "", "compact_boundary", text or "")
    return Notification(source, "", kind, text or "", "warning" if kind == "auto_compact_failed" else "info")

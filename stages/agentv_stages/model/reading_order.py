"""Messages in the order in which a person reads them. In: where each message comes from. Out: the order, and turns.

A sub-agent's messages come at their place in time, wherever its log stands. A message without a time comes after the
one before it in the log.
"""

from collections.abc import Iterable

from msgspec import Struct

from agentv_stages.model.event import MAIN
from agentv_stages.model.message import Message

_UNDATED = -(1 << 62)


class Spot(Struct, frozen=True, gc=False):
    """The facts that decide a message's order. `turn` is the turn at this place once it comes from `reading_order`."""

    index: int
    stream: str
    role: str
    time_ms: int | None
    turn: int | None


def spot_of(message: Message) -> Spot:
    return Spot(message.index, message.source.stream, message.role, message.source.time_ms, message.turn)


def reading_order(spots: Iterable[Spot]) -> list[Spot]:
    """The spots in order. A user's text belongs to the turn that answers it; what else has no turn of its own, such as
    the messages of a sub-agent, to the turn during which it came. Before the first turn that is turn 1."""
    last = _UNDATED
    latest: dict[str, int] = {}
    dated: list[tuple[int, int, Spot]] = []
    for spot in sorted(spots, key=lambda spot: spot.index):
        last = spot.time_ms if spot.time_ms is not None else last
        latest[spot.stream] = last = max(last, latest.get(spot.stream, _UNDATED))
        dated.append((last, spot.index, spot))
    placed: list[Spot] = []
    turn = 0
    for _, _, spot in sorted(dated, key=lambda entry: entry[:2]):
        if spot.turn is not None:
            turn = spot.turn
        answered = turn + 1 if spot.stream == MAIN and spot.role == "user" else max(turn, 1)
        placed.append(Spot(spot.index, spot.stream, spot.role, spot.time_ms, spot.turn or answered))
    most = max(turn, 1)
    return [p if p.turn is None or p.turn <= most else Spot(p.index, p.stream, p.role, p.time_ms, most) for p in placed]

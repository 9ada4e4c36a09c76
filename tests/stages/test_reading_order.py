"""The order in which a person reads messages: each stream's own order, sub-agents at their place in time."""

from hypothesis import given
from hypothesis import strategies as st

from agentv_stages.model.event import MAIN
from agentv_stages.model.reading_order import Spot, reading_order

SPOTS = st.lists(
    st.tuples(
        st.sampled_from([MAIN, MAIN, "sidechain:a", "sidechain:b"]),
        st.sampled_from(["user", "assistant", "tool"]),
        st.none() | st.integers(0, 50),
    ),
    max_size=30,
)


def spots_of(rows: list[tuple[str, str, int | None]]) -> list[Spot]:
    turn, found = 0, list[Spot]()
    for n, (stream, role, time_ms) in enumerate(rows):
        counts = stream == MAIN and role == "assistant"
        turn += counts
        found.append(Spot(n, stream, role, time_ms, turn if counts else None))
    return found


@given(SPOTS)
def test_each_stream_keeps_its_order_and_every_message_has_a_turn(rows: list[tuple[str, str, int | None]]) -> None:
    spots = spots_of(rows)
    placed = reading_order(reversed(spots))
    assert sorted(spot.index for spot in placed) == list(range(len(spots)))
    for stream in {spot.stream for spot in spots}:
        own = [spot.index for spot in placed if spot.stream == stream]
        assert own == sorted(own)
    most = max((spot.turn for spot in spots if spot.turn is not None), default=1)
    assert all(spot.turn is not None and 1 <= spot.turn <= most for spot in placed)
    assert all(
        placed_spot.turn == spots[placed_spot.index].turn or spots[placed_spot.index].turn is None
        for placed_spot in placed
    )


@given(SPOTS)
def test_without_times_the_order_is_that_of_the_log(rows: list[tuple[str, str, int | None]]) -> None:
    spots = spots_of([(stream, role, None) for stream, role, _ in rows])
    assert [spot.index for spot in reading_order(spots)] == list(range(len(spots)))


def test_a_sub_agent_whose_log_comes_last_stands_where_it_ran() -> None:
    spots = [
        Spot(0, MAIN, "user", 0, None),
        Spot(1, MAIN, "assistant", 10, 1),
        Spot(2, MAIN, "assistant", 40, 2),
        Spot(3, MAIN, "user", 50, None),
        Spot(4, "sidechain:a", "user", 11, None),
        Spot(5, "sidechain:a", "assistant", None, None),
    ]
    placed = reading_order(spots)
    assert [(spot.index, spot.turn) for spot in placed] == [(0, 1), (1, 1), (4, 1), (5, 1), (2, 2), (3, 2)]

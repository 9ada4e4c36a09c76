"""The bounded memory: what was put lately is there, the size is bounded, a snapshot goes on as the original."""

from hypothesis import example, given
from hypothesis import strategies as st

from agentv_stages.model.recent import Recent, remember


def test_what_was_put_lately_is_remembered_and_the_size_is_bounded() -> None:
    recent = Recent[int](10)
    for n in range(1000):
        recent.put(str(n), n)
        assert all(recent.get(str(m)) == m for m in range(max(0, n - 9), n + 1))
        assert len(recent.items()) <= 20


def test_it_does_not_grow_by_being_put_back_again_and_again() -> None:
    recent = Recent[int](10)
    for n in range(200):
        recent.put(str(n), n)
        again = Recent[int](10)
        again.load(recent.items())
        recent = again
        assert all(recent.get(str(m)) == m for m in range(max(0, n - 9), n + 1))
        assert len(recent.items()) <= 20


@example([1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 5, 0], 11)  # one is put again before it is written down
@given(st.lists(st.integers(0, 12), max_size=60), st.integers(0, 60))
def test_a_restored_memory_remembers_no_less_than_its_size(keys: list[int], cut: int) -> None:
    first = Recent[int](5)
    for key in keys[:cut]:
        first.put(str(key), key)
    second = Recent[int](5)
    second.load(first.items())
    for key in keys[cut:]:
        second.put(str(key), key)
    for key in keys[-5:]:
        assert second.get(str(key)) == key


def test_in_a_full_table_a_new_key_takes_the_place_of_the_oldest_and_a_known_one_of_none() -> None:
    table: dict[str, int] = {}
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("b", 4)):
        assert remember(table, key, value, 2) == value
    assert table == {"a": 3, "b": 4}
    remember(table, "c", 5, 2)
    assert table == {"b": 4, "c": 5}

"""Exceptions taken out of groups."""

from agentv_stream.live.exception_groups import alone, leaves


def test_leaves_are_in_order_at_any_depth() -> None:
    one, two, three = OSError("1"), ValueError("2"), KeyError("3")
    nested = ExceptionGroup("", [two, ExceptionGroup("", [three])])
    assert leaves(ExceptionGroup("", [one, nested])) == [one, two, three]


def test_only_an_exception_without_others_is_unwrapped() -> None:
    one = ExceptionGroup("of two", [OSError("1"), ValueError("2")])
    assert alone(ExceptionGroup("", [ExceptionGroup("", [one])])) is one
    assert alone(one) is one
    error = OSError("1")
    assert alone(ExceptionGroup("", [ExceptionGroup("", [error])])) is error

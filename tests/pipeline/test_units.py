"""Durations and sizes as people write them."""

import pytest

from agentv_stream.units import bytes_of, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1.5h", 5400), (" 2 d ", 172800), ("1w", 604800)]
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("64K", 65536), ("64M", 67108864), ("1.5GB", 1610612736), ("1 TiB", 1 << 40)]
)
def test_sizes(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "m", "-1", "1e9", "10 minutes", "10M", "nan"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="like 10m"):
        seconds_of(text)


@pytest.mark.parametrize("text", ["", "M", "-1", "64X", "64m", "0x10"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="like 64M"):
        bytes_of(text)

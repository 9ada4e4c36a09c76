"""Durations and sizes as people write them."""

import pytest

from agentv_stream.units import age_text, bytes_of, count_text, is_duration, is_size, seconds_of, size_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        (".5", 0.5),
        ("10.", 10),
        ("90s", 90),
        ("10m", 600),
        ("1.5h", 5400),
        (" 2 d ", 172800),
        ("1w", 604800),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("64K", 65536), ("64M", 67108864), ("1.5GB", 1610612736), ("1 TiB", 1 << 40)]
)
def test_sizes(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize(
    ("text", "keeps"), [("30d", True), (" 5G ", True), ("1.5h", True), ("5", False), ("5B", False), ("d", False)]
)
def test_what_names_its_unit_is_an_age_or_a_size(text: str, keeps: bool) -> None:
    assert (is_duration(text) or is_size(text)) is keeps


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.5, "0s"), (59, "59s"), (60, "1m"), (7200, "2h"), (86_400_000, "2y"), (86_399_999, "999d")]
)
def test_ages(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


@pytest.mark.parametrize("text", ["", "m", "-1", "1e9", "10 minutes", "10M", "nan", "9" * 400])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="like 10m"):
        seconds_of(text)


@pytest.mark.parametrize("text", ["", "M", "-1", "64X", "64m", "0x10", "9" * 400])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="like 64M"):
        bytes_of(text)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        *((None, "?"), (0, "0"), (999, "999"), (1000, "1.0k"), (1049, "1.0k"), (1050, "1.1k"), (99_949, "99.9k")),
        *((99_950, "100k"), (115_149, "115k"), (999_499, "999k"), (999_500, "1.0M"), (13_980_097, "14.0M")),
        *((5 * 10**9, "5.0G"), (10**15 - 1, ">999T"), (10**400, ">999T"), (-7, "-7")),
    ],
)
def test_counts_are_rounded_not_cut(count: int | None, text: str) -> None:
    assert count_text(count) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "-"), (999, "999B"), (1000, "1.0K"), (10_189, "10.0K"), (1 << 20, "1.0M"), (1 << 40, "1.0T")]
)
def test_sizes_are_rounded_not_cut(size: int, text: str) -> None:
    assert size_text(size) == text

"""Durations, sizes and counts as people write them: `90`, `10m`, `64M`, `1.2k`."""

import re

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_COUNTS = (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12))
_SIZES = (("B", 1), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40))
_NUMBER = r"\s*(\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})\s*"
_DURATION = re.compile(_NUMBER + r"([smhdw]?)\s*")
_SIZE = re.compile(_NUMBER + r"([KMGT]?)(?:i?B)?\s*")


def seconds_of(text: str) -> float:
    """`90`, `90s`, `10m`, `2h`, `7d`, `2w` in seconds. Raises: ValueError."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("expected a number with s, m, h, d or w, like 10m")
    return float(match[1]) * _SECONDS[match[2]]


def bytes_of(text: str) -> int:
    """`67108864`, `64K`, `64M`, `5G`, `5GB`, `1T` in bytes; powers of 1,024. Raises: ValueError."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError("expected a number of bytes, or one with K, M, G or T, like 64M")
    return int(float(match[1]) * _BYTES[match[2]])


def is_duration(text: str) -> bool:
    """Whether a text is a duration with a unit; a bare number might be anything."""
    return _names_unit(_DURATION, text)


def is_size(text: str) -> bool:
    """Whether a text is a size ending in K, M, G or T."""
    return _names_unit(_SIZE, text)


def _names_unit(form: re.Pattern[str], text: str) -> bool:
    match = form.fullmatch(text)
    return match is not None and match[2] != ""


def age_text(seconds: float) -> str:
    """An age in at most four characters; years of 365 days."""
    if seconds >= 1000 * _SECONDS["d"]:
        return f"{int(seconds // (365 * _SECONDS['d']))}y"
    unit = next((unit for unit in "dhm" if seconds >= _SECONDS[unit]), "s")
    return f"{int(seconds // _SECONDS[unit])}{unit}"


def count_text(n: int | None) -> str:
    """A count in at most five characters, rounded: 13,980,097 is `14.0M`."""
    return "?" if n is None else _rounded(n, _COUNTS)


def size_text(n: int) -> str:
    """Bytes in at most five characters, rounded, in powers of 1,024; `-` for none."""
    return _rounded(n, _SIZES) if n else "-"


def _rounded(n: int, units: tuple[tuple[str, int], ...]) -> str:
    """In whole numbers: a log can claim any, and a float has no room for it."""
    if n < 1000:
        return f"{n}{units[0][0]}"
    for unit, length in units[1:]:
        tenths = (10 * n + length // 2) // length
        if tenths < 1000:
            return f"{tenths // 10}.{tenths % 10}{unit}"
        whole = (n + length // 2) // length
        if whole < 1000:
            return f"{whole}{unit}"
    return f">999{units[-1][0]}"

"""Compares Claude Code versions as its logs write them: `2.1.330`."""


def _numbers(version: str | None) -> list[int]:
    parts = (version or "").split(".")
    return [*map(int, parts)] if all(map(str.isdigit, parts)) else []


def since(version: str | None, first: list[int]) -> bool:
    """Whether a version is `first` or later; False if it is unknown."""
    return _numbers(version) >= first


def before(version: str | None, first: list[int]) -> bool:
    """Whether a version is earlier than `first`; False if it is unknown."""
    numbers = _numbers(version)
    return bool(numbers) and numbers < first

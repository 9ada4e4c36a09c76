"""Whose a transcript file is, by its first row."""

from pathlib import Path

import msgspec


class _Head(msgspec.Struct):
    """What tells whose transcript a row is of."""

    source: dict[str, object]


def _source(path: Path) -> dict[str, object]:
    """The `source` of a transcript's first row; empty for what is no transcript."""
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.readline(64 * 1024 * 1024), type=_Head).source
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def is_of_session(path: Path, session_id: str) -> bool:
    """Whether a transcript is one of ours, of that session."""
    return _source(path).get("session_id") == session_id


def log_of(path: Path, session_id: str) -> str:
    """The log that a transcript of that session was made of; empty for one of another session, or none."""
    source = _source(path)
    return str(source.get("path", "")) if source.get("session_id") == session_id else ""

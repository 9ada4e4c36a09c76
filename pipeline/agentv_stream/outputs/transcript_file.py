"""Which session a transcript file belongs to, by its first row."""

from pathlib import Path

import msgspec

from agentv_stream.sources.files import is_file


class _Head(msgspec.Struct):
    """The part of a row that identifies the session."""

    source: dict[str, object]


def _source(path: Path) -> dict[str, object]:
    """The `source` of a transcript's first row; empty for a file that is not a transcript."""
    if not is_file(path):  # opening a pipe would wait for its writer
        return {}
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.readline(64 * 1024 * 1024), type=_Head).source
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def is_of_session(path: Path, session_id: str) -> bool:
    """Whether a file is a transcript of ours of that session."""
    return _source(path).get("session_id") == session_id


def log_of(path: Path, session_id: str) -> str:
    """The log from which a transcript of that session was made; empty if it is of another session or is none."""
    source = _source(path)
    return str(source.get("path", "")) if source.get("session_id") == session_id else ""

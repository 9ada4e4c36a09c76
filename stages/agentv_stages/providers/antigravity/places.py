"""The place of a session's transcript: `<root>/brain/<session id>/.system_generated/logs/transcript.jsonl`."""

import re

SHORT = "transcript.jsonl"
FULL = "transcript_full.jsonl"
"""The transcript with nothing cut, where a version writes one."""
LOGS = ".system_generated/logs"
_PLACE = re.compile(r"(?:(.*)/)?([^/]+)/\.system_generated/logs/(transcript(?:_full)?\.jsonl)(?:\.gz|\.zst)?\Z")


def parts_of(path: str) -> tuple[str, str, str] | None:
    """The folder of all sessions (with a slash, or empty), the session's id and the name of the file."""
    found = _PLACE.match(path.replace("\\", "/"))
    return None if found is None else (f"{found[1]}/" if found[1] is not None else "", found[2], found[3])


def session_of(path: str) -> str | None:
    """The session id in the path of a transcript; None for a file that lies elsewhere."""
    parts = parts_of(path)
    return None if parts is None else parts[1]

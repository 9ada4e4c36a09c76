"""Names and places of outputs: `.agentv/logs/<provider>/<start time>_<target>_<case>.transcript.jsonl`.

Every part is untrusted, the agent's session id too: it may contain separators, `..`, control characters.
"""

import errno
import os
import re
from datetime import UTC, datetime
from pathlib import Path

from agentv_stages.model.times import iso, nearest_date_ms
from agentv_stages.sinks.suffixes import LETTERS as LETTERS
from agentv_stages.sinks.suffixes import RAW_LOG as RAW_LOG
from agentv_stages.sinks.suffixes import SUMMARY_LOG as SUMMARY_LOG
from agentv_stages.sinks.suffixes import TRACE as TRACE
from agentv_stages.sinks.suffixes import TRANSCRIPT as TRANSCRIPT
from agentv_stream.outputs.durable import sync_path

DEFAULT_ROOT = Path(".agentv")
RESULT, CASE = ".result.json", ".case.jsonl"
TRAJECTORY = ".trajectory.json"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
MOST_PART = 80
_SEPARATED = str.maketrans(":.", "--")


def safe_part(text: str) -> str:
    """`text` as one part of a file name: letters, digits, `.`, `_`, `-`; never empty, never hidden, at most 80 long."""
    cleaned = _UNSAFE.sub("-", text)[:MOST_PART].strip(".-")
    return cleaned or "unnamed"


def stem(started_ms: int, target: str, case: str, attempt: int | None = None) -> str:
    """The common beginning of a session's output names; the time is UTC."""
    when = iso(nearest_date_ms(started_ms)).translate(_SEPARATED)
    tail = f"_{attempt}" if attempt is not None else ""
    return f"{when}_{safe_part(target)}_{safe_part(case)}{tail}"


def stem_start(name: str) -> int | None:
    """The time (UTC ms) at the beginning of an output's name; None if there is none."""
    try:
        when = datetime.strptime(name.partition("_")[0], "%Y-%m-%dT%H-%M-%S-%fZ").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(when.timestamp()) * 1000 + when.microsecond // 1000


def log_folder(out: Path | None, provider: str) -> Path:
    """The folder for a provider's transcripts: `out` if given, else `.agentv/logs/<provider>` in the current folder."""
    return out if out is not None else DEFAULT_ROOT / "logs" / safe_part(provider)


def prepare_folder(folder: Path) -> None:
    """Creates the folder, and those above it, for this user only; a new `.agentv` gets a `.gitignore`, because it is in
    the agent's own workspace.

    Raises: OSError.
    """
    root = next((p for p in (folder, *folder.parents) if p.name == DEFAULT_ROOT.name), None)
    fresh = root is not None and not root.exists()
    try:
        _make_private(folder)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from error
    if fresh and root is not None:
        ignore = root / ".gitignore"
        ignore.write_text("*\n", encoding="ascii")


def _make_private(folder: Path) -> None:
    """`Path.mkdir` gives the folders above it the umask's mode: others could then put theirs in their place."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
        return
    except FileNotFoundError:
        if folder.parent == folder:
            raise
        _make_private(folder.parent)
        folder.mkdir(exist_ok=True, mode=0o700)
    sync_path(folder.parent)


def blob_folder(letters: Path) -> Path:
    """The folder beside a file of dead letters for data that cannot be stored in a line."""
    return letters.with_name(letters.name.removesuffix(LETTERS) + ".dead")


def free_name(folder: Path, name: str, suffix: str) -> Path:
    """`name` + `suffix` in `folder`, with `-2`, `-3`… before the suffix if that exists."""
    path = folder / f"{name}{suffix}"
    n = 2
    while os.path.lexists(path):
        path = folder / f"{name}-{n}{suffix}"
        n += 1
    return path


def temporary_name(path: Path) -> Path:
    """A hidden name beside a file, for its later replacement. Random: no program can put a link there before, and the
    files of a killed process are not in the way of another with its id, as in containers."""
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")

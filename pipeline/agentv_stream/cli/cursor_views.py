"""Shows cursors as text, and forgets them."""

import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec

from agentv_stages.model.payload import printable_path
from agentv_stages.model.times import iso
from agentv_stages.model.visible import padded, visible
from agentv_stream.colour import palette
from agentv_stream.errors import UsageError
from agentv_stream.following.cursor_database import FILE, CursorError, state_folder
from agentv_stream.following.cursors import CursorStore, SessionRow


def _open(state: Path | None, consumer: str = "", read_only: bool = True) -> CursorStore:
    folder = state or state_folder()
    if not _has_cursors(folder):
        raise CursorError(f"no cursors in {folder}")
    return CursorStore(folder, consumer, read_only=read_only)


def _has_cursors(folder: Path) -> bool:
    """Raises: CursorError if that cannot be determined."""
    try:
        (folder / FILE).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise CursorError(f"cannot use the cursors in {folder}: {error.strerror}") from error
    return True


def _find(store: CursorStore, name: str) -> list[SessionRow]:
    path = str(Path(name).absolute())
    rows = store.sessions(every_consumer=True)
    found = [r for r in rows if (r.native or "").startswith(name) or r.main == path or str(r.id) == name]
    if not found:
        raise CursorError(f"no cursor of a session {name!r}; `agentv-stream cursors list` shows them")
    return found


def cursor_lines(state: Path | None, as_json: bool) -> str:
    """One line per session. Raises: CursorError for a folder without cursors, if it was given."""
    if state is None and not _has_cursors(state_folder()):
        return "" if as_json else "no cursors\n"
    store = _open(state)
    try:
        lines: list[str] = []
        consumers = store.consumers()
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        paint = palette(sys.stdout)
        for row in store.sessions(every_consumer=True):
            facts = _facts(row, consumers)
            if as_json:
                lines.append(msgspec.json.encode(facts).decode())
                continue
            state_of = ",".join(sorted({source.state for source in row.inputs}))
            files = f"{len(row.inputs)} file{'' if len(row.inputs) == 1 else 's'}"
            head = f"{row.id:>6} {row.provider or '?':8} {padded(row.native or '?', 36)} {state_of:8} "
            rest = (
                f"{sum(source.mark.offset for source in row.inputs):>12} bytes in {files}  "
                f"{facts['committed_at']}  {visible(row.main, 120)}  [{visible(str(facts['consumer']), 60)}]"
            )
            line = visible(head + rest, width)
            lines.append(line[: len(head)] + paint("dim", line[len(head) :]))
        if not lines:
            return "" if as_json else "no cursors\n"
        return "\n".join(lines) + "\n"
    finally:
        store.close()


def _facts(row: SessionRow, consumers: dict[int, str]) -> dict[str, Any]:
    return {
        "id": row.id,
        "consumer": printable_path(consumers.get(row.id, "")),
        "session_id": row.native,
        "provider": row.provider,
        "dialect": row.dialect,
        "path": printable_path(row.main),
        "settled": row.settled,
        "committed_at": iso(row.committed_ms),
        "inputs": [
            {
                "path": printable_path(source.path),
                "state": source.state,
                "generation": source.generation,
                "offset": source.mark.offset,
                "row": source.mark.row,
                "skipped": source.skipped,
                "device": source.signature.device if source.signature else None,
                "inode": source.signature.inode if source.signature else None,
                "size": source.signature.size if source.signature else None,
                "stream": source.context.stream,
            }
            for source in row.inputs
        ],
    }


def cursor_details(state: Path | None, name: str) -> str:
    """Everything stored about the matching sessions. Raises: CursorError, UsageError."""
    store = _open(state)
    try:
        out: list[str] = []
        for row in _find(store, name):
            whole = store.load(row.id) or row
            facts = _facts(whole, store.consumers())
            if whole.outputs is not None:
                whole.outputs.folder = printable_path(whole.outputs.folder)
            facts["outputs"] = msgspec.to_builtins(whole.outputs)
            facts["state_bytes"] = len(whole.state or b"")
            facts["state"] = msgspec.json.decode(whole.state) if whole.state else None
            out.append(msgspec.json.format(msgspec.json.encode(facts), indent=2).decode("utf-8", "replace"))
        return "\n".join(out) + "\n"
    finally:
        store.close()


def forget(state: Path | None, name: str | None, every: bool) -> str:
    """Removes cursors, unless a follower is running. Raises: CursorError, UsageError."""
    if (name is None) == (not every):
        raise UsageError("name a session, or give --all")
    store = _open(state)
    try:
        rows = store.sessions(every_consumer=True) if every else _find(store, name or "")
        consumers = store.consumers()
    finally:
        store.close()
    for consumer in sorted({consumers[row.id] for row in rows if row.id in consumers}):
        store = _open(state, consumer, read_only=False)  # takes the lock: a running follower would write it back
        try:
            store.forget([row.id for row in rows if consumers.get(row.id) == consumer])
        finally:
            store.close()
    return f"{len(rows)} session{' is' if len(rows) == 1 else 's are'} read again next time\n"

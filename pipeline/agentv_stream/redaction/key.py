"""The key of this installation, which makes the markers of redacted secrets: read, or created once."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from agentv_stream.errors import SinkError, SourceError, UsageError
from agentv_stream.outputs.naming import prepare_folder, temporary_name

FILE = "redaction.key"
BYTES = 32


def installation_key(folder: Path | None = None) -> bytes:
    """The key in `folder`, by default the user's state folder; created with mode 0600 if there is none.

    Several processes that start together get the same key.

    Raises: SourceError for a file that is no key, or cannot be read; SinkError where none can be created; UsageError
    where no folder is known.
    """
    path = (folder or _state_folder()) / FILE
    key = _read(path)
    return _create(path) if key is None else key


def _state_folder() -> Path:
    from agentv_stream.following.cursor_database import CursorError, state_folder  # sqlite3: 5 ms of each command

    try:
        return state_folder()
    except CursorError as error:
        raise UsageError(f"no home folder is known for {FILE}; AGENTV_STREAM_STATE names a folder for it") from error


def _read(path: Path) -> bytes | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot read the redaction key {path}: {error}") from error
    with suppress(ValueError):
        if len(key := bytes.fromhex(text)) == BYTES:
            return key
    raise SourceError(f"{path} is no redaction key; remove it to have a new one made (markers will differ)")


def _create(path: Path) -> bytes:
    key = secrets.token_bytes(BYTES)
    temporary = temporary_name(path)
    try:
        prepare_folder(path.parent)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(key.hex().encode() + b"\n")
                file.flush()
                os.fsync(descriptor)
            os.link(temporary, path)  # unlike a rename it never replaces the key of another process
        finally:
            temporary.unlink(missing_ok=True)
    except FileExistsError:
        return _read(path) or key
    except OSError as error:
        raise SinkError(str(path), error) from error
    return key

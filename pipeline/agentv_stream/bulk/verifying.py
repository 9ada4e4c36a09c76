"""The remains of an earlier run, before it is continued: which of its files are whole.

Files are compared by length; those of a data set must also have a readable footer. Objects in a store appear whole or
not at all, and are not examined.
"""

from pathlib import Path

import msgspec

from agentv_stream.bulk import object_store
from agentv_stream.bulk.manifest import DataFile, Manifest
from agentv_stream.extras import arrow

_STAGED_END = b"ARROW1"  # an Arrow file ends with it


def is_whole(place: str, size: int | None) -> bool:
    """Whether an output is there, as long as it was; `size` None: of an earlier version, which did not note it."""
    if object_store.is_url(place):
        return True
    try:
        found = Path(place).stat().st_size
    except OSError:
        return False
    return found == size if size is not None else found > 0


def is_staged_whole(place: str) -> bool:
    """Whether a file of staged rows has its end."""
    if object_store.is_url(place):
        return True
    try:
        with Path(place).open("rb") as file:
            file.seek(-len(_STAGED_END), 2)
            return file.read() == _STAGED_END
    except OSError:
        return False


def without_damaged(root: str, manifest: Manifest) -> tuple[Manifest, int]:
    """The manifest without files that are missing or damaged, and their number: the sessions that have rows in them
    are read again."""
    damaged = [file for file in manifest.files if not _has_rows(root, file)]
    if not damaged:
        return manifest, 0
    again = {key for file in damaged for key in file.keys}
    files = [file for file in manifest.files if file not in damaged]
    signatures = {key: "" if key in again else value for key, value in manifest.signatures.items()}
    return msgspec.structs.replace(manifest, files=files, signatures=signatures), len(damaged)


def _has_rows(root: str, file: DataFile) -> bool:
    place = object_store.join(root, file.path)
    if object_store.is_url(place):
        return True
    if not is_whole(place, file.size):
        return False
    pa = arrow()
    try:
        return bool(arrow("pyarrow.parquet").read_metadata(place).num_rows == file.rows)
    except (pa.ArrowException, OSError):
        return False

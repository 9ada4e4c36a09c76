"""The manifest of a data set: which files are valid, and the state of each session's source when it was read."""

import re

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentv_stream.bulk import object_store
from agentv_stream.bulk.tables import SCHEMA, TABLES
from agentv_stream.errors import SourceError, UsageError

MANIFEST = "_dataset.json"
MACHINE = "machine="
"""How the folder of one machine's part of a data set begins."""
_FAR = 1000  # far from any generation that a data set which cannot be read may have
_PATH = re.compile(r"(\w+)/provider=[^/\\]+/day=[^/\\]+/[^/\\]+\.parquet")


class DataFile(Struct):
    """A file of the data set; `path` is relative to it. `keys` are those of the sessions that have rows in it."""

    table: str
    path: str
    provider: str
    day: str
    rows: int
    size: int
    keys: list[str]


class Manifest(Struct):
    """The parts of the data set. `signatures`: by session key, the state of its source when it was read."""

    schema_version: str = SCHEMA
    generation: int = 0
    files: list[DataFile] = []
    signatures: dict[str, str] = {}

    def paths(self, root: str, table: str) -> list[str]:
        """The paths or URLs of a table's files."""
        return [object_store.join(root, file.path) for file in self.of_table(table)]

    def of_table(self, table: str) -> list[DataFile]:
        """A table's files."""
        return [file for file in self.files if file.table == table]


def set_aside(root: str) -> Manifest:
    """Keeps a manifest that cannot be read under another name; a new data set begins. Raises: SinkError."""
    place = object_store.join(root, MANIFEST)
    object_store.put(f"{place}.damaged", object_store.read_all(place) or b"")
    object_store.remove(place)
    return Manifest(generation=_FAR)


class _Version(Struct):
    """The part that every manifest has; one without it is damaged."""

    schema_version: str


def read_manifest(root: str) -> Manifest | None:
    """The manifest of a data set; None if there is none.

    Raises: SourceError (it is damaged, or names a file that is not one of the data set), UsageError for a data set of
    another version.
    """
    data = object_store.read_all(object_store.join(root, MANIFEST))
    if data is None:
        return None
    try:
        msgspec.json.decode(data, type=_Version)
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise SourceError(f"{root}: {MANIFEST} cannot be read: {error}") from error
    if manifest.schema_version != SCHEMA:
        raise UsageError(f"{root} is a data set of {manifest.schema_version}, this program knows {SCHEMA}")
    for file in manifest.files:
        found = _PATH.fullmatch(file.path)
        if file.table not in TABLES or found is None or found[1] != file.table:
            raise SourceError(f"{root}: {MANIFEST} names {file.path!r}, which is no file of the data set")
    return manifest


def read_all_machines(root: str) -> Manifest | None:
    """As `read_manifest`; where there is none, those of all machines below `root`, as one."""
    own = read_manifest(root)
    if own is not None:
        return own
    found = [(name, read_manifest(object_store.join(root, name))) for name in object_store.folders_in(root, MACHINE)]
    parts = [(name, manifest) for name, manifest in found if manifest is not None]
    if not parts:
        return None
    files = [replace(file, path=f"{name}/{file.path}") for name, manifest in parts for file in manifest.files]
    return Manifest(files=files)


def first_manifest(root: str, resume: bool) -> Manifest:
    """The manifest that a run starts from: that of the existing data set, or an empty one.

    An empty one continues the generation numbers, so that new files never get the names of files that are still valid.

    Raises: SourceError (it is damaged; see `set_aside`), UsageError, when a data set is to be extended.
    """
    try:
        known = read_manifest(root)
    except (SourceError, UsageError):
        if resume:
            raise
        return Manifest(generation=_FAR)
    if known is None or resume:
        return known or Manifest()
    return Manifest(generation=known.generation)

"""The Parquet data set: staged rows become files by table, provider and day; a manifest says which files are valid.

    DATASET/_dataset.json                                             the manifest: schema version, files, signatures
    DATASET/<table>/provider=<provider>/day=<day>/g0001-0000.parquet  rows sorted by source

A run writes new files beside the old ones, then the manifest atomically, then removes outdated files: a reader that
uses the manifest (`query`, `open_dataset`) sees the old data set or the new one, never a mixture.
"""

import re
from collections.abc import Iterable

import msgspec

from agentv_stream.bulk import object_store
from agentv_stream.bulk.manifest import MANIFEST, DataFile, Manifest
from agentv_stream.bulk.shards import Shard
from agentv_stream.bulk.tables import SCHEMA, TABLES

# Names of a run's files, below a table's folder; other people's files may also be there.
_OURS = re.compile(r"provider=[^/]+/day=[^/]+/(g\d+-[^/]*\.parquet|\.[^/]+\.tmp)\Z")


def commit(
    root: str,
    manifest: Manifest,
    shards: Iterable[Shard],
    files: Iterable[DataFile],
    signatures: dict[str, str],
    removed: frozenset[str],
) -> Manifest:
    """Makes the new files valid, atomically; then removes outdated ones. Raises: SinkError."""
    replaced = {file.path for shard in shards for file in shard.replaced}
    kept = [file for file in manifest.files if file.path not in replaced]
    known = {key: value for key, value in manifest.signatures.items() if key not in removed}
    new = Manifest(
        SCHEMA,
        manifest.generation + 1,
        sorted([*kept, *files], key=lambda file: (TABLES.index(file.table), file.path)),
        dict(sorted({**known, **signatures}.items())),
    )
    object_store.put(object_store.join(root, MANIFEST), msgspec.json.format(msgspec.json.encode(new), indent=0))
    sweep(root, new)
    return new


def sweep(root: str, manifest: Manifest) -> None:
    """Removes files of the data set's tables that are not in the manifest, but no foreign files. Raises: SinkError."""
    counting = {object_store.join(root, file.path) for file in manifest.files}
    for table in TABLES:
        place = object_store.join(root, table)
        for name in object_store.names_below(place):
            if name not in counting and _OURS.match(name[len(place) + 1 :]):
                object_store.remove(name)

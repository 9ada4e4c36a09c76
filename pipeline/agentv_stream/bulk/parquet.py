"""The Parquet data set for its readers: where its files are, and the data set as pyarrow's (an extra)."""

from typing import TYPE_CHECKING, Any

from agentv_stream.bulk import object_store
from agentv_stream.errors import SourceError
from agentv_stream.extras import arrow

if TYPE_CHECKING:
    from agentv_stream.bulk.manifest import Manifest


def check_installed() -> None:
    """Raises: UsageError if the extra is missing."""
    arrow()


def manifest_of(root: str) -> "Manifest":
    """The manifest of a data set, or of the parts of all machines in it.

    Raises: SourceError if there is none, UsageError for a manifest of another version.
    """
    from agentv_stream.bulk.manifest import MANIFEST, read_all_machines

    manifest = read_all_machines(root)
    if manifest is None:
        raise SourceError(f"{root} is not a data set: it has no {MANIFEST}; `import … --parquet {root}` makes one")
    return manifest


def open_dataset(root: str, table: str) -> Any:
    """One table (of `tables.TABLES`, such as `sessions`) as a `pyarrow.dataset.Dataset`.

    It also has the columns `provider`, `day` and `machine`, which are in the paths; `machine` is null without one.

    Raises: SourceError, UsageError.
    """
    pa, ds = arrow(), arrow("pyarrow.dataset")
    from agentv_stream.bulk.tables import arrow_schema

    root = object_store.plain(root)
    paths = manifest_of(root).paths(root, table)
    in_paths = pa.schema([(name, pa.string()) for name in ("provider", "day", "machine")])
    schema = pa.schema([*arrow_schema(table), *in_paths])
    partitioning = ds.partitioning(in_paths, flavor="hive")
    filesystem = object_store.of_url(root).system if object_store.is_url(root) else None
    if filesystem is not None:
        paths = [path.partition("://")[2] for path in paths]
    base = root.partition("://")[2] if filesystem is not None else root  # folders above it may be named `day=…`, too
    return ds.dataset(
        paths,
        schema=schema,
        format="parquet",
        partitioning=partitioning,
        filesystem=filesystem,
        partition_base_dir=base,
    )

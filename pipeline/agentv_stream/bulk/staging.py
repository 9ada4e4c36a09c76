"""The rows of a task on their way into the data set: one Arrow file per table, with the rows of each unit contiguous.

Staging files are below `_state/`, where no reader of the data set looks, and appear at once. `dataset.py` takes the
rows of each unit from them, in the order of the units' names. Small units share a record batch: making one costs as
much as reading a small session.
"""

from pathlib import Path
from typing import Any

from agentv_stream.bulk import leaving, object_store
from agentv_stream.bulk.tables import BATCH_ROWS, TABLES, arrow_schema, to_batch
from agentv_stream.bulk.unit import Rows
from agentv_stream.errors import SinkError
from agentv_stream.extras import arrow
from agentv_stream.outputs.naming import prepare_folder

BATCH_BYTES = 8 * 1024 * 1024


class Staging:
    """The staging files of one task. A unit's rows are added between `begin` and `end`."""

    def __init__(self, state: str, name: str) -> None:
        self._state = state
        self._name = name
        self._tables = {table: _Table(table) for table in TABLES}
        folder = None if object_store.is_url(state) else Path(state) / "rows"
        try:
            if folder is not None:
                prepare_folder(folder)
            self._folder = leaving.temporary(folder, "task")
            self._folder.mkdir(mode=0o700)
        except OSError as error:
            raise SinkError(state, error) from error

    def begin(self) -> None:
        """A unit begins."""
        for table in self._tables.values():
            table.begin()

    def add(self, table: str, row: tuple[Any, ...], size: int = 0) -> None:
        """Adds a row; `size` is its approximate text size in bytes."""
        self._tables[table].add(row, size, self._folder)

    def end(self) -> dict[str, Rows]:
        """The places of the unit's rows, by table."""
        out: dict[str, Rows] = {}
        for name, table in self._tables.items():
            if table.unit_rows:
                path = object_store.join(self._state, "rows", f"{self._name}.{name}.arrow")
                out[name] = Rows(path, table.batch, table.offset, table.unit_rows)
        return out

    def abandon(self) -> None:
        """A unit failed midway: its rows are not used."""
        for table in self._tables.values():
            table.forget()

    def publish(self) -> None:
        """Moves all files to their places. Raises: SinkError."""
        for name, table in self._tables.items():
            local = table.close(self._folder)
            if local is not None:
                object_store.put_file(local, object_store.join(self._state, "rows", f"{self._name}.{name}.arrow"))

    def close(self) -> None:
        """Removes rows that were not published."""
        object_store.remove_tree(str(self._folder))
        leaving.settled(self._folder)


class _Table:
    """One table's file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[tuple[Any, ...]] = []
        self.size = 0
        self.batches = 0
        self.batch = 0  # where the current unit began
        self.offset = 0
        self.unit_rows = 0
        self._writer: Any = None
        self._schema: Any = None

    def begin(self) -> None:
        self.batch, self.offset, self.unit_rows = self.batches, len(self.rows), 0

    def forget(self) -> None:
        """Drops the current unit's rows; those already in the file stay there unused."""
        del self.rows[self.offset if self.batch == self.batches else 0 :]
        self.unit_rows = 0

    def add(self, row: tuple[Any, ...], size: int, folder: Path) -> None:
        self.rows.append(row)
        self.unit_rows += 1
        self.size += size
        if len(self.rows) >= BATCH_ROWS or self.size >= BATCH_BYTES:
            self.write(folder)

    def write(self, folder: Path) -> None:
        if not self.rows:
            return
        try:
            if self._writer is None:
                pa = arrow("pyarrow.ipc")
                self._schema = arrow_schema(self.name)
                options = pa.IpcWriteOptions(compression="lz4", use_threads=False)  # each core has a worker
                self._writer = pa.new_file(str(folder / self.name), self._schema, options=options)
            self._writer.write_batch(to_batch(self.rows, self._schema))
        except OSError as error:
            raise SinkError(str(folder), error) from error
        self.rows, self.size = [], 0
        self.batches += 1

    def close(self, folder: Path) -> Path | None:
        self.write(folder)
        if self._writer is None:
            return None
        try:
            self._writer.close()
        except OSError as error:
            raise SinkError(str(folder), error) from error
        return folder / self.name

"""Reads data sets: all rows of all tables, to compare two of them."""

from collections import Counter
from pathlib import Path

from agentv_stream.bulk import import_sessions
from agentv_stream.bulk.feeding import Delivery, Order, deliver
from agentv_stream.bulk.parquet import open_dataset
from agentv_stream.bulk.tables import TABLES

Rows = dict[str, Counter[str]]


def rows_of(dataset: Path) -> Rows:
    """The rows of each table, each as often as it is there."""
    found: Rows = {}
    for table in TABLES:
        rows = open_dataset(str(dataset), table).to_table().to_pylist()
        found[table] = Counter(repr(sorted(row.items())) for row in rows)
    return found


def imported(sources: list[Path], dataset: Path) -> Rows:
    """The rows of an `import --parquet`."""
    import_sessions(list(sources), parquet=dataset, engine="serial")
    return rows_of(dataset)


def sessions_in(dataset: Path) -> list[str]:
    """The sources of the sessions, sorted."""
    return sorted(open_dataset(str(dataset), "sessions").to_table().column("source").to_pylist())


class BatchHere:
    """A batch of `tail --parquet` in this process: it has ended when it is there."""

    def __init__(self, order: Order) -> None:
        self._delivery = deliver(order)

    def wait(self, seconds: float) -> bool:
        return True

    def delivery(self) -> Delivery:
        return self._delivery

    def end(self) -> None:
        """There is nothing to end."""

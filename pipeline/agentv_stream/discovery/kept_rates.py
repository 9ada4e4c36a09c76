"""List prices that are kept between runs, beside the figures of sessions. In: the open store. Out: rates, and back."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress

import msgspec

from agentv_stream.costs.rates import Rates, installed_version, rates_if
from agentv_stream.discovery.kept_file import KeptFile, sealed, unsealed
from agentv_stream.discovery.places import cache_file
from agentv_stream.sources.files import is_file

_encode = msgspec.json.Encoder().encode


@contextmanager
def kept_rates(wanted: bool | None) -> Generator[Rates | None]:
    """Rates as `rates_if`, those of earlier runs included; new ones are kept. Failure to keep them is ignored.

    Raises: UsageError.
    """
    rates = rates_if(wanted)
    kept = KeptFile(cache_file())
    if rates is not None:
        with kept.opened() as database:
            if database is not None:
                load_rates(database, rates)
    yield rates
    if rates is not None and rates.new:
        with kept.opened() as database:
            if database is not None:
                save_rates(database, rates)


def read_rates(rates: Rates) -> None:
    """Adds the rates that earlier runs kept, where there are any; the store is only read."""
    file = cache_file()
    if file is None or not is_file(file):
        return
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
        load_rates(database, rates)


def load_rates(database: sqlite3.Connection, rates: Rates) -> None:
    """Adds the rates that earlier runs computed from the same version of the prices. Raises: sqlite3.Error."""
    version = (installed_version(),)
    for model, entry in database.execute("SELECT model, entry FROM rates WHERE version = ?", version):
        data = unsealed(model, entry)
        if data is not None:
            with suppress(msgspec.MsgspecError):
                rates.take(model, data)


def save_rates(database: sqlite3.Connection, rates: Rates) -> None:
    """Writes the new rates, and removes those of other versions. Raises: sqlite3.Error."""
    version = installed_version()
    database.execute("DELETE FROM rates WHERE version != ?", (version,))
    entries = (("", _encode(rates.table)), *((model, _encode(tiers)) for model, tiers in rates.new.items()))
    rows = [(version, model, sealed(model, entry)) for model, entry in entries]
    database.executemany("INSERT OR REPLACE INTO rates VALUES (?, ?, ?)", rows)

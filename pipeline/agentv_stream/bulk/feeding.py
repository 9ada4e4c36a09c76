"""One batch of `tail --parquet`, in a process of its own: brings a data set up to date with the sessions at rest.

In: an `Order` on standard input. Out: a `Delivery` on standard output. It is an `import --parquet --resume` of the
followed logs without the logs that grow just now. So the rows are those of an import, and a session that was written
before is replaced. A process that is killed at any point leaves the data set as it was, or complete. Memory is that of
an import, and is free again afterwards.
"""

import os
import sys
import threading

import msgspec
from msgspec import Struct

from agentv_stream.bulk import leaving, object_store
from agentv_stream.bulk.find import looks_like_session
from agentv_stream.bulk.places import dataset_place
from agentv_stream.bulk.run import import_sessions
from agentv_stream.bulk.state import Progress
from agentv_stream.bulk.unit import Checks, Work
from agentv_stream.errors import AgentvStreamError, UsageError
from agentv_stream.redaction.redaction import Redaction
from agentv_stream.stores.store import split_stored

MOST_FAILURES = 20  # that a delivery names
NICE = 5


class Order(Struct, frozen=True, kw_only=True):
    """The work of a batch. Paths are bytes: they need not be UTF-8.

    `places` are the followed folders and files, `followed` the paths of the followed logs (`PATH::SESSION` in a store),
    `busy` those of sessions that grow. The other members are as for `import_sessions`.
    """

    dataset: str
    places: list[bytes] = []
    followed: list[bytes] = []
    busy: list[bytes] = []
    provider: str | None = None
    watch: tuple[str, ...] = ()
    machine: str | None = None
    redaction: Redaction | None = None
    checks: Checks | None = None
    sync: bool = True


class Delivery(Struct, kw_only=True):
    """`sessions` were read and written. `error` says why nothing was; `failures` name logs that cannot be read."""

    sessions: int = 0
    failures: list[tuple[str, str]] = []
    error: str | None = None


def check_dataset(order: Order) -> None:
    """Raises: UsageError for a data set that was written with other options, SourceError."""
    place = dataset_place(order.dataset, order.machine)
    work = Work(
        dataset=place, provider=order.provider, watch=order.watch, machine=order.machine, redaction=order.redaction,
        checks=order.checks,
    )  # fmt: skip
    state = Progress(object_store.join(place, "_state"))
    if state.before(work, True) == "anew" and not state.damaged:
        raise UsageError(f"--parquet: {order.dataset} was written with other options, or beside other outputs")


def check_specs(checks: Checks | None) -> None:
    """Raises: UsageError if specs say something else than at the start: one data set has verdicts of one state."""
    if checks is None:
        return
    from agentv_stream.bulk.judging import load_specs

    if load_specs(checks.specs, checks.case).checks != checks:
        raise UsageError(f"{', '.join(checks.specs)} changed since the start")


def deliver(order: Order) -> Delivery:
    """Does a batch."""
    followed, busy = ({os.fsdecode(path) for path in paths} for paths in (order.followed, order.busy))

    def is_ready(path: str) -> bool:
        return path in followed and path not in busy

    sources = dict.fromkeys(split_stored(os.fsdecode(place))[0] for place in order.places)
    for path in followed:  # a folder does not show rotated logs
        if not looks_like_session(path.rpartition("/")[2]) and not split_stored(path)[1]:
            sources[path] = None
    try:
        check_specs(order.checks)
        outcome = import_sessions(
            [source for source in sources if os.path.lexists(source)],
            parquet=order.dataset,
            engine="serial",
            resume=True,
            provider=order.provider,
            watch=order.watch,
            machine=order.machine,
            specs=order.checks.specs if order.checks is not None else (),
            case=order.checks.case if order.checks is not None else None,
            redact=order.redaction or False,
            sync=order.sync,
            only=is_ready,
        )
    except AgentvStreamError as error:
        return Delivery(error=str(error)[:5000])
    except Exception as error:  # the follower goes on, and reports it as a bug of ours
        return Delivery(error=f"bug: {type(error).__name__}: {error}"[:5000])
    failures = [(failure.source[:1000], failure.error[:500]) for failure in outcome.failures[:MOST_FAILURES]]
    return Delivery(sessions=outcome.done, failures=failures)  # less than a pipe holds: the parent does not read it yet


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    leaving.end()


def main() -> None:
    """The process of a batch. The parent keeps standard input open as long as it lives."""
    leaving.obey_parent()
    os.nice(NICE)
    data = sys.stdin.buffer.read(int(sys.argv[1]))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.stdout.buffer.write(msgspec.msgpack.encode(deliver(msgspec.msgpack.decode(data, type=Order))))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

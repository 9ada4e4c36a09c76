"""A limit of cost for one attempt: ends the agent as soon as its stream shows that it spent more."""

from collections.abc import Callable

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch


class Budget:
    """A watcher. Agents that report their cost only at the end cannot be stopped earlier."""

    def __init__(self, most_usd: float, observer: Callable[[], Observer | None], stop: Callable[[], None]) -> None:
        self._most_usd = most_usd
        self._observer = observer
        self._stop = stop

    def observe(self, batch: Batch) -> None:
        """Compares the cost so far; the batch is already counted."""
        observer = self._observer()
        cost = observer.totals.cost_usd if observer is not None else None
        if cost is not None and cost > self._most_usd:
            self._stop()

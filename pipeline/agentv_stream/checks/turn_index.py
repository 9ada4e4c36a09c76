"""The beginning of each turn of a session. In: its events. Out: the turn of an event that a verdict names."""

from array import array
from bisect import bisect_right

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import MAIN, AssistantText, Reasoning, ToolCall
from agentv_stages.model.turns import Turns
from agentv_stages.trajectory import Evidence


class TurnIndex:
    """Rows at which turns of the main stream begin, by file; eight bytes a turn."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._rows: dict[str, array[int]] = {}
        self._before: dict[str, int] = {}  # turns that began in earlier files

    def observe(self, batch: Batch) -> None:
        for event in batch.events:
            if isinstance(event, ToolCall | AssistantText | Reasoning) and event.source.stream == MAIN:
                before = self._turns.count
                self._turns.turn_of(event)
                if self._turns.count != before:
                    self._before.setdefault(event.source.file, before)
                    self._rows.setdefault(event.source.file, array("q")).append(event.source.row)

    def turn(self, evidence: Evidence) -> int | None:
        """The turn in which an event was, None on another stream or before the first one."""
        rows = self._rows.get(evidence.file)
        if evidence.stream != MAIN or rows is None:
            return None
        return self._before[evidence.file] + bisect_right(rows, evidence.row) or None

"""Redacts the records of a session before they are decoded: batches in, the same with markers for secrets out.

A record keeps its place and its length, and while it is in memory the bytes by which its id is made. A record over the
cap is redacted piece by piece.
"""

from msgspec.structs import replace

from agentv_stages.model.batch import BETWEEN, Batch
from agentv_stages.model.fault import Fault
from agentv_stages.redaction.redact_stream import RedactStream
from agentv_stages.redaction.redactor import Redactor


class RedactRecords:
    """A stage over batches, between framing and detection. It needs no state of its own: a record over the cap is read
    again from its beginning when a session continues."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._giant = RedactStream(redactor)

    def push(self, batch: Batch, /) -> tuple[Batch]:
        redact, records = self._redactor.redact, batch.records
        if len(records) > 1 and not self._redactor.may_hold(BETWEEN.join([record.data for record in records])):
            records = []  # one search in all of them takes half the time of many short ones
        for i, record in enumerate(records):
            data = redact(record.data)
            if data is not record.data:
                records[i] = record.replaced(data)
        if batch.faults:
            batch.faults = [self._part(fault) for fault in batch.faults]
        return (batch,)

    def flush(self) -> tuple[Batch, ...]:
        return ()

    def _part(self, fault: Fault) -> Fault:
        """A piece of a record over the cap. What may be the beginning of a secret comes with a later piece."""
        if fault.part == "whole":
            return replace(fault, data=self._redactor.redact(fault.data))
        if fault.part == "begin":
            self._giant = RedactStream(self._redactor)
        data = self._giant.push(fault.data)
        if fault.part == "end":
            data += self._giant.flush()
        return replace(fault, data=data)

"""Hands on the events of a followed session: merged events, and the new part of each batch.

A document is read as a whole again whenever it was rewritten: hashes of its events and messages are kept, so that each
is handed on once.
"""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import compress, repeat
from typing import Any

import msgspec
from msgspec.structs import replace

from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent
from agentv_stages.model.message import Message
from agentv_stages.sinks.event_lines import content_of
from agentv_stream.following.merged import MergedEvents
from agentv_stream.following.taken_records import HASH_BYTES

_encode = msgspec.json.Encoder().encode


class Delivered:
    """The delivered events and messages, as hashes. `stored` returns those in the cursors."""

    def __init__(self, stored: Callable[[], Iterable[bytes]]) -> None:
        self._stored = stored
        self._hashes: set[bytes] | None = None
        self.new: list[bytes] = []  # since the last commit
        self.anew = False  # those in the cursors no longer count

    def new_in(self, batch: Batch) -> tuple[list[bool], Batch]:
        """Which events of a batch were not delivered before, and the batch without the others; remembers them."""
        new = [self._is_new(_event(event)) for event in batch.events]
        messages = [message for message in batch.messages if self._is_new(_message(message))]
        return new, replace(batch, events=list(compress(batch.events, new)), messages=messages)

    def _is_new(self, parts: Iterable[Any]) -> bool:
        own = blake2b(_encode(parts), digest_size=HASH_BYTES).digest()
        if self._hashes is None:
            self._hashes = {*(() if self.anew else self._stored()), *self.new}
        if own in self._hashes:
            return False
        self._hashes.add(own)
        self.new.append(own)
        return True

    def committed(self) -> None:
        """All are in the cursors."""
        self.new, self.anew = [], False

    def drop(self) -> None:
        """Forgets all, because everything is delivered again."""
        self._hashes, self.new, self.anew = None, [], True


class Delivery:
    """`emit` takes lines of merged events; `stored` returns the hashes of a document's events that the cursors have."""

    def __init__(self, emit: Callable[[bytes], None] | None, stored: Callable[[], Iterable[bytes]]) -> None:
        self._emit = emit
        self.merged: MergedEvents | None = None
        self.delivered = Delivered(stored)
        self.again = 0  # times that everything was delivered again
        self.restart()

    def restart(self) -> None:
        """The session is read from its beginning: the first event has no parent."""
        self.merged = MergedEvents(self._emit) if self._emit is not None else None

    def repeat_all(self) -> None:
        """Everything is delivered again."""
        self.again += 1
        self.delivered.drop()

    def take(
        self, batch: Batch, observer: Observer, old: bool, rewritten: bool, identity: bytes | None = None
    ) -> Batch:
        """Emits the new events of a batch that has passed all stages; returns the batch with only its new part.

        An `old` batch has no new part, but later events are emitted as following it. New in a `rewritten` file are only
        the parts that it did not contain before. `identity` is as in `MergedEvents.write`.
        """
        new: Iterable[bool] = repeat(not old)
        batch_of_new = batch
        if rewritten and not old:
            new, batch_of_new = self.delivered.new_in(batch)
        if self.merged is not None:
            self.merged.write(batch, observer, new, identity)
        return batch_of_new


def _event(event: AnyEvent) -> tuple[Any, ...]:
    """The identity of an event across versions of the document: not its offset and length."""
    source = event.source
    return type(event).__name__, source.stream, source.base_id or source.row, event.part, content_of(event)


def _message(message: Message) -> tuple[Any, ...]:
    calls = [(paired.call.call_id, paired.result and content_of(paired.result)) for paired in message.calls]
    return message.index, message.message_id, message.content, message.thinking, calls

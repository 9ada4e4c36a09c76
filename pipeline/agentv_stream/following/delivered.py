"""Which events and messages of a document were delivered: it is read as a whole again whenever it was rewritten."""

from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import compress
from typing import Any

import msgspec
from msgspec.structs import replace

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent
from agentv_stages.model.message import Message
from agentv_stages.sinks.event_lines import content_of
from agentv_stream.following.cursor_database import HASH_BYTES

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

    def drop(self) -> None:
        """Forgets all, because everything is delivered again."""
        self._hashes, self.new, self.anew = None, [], True


def _event(event: AnyEvent) -> tuple[Any, ...]:
    """The identity of an event across versions of the document: not its offset and length."""
    source = event.source
    return type(event).__name__, source.stream, source.base_id or source.row, event.part, content_of(event)


def _message(message: Message) -> tuple[Any, ...]:
    calls = [(paired.call.call_id, paired.result and content_of(paired.result)) for paired in message.calls]
    return message.index, message.message_id, message.content, message.thinking, calls

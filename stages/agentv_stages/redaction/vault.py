"""The secrets behind markers, in memory alone: verdicts are decided on the original texts, and do not quote them.

In: a secret whenever a marker is made for it. Out: events with the secrets back in their places; and texts about such
events, with the secrets hidden again, also where a text was cut within one.
"""

import re
from collections.abc import Callable

import msgspec

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent

MARKER = re.compile(rb"\[redacted:[a-z0-9-]{1,40}:[0-9a-f]{8}\]")
_SIGN = b"[redacted:"
_MOST = 10_000  # secrets that are remembered; the oldest are forgotten
_SHORTEST = 8  # bytes of a secret by which a part of it is recognised
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AnyEvent).decode


class Vault:
    """The secrets of a process, by marker."""

    def __init__(self) -> None:
        self._secrets: dict[bytes, bytes] = {}

    def keep(self, marker: bytes, secret: bytes) -> None:
        """Remembers the secret behind a marker."""
        secrets = self._secrets
        if marker not in secrets and len(secrets) >= _MOST:
            del secrets[next(iter(secrets))]
        secrets[marker] = secret

    def restore(self, data: bytes) -> bytes:
        """JSON with the secrets in place of their markers. A marker of an earlier process stays."""
        return MARKER.sub(lambda match: self._secrets.get(match[0], match[0]), data)

    def batch(self, batch: Batch) -> Batch:
        """The batch with its original events; the same object if none of them has a marker."""
        if not self._secrets:
            return batch
        events = [self._event(event) for event in batch.events]
        if all(new is old for new, old in zip(events, batch.events, strict=True)):
            return batch
        return msgspec.structs.replace(batch, events=events)

    def _event(self, event: AnyEvent) -> AnyEvent:
        data = _encode(event)
        return _decode(self.restore(data)) if _SIGN in data else event

    def hide(self, data: bytes, redact: Callable[[bytes], bytes]) -> bytes:
        """A JSON text about original events, without their secrets: as `redact` finds them, and those that it cannot
        find because the text holds only the beginning of one."""
        data = redact(data)
        for marker, secret in self._secrets.items():
            begin = secret[:_SHORTEST]
            if len(begin) < _SHORTEST or begin not in data:
                continue
            pieces: list[bytes] = []
            end = 0
            while (at := data.find(begin, end)) >= 0:
                pieces += (data[end:at], marker)
                end = at + _common(secret, data, at)
            data = b"".join((*pieces, data[end:]))
        return data


def _common(secret: bytes, data: bytes, at: int) -> int:
    """How many bytes of a secret stand at a place."""
    for length in range(_SHORTEST, len(secret)):
        if data[at + length : at + length + 1] != secret[length : length + 1]:
            return length
    return len(secret)

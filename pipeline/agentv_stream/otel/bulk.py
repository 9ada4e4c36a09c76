"""Sends files of OTLP JSON lines, one after the other, in requests of a suitable size."""

import os
from collections.abc import Iterable

import anyio

from agentv_stream.bulk import object_store
from agentv_stream.otel.endpoint import endpoint_of
from agentv_stream.otel.sender import MOST_BYTES, Sender


def send_files(option: str, places: Iterable[str]) -> list[str]:
    """Returns notes for the user. Raises: NotTaken, SourceError, UsageError."""
    return anyio.run(_send, Sender(endpoint_of(option, os.environ)), places)


async def _send(sender: Sender, places: Iterable[str]) -> list[str]:
    lines: list[bytes] = []
    size = 0
    async with sender:
        for place in places:
            for line in object_store.lines(place):
                lines.append(line)
                size += len(line)
                if size > MOST_BYTES:
                    await sender.send(lines)
                    lines, size = [], 0
        await sender.send(lines)
    return [f"OpenTelemetry: {sender.sent.spans:,} spans sent", *sender.sent.notes()]

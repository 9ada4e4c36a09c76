"""What tests of decoders share: records from bytes, events of a whole input, and properties of every dialect."""

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AnyEvent, AssistantText, TokenUsage, ToolCall, ToolResult
from agentv_stages.model.provider import DecodeContext, Dialect, Head, Provider
from agentv_stream.testing.laws import check_laws as check_laws
from agentv_stream.testing.laws import check_odd_shapes as check_odd_shapes

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
_decode = msgspec.json.Decoder().decode


def records(data: bytes) -> list[Record]:
    """The lines of `data` as records, without blank ones."""
    found: list[Record] = []
    offset = 0
    for line in data.split(b"\n"):
        if line.strip():
            found.append(Record(line, offset, len(found)))
        offset += len(line) + 1
    return found


def lines(*values: Any) -> list[Record]:
    """Plain values as records: one compact JSON line each."""
    return records(b"\n".join(msgspec.json.encode(value) for value in values))


def document(value: Any) -> list[Record]:
    """A pretty-printed document, which is a single record."""
    return [Record(json.dumps(value, indent=2).encode(), 0, 0)]


def head(given: Sequence[Record]) -> Head:
    """The records in the form in which detection gets them."""
    return [cast("dict[str, Any]", value) for value in (_decode(r.data) for r in given[:64]) if isinstance(value, dict)]


def dialect(provider: Provider, name: str) -> Dialect:
    return next(d for d in provider.dialects if d.name == name)


def best(provider: Provider, given: Sequence[Record]) -> tuple[str, float]:
    """The dialect that fits best, and its score."""
    first = head(given)
    score, name = max((d.detect(first), d.name) for d in provider.dialects)
    return name, score


def pushed(of: Dialect, given: Sequence[Record], context: DecodeContext | None = None) -> Batch:
    """One batch with the events of the records, before the input has ended."""
    decoder = of.decoder(context or DecodeContext("log"))
    batch = Batch("log", records=list(given))
    for record in given:
        decoder.decode(record, batch)
    return batch


def decoded(of: Dialect, given: Sequence[Record], context: DecodeContext | None = None) -> Batch:
    """As `pushed`, including what the flush returns."""
    decoder = of.decoder(context or DecodeContext("log"))
    batch = Batch("log", records=list(given))
    for record in given:
        decoder.decode(record, batch)
    decoder.flush(batch)
    return batch


def events_of(of: Dialect, given: Sequence[Record]) -> list[AnyEvent]:
    return decoded(of, given).events


def corpus(folder: str) -> Path:
    """A folder of the corpus of recordings; without a corpus the test is skipped."""
    root = os.environ.get("AGENTV_STREAM_CORPUS")
    if not root or not (Path(root) / folder).is_dir():
        pytest.skip("AGENTV_STREAM_CORPUS names no corpus of recordings")
    return Path(root) / folder


def read(path: Path) -> bytes:
    """The bytes of a recording, unpacked."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def asked_calls(truth: dict[str, Any], *threads: str) -> list[dict[str, Any]]:
    """The calls that the model requested, in complete answers."""
    return [
        call
        for name in threads or tuple(truth["threads"])
        for answer in truth["threads"][name]["answers"]
        if not answer.get("broken")
        for call in answer["calls"]
    ]


def said(truth: dict[str, Any], *threads: str) -> list[str]:
    """The texts of complete answers."""
    return [
        answer["text"]
        for name in threads or tuple(truth["threads"])
        for answer in truth["threads"][name]["answers"]
        if not answer.get("broken") and answer["text"].strip()
    ]


def calls(events: Sequence[AnyEvent]) -> list[ToolCall]:
    return [e for e in events if isinstance(e, ToolCall)]


def results(events: Sequence[AnyEvent]) -> list[ToolResult]:
    return [e for e in events if isinstance(e, ToolResult)]


def texts(events: Sequence[AnyEvent]) -> list[str]:
    return [e.text for e in events if isinstance(e, AssistantText)]


def usages(events: Sequence[AnyEvent]) -> list[TokenUsage]:
    return [e for e in events if isinstance(e, TokenUsage)]


def total(events: Sequence[AnyEvent]) -> dict[str, int]:
    """Sums of the tokens of calls; each key counts once."""
    known = {u.key: u for u in usages(events) if u.scope == "call"}
    return {
        "input": sum(u.input or 0 for u in known.values()),
        "cached": sum(u.cached or 0 for u in known.values()),
        "output": sum(u.output or 0 for u in known.values()),
        "reasoning": sum(u.reasoning or 0 for u in known.values()),
    }

"""Damaged logs of Copilot, ACP and Cursor: members of any shape, records torn, lost or doubled."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from agentv_stages.chain.decode import Decode
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import AnyEvent, AssistantText, Reasoning, ToolCall, UserText
from agentv_stages.model.provider import DecodeContext, Provider
from agentv_stages.providers.acp import PROVIDER as ACP
from agentv_stages.providers.copilot import PROVIDER as COPILOT
from agentv_stages.providers.cursor import PROVIDER as CURSOR
from support.decoding import FIXTURES, best, dialect, records

ODD: tuple[Any, ...] = (None, 0, -1, 1.5, True, "", "x", [], {}, [1], {"a": 1}, "\ud800", [[]], [{}], [None], "\0")
LOGS = [
    (provider, path)
    for provider in (COPILOT, ACP, CURSOR)
    for path in sorted((FIXTURES / provider.name).glob("*.jsonl"))
]


def bent(value: Any, chance: random.Random) -> Any:
    """The value with one member, anywhere in it, lost or put in another shape."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        out: dict[str, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
        key = chance.choice(list(out))
        if chance.random() < 0.15:
            del out[key]
        else:
            out[key] = chance.choice(ODD) if chance.random() < 0.4 else bent(out[key], chance)
        return out
    if isinstance(value, list) and value and chance.random() < 0.8:
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON
        at = chance.randrange(len(items))
        items[at] = bent(items[at], chance)
        return items
    return chance.choice(ODD)


def damaged(given: list[Record], chance: random.Random) -> list[Record]:
    out = [r.data for r in given]
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(out))
        how = chance.random()
        if how < 0.7:
            try:
                out[at] = json.dumps(bent(json.loads(out[at]), chance)).encode()
            except ValueError:
                continue
        elif how < 0.8:
            out[at] = out[at][: chance.randrange(len(out[at]))]
        elif how < 0.9:
            out.insert(at, out[at])
        elif len(out) > 1:
            del out[at]
    return [Record(data, 0, row) for row, data in enumerate(out) if data]


def well_formed(event: AnyEvent) -> None:
    if isinstance(event, (AssistantText, Reasoning)):
        assert bytes(event.text_json)[:1] == b'"'
        assert event.message_id
    elif isinstance(event, UserText):
        assert bytes(event.body)[:1] in (b'"', b"[")
    elif isinstance(event, ToolCall):
        assert event.message_id
        json.loads(bytes(event.input_json))


@pytest.mark.parametrize(("provider", "path"), LOGS, ids=[f"{p.name}-{path.stem}" for p, path in LOGS])
def test_damage_costs_no_more_than_what_it_touches(provider: Provider, path: Path) -> None:
    given = records(path.read_bytes())
    of = dialect(provider, best(provider, given)[0])
    for seed in range(60):
        stage, batch = Decode(of, DecodeContext("log")), Batch("log", records=damaged(given, random.Random(seed)))
        stage.push(batch)
        snapshot = stage.snapshot()
        other = Decode(of, DecodeContext("log"))
        other.restore(snapshot)
        last = [e for b in stage.flush() for e in b.events]
        assert [e for b in other.flush() for e in b.events] == last
        for event in (*batch.events, *last):
            well_formed(event)
        assert len(batch.events) > 0

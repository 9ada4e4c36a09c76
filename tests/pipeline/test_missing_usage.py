"""A call that does not say all of its tokens: the sums are null or a lower bound, never smaller and exact-looking."""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import pytest
from msgspec import UNSET

from agentv_stages.figures.result import Result
from agentv_stages.providers import all_providers
from agentv_stream.summary import summarize
from support.mutating import drawn, places, record_of, value_of, written
from support.scenarios.dialects import WRITERS

TOKENS = re.compile(r"tok|input|output|prompt|completion|candidates", re.IGNORECASE)
OMITTED = re.compile(r"cache|reason|thought|thinking", re.IGNORECASE)
"""Parts of the input or output that agents leave out where they are 0."""
NAMES = [
    name
    for name, writer in WRITERS.items()
    if not writer.dialect.endswith(("-rows", "-steps")) and "openhands" not in name
]
"""In the steps of Antigravity's databases, which are protobuf, a count that is left out is 0."""
MOST = 6


def members(value: Any) -> list[tuple[dict[str, Any], str]]:
    """The members that are counts of tokens."""
    found: list[tuple[dict[str, Any], str]] = []
    for place, key in places(value):
        if isinstance(place, dict) and TOKENS.search(key) and not OMITTED.search(key):
            inside = cast("dict[str, Any]", place)
            if type(inside[key]) is int and inside[key] > 0:
                found.append((inside, key))
    return found


def without(records: list[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """The log without one count of tokens, once removed and once null."""
    for row, record in enumerate(records):
        for n in range(len(members(json.loads(record)))):
            for null in (False, True):
                value = value_of(record)
                place, key = members(value)[n]
                if null:
                    place[key] = None
                else:
                    del place[key]
                yield f"{key} of record {row}", [*records[:row], record_of(value), *records[row + 1 :]]


def of(records: list[bytes], provider: str) -> Result:
    return summarize(b"".join(record + b"\n" for record in records), provider=provider)


@pytest.mark.parametrize("name", NAMES)
def test_a_total_without_one_calls_tokens_does_not_look_exact(name: str) -> None:
    provider = next(p.name for p in all_providers() if any(d.name == WRITERS[name].dialect for d in p.dialects))
    for scenario in drawn(WRITERS[name], 11, 3)[1:]:
        log = written(WRITERS[name], scenario)
        if log is None:
            continue
        whole = of(log.records, provider).tokens
        tried = list(without(log.records))
        for what, records in tried[:: len(tried) // MOST + 1]:
            found = of(records, provider).tokens
            for figure in ("input", "output"):
                known, left = whole[figure], found[figure]
                assert known is None or left is None or left >= known, (what, figure, known, left)
            if whole.output_at_least is UNSET and found.output_at_least is not UNSET:
                assert found.output is None


def copilot(*tokens: int | None) -> Result:
    def said(n: int, output: int | None) -> dict[str, Any]:
        data: dict[str, Any] = {"messageId": f"m{n}", "content": "x", "toolRequests": [], "outputTokens": output}
        data = {key: value for key, value in data.items() if value is not None}
        time = f"2026-03-01T10:00:{n:02}.000Z"
        return {"type": "assistant.message", "data": data, "id": f"e{n}", "timestamp": time, "parentId": None}

    records = [json.dumps(said(n, output)).encode() for n, output in enumerate(tokens)]
    return of(records, "copilot")


def test_copilots_answers_without_their_output_make_the_sum_a_lower_bound() -> None:
    """Copilot's stream has no other usage than `outputTokens` of each answer."""
    assert (copilot(3, 4).tokens.output, copilot(3, 0).tokens.output) == (7, 3)
    for silent in ((3, None, 4), (None, 3, 4), (3, 4, None), (None, None, 7)):
        tokens = copilot(*silent).tokens
        assert (tokens.output, tokens.output_at_least) == (None, 7), silent
    nothing = copilot(None, None)
    assert (nothing.tokens.output, nothing.tokens.output_at_least, nothing.model_calls) == (None, UNSET, 0)


def test_models_of_a_total_that_do_not_say_their_input() -> None:
    def claude(*models: dict[str, int]) -> Result:
        used = {f"m{n}": model for n, model in enumerate(models)}
        records = [
            {"type": "system", "subtype": "init", "session_id": "a", "claude_code_version": "2.1.0"},
            {"type": "result", "subtype": "success", "session_id": "a", "modelUsage": used, "usage": {}},
        ]
        return of([json.dumps(record).encode() for record in records], "claude")

    both = {"inputTokens": 5, "outputTokens": 2, "cacheReadInputTokens": 10}
    assert (claude(both, both).tokens.input, claude(both, both).tokens.output) == (30, 4)
    silent, mute = ({k: v for k, v in both.items() if k != key} for key in ("inputTokens", "outputTokens"))
    assert (claude(both, silent).tokens.input, claude(both, silent).tokens.output) == (None, 4)
    assert (claude(both, mute).tokens.input, claude(both, mute).tokens.output) == (30, None)

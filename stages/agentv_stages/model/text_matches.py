"""The places of a text in a message. In: a message and a query. Out: the parts with it: texts, reasoning, calls."""

from collections.abc import Iterator
from typing import Any

from msgspec import Raw, Struct

from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.payload import decode_json, text_of
from agentv_stages.model.text_query import TextQuery


class Match(Struct, frozen=True):
    """A part of a message that holds the text. `place` is `text`, `thinking`, `input` or `output`; `tool` is the
    canonical name of the call's tool for the last two. `start` and `end` are the first place in `text`."""

    place: str
    tool: str | None
    text: str
    start: int
    end: int


def matches_in(message: Message, query: TextQuery) -> Iterator[Match]:
    """The parts that hold the text, at most one match for each."""
    for place, blocks in (("text", message.content), ("thinking", message.thinking)):
        for block in blocks:
            yield from _match(place, None, block, query)
    for paired in message.calls:
        yield from matches_in_call(paired, query)


def matches_in_call(paired: PairedCall, query: TextQuery) -> Iterator[Match]:
    """The same for a call: its input, then its output."""
    call, result = paired.call, paired.result
    tool = call.tool or call.name
    if query.may_hold(bytes(call.input_json)):
        for text in strings_in(call.input_json):
            if (span := query.find(text)) is not None:
                yield Match("input", tool, text, *span)
                break
    if result is not None and result.output_json is not None:
        yield from _match("output", tool, result.output_json, query)


def output_of(output: Raw | None) -> str:
    """The result of a tool as text: its texts, or its JSON if it has none."""
    if output is None:
        return ""
    return text_of(output) or bytes(output).decode("utf-8", "replace")


def strings_in(raw: Raw) -> Iterator[str]:
    """The strings in a JSON value, in order, without the names of members; without recursion."""
    try:
        todo: list[Any] = [decode_json(raw)]
    except (ValueError, RecursionError):
        yield bytes(raw).decode("utf-8", "replace")
        return
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            todo += reversed(value.values())  # pyright: ignore[reportUnknownMemberType,reportUnknownArgumentType] - decoded JSON
        elif isinstance(value, list):
            todo += reversed(value)  # pyright: ignore[reportUnknownArgumentType] - decoded JSON


def _match(place: str, tool: str | None, raw: Raw, query: TextQuery) -> Iterator[Match]:
    if not query.may_hold(bytes(raw)):
        return
    text = output_of(raw) if place == "output" else text_of(raw)
    if (span := query.find(text)) is not None:
        yield Match(place, tool, text, *span)

"""The JSON objects of a record, decoded without knowing its dialect."""

from collections.abc import Mapping
from typing import Any

from agentv_stages.chain.python_repr import read_repr
from agentv_stages.chain.torn_document import whole_part
from agentv_stages.chain.welded import cut
from agentv_stages.model.batch import Record
from agentv_stages.model.payload import decode_json

MOST_OBJECTS = 64  # of an array


def objects(record: Record) -> list[Mapping[str, Any]]:
    """The JSON objects of a record: itself, or the first elements of an array; none for anything else.

    For a truncated document, those of its intact part; of a line with several records or noise, each whole one; of a
    line as Python prints an object, that.
    """
    try:
        value = decode_json(record.data)
    except (ValueError, RecursionError):
        printed = read_repr(record.data)
        if printed is not None:
            return [printed]
        torn = whole_part(record.data.decode("utf-8", "replace")) if record.row == 0 else None
        if torn is not None:
            return list(torn[0][:MOST_OBJECTS])
        return list(cut(record.data.decode("utf-8", "replace"))[0][:MOST_OBJECTS]) if b'{"' in record.data else []
    if isinstance(value, list):
        return [v for v in value[:MOST_OBJECTS] if isinstance(v, dict)]  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    return [value] if isinstance(value, dict) else []  # pyright: ignore[reportUnknownVariableType] - decoded JSON

"""Recognises OTLP JSON with spans of agents by its first records."""

from collections.abc import Iterator, Mapping
from typing import Any

from agentv_stages.model.provider import Head
from agentv_stages.providers.otlp.names import MARKS
from agentv_stages.providers.otlp.wire import as_list, as_object, parts_of

_MOST_SPANS = 10_000


def detect(head: Head) -> float:
    """1.0 if a span, or its scope, has a name that only agents' spans have."""
    seen = 0
    for record in head:
        for keys in _keys(record):
            if any(key.startswith(MARKS) for key in keys):
                return 1.0
            seen += 1
            if seen > _MOST_SPANS:
                return 0.0
    return 0.0


def _keys(record: Mapping[str, Any]) -> Iterator[list[str]]:
    """The names in each span: of its attributes, its own, and that of its scope."""
    for part in parts_of(record):
        for span in part.spans:
            pairs = map(as_object, as_list(span.get("attributes")))
            yield [*(str(pair.get("key")) for pair in pairs), str(span.get("name")), part.scope]

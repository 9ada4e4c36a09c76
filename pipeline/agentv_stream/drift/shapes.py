"""The shape of a record: a decoded JSON value in, the paths of its fields with their kinds out; no values of people.

A path joins names with dots, and has `[]` for the elements of a list and `*` for keys that are no names of fields: ids,
paths, names of models. Payloads whose members a tool or a person chooses (arguments, outputs) are not entered.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, cast

KINDS: dict[type[object], str] = {
    str: "text",
    bool: "bool",
    int: "number",
    float: "number",
    dict: "object",
    list: "list",
}
MOST_DEEP = 12
MOST_KEYS = 60  # of an object; one with more is a map
OPEN = frozenset(
    (
        *("input", "arguments", "args", "rawInput", "rawOutput", "output", "toolUseResult", "tool_use_result"),
        *("structuredContent", "structured_content", "response", "parameters", "properties", "schema", "inputSchema"),
        *("input_schema", "variables", "env", "headers", "metadata", "details", "function_args", "invocation_params"),
        *("resultDisplay", "_meta", "toolSpecificData", "outputSchema", "extra", "changes", "mcp_servers"),
    )
)
"""Fields whose members are chosen by tools, servers and people."""
WORDS = frozenset(
    (
        *("type", "subtype", "kind", "role", "status", "state", "outcome", "reason", "stop_reason", "stopReason"),
        *("finish", "finish_reason", "finishReason", "operation", "mode", "phase", "event", "method", "sessionUpdate"),
        *("decision", "level", "trigger", "terminal_reason", "provenance", "promptSource", "entrypoint", "userType"),
        *("service_tier", "event.name", "permissionMode", "permission_mode"),
    )
)
"""Fields whose texts are words of the format."""
_NAME = re.compile(r"(?:event\.)?[A-Za-z_$][A-Za-z_$]*(?:\d{1,2}[A-Za-z_$]+){0,3}\d{0,2}\Z")  # no name of a file
_WORD = re.compile(r"[A-Za-z][A-Za-z_./:-]{0,39}\d{0,2}\Z")
_LONGEST = 40
_MOST_DIGITS = 3
_MOST_NAMED = 4  # keys of a map that look like names of fields


def dicts_of(value: object) -> list[dict[str, Any]]:
    """The records of a line: the object, or the objects of an array, which is a log of some agents."""
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", one) for one in values if isinstance(one, dict)]


def fields_of(record: dict[str, Any], maps: Collection[str] = ()) -> Iterator[tuple[str, str, str | None]]:
    """Path, kind, and word of each field; the word is None where the field holds none of the format. Null is left out:
    any field may be null. `maps` are paths of objects whose keys are no names of fields."""
    todo: list[tuple[str, object, int]] = [("", record, 0)]
    while todo:
        path, value, depth = todo.pop()
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            many = len(members) > MOST_KEYS or path in maps
            for key, member in members.items():
                kind = KINDS.get(type(member))
                if kind is None:
                    continue
                name = "*" if many or not is_name(key) else key
                below = f"{path}.{name}" if path else name
                yield below, kind, _word(key, member)
                entered = name not in OPEN and (name != "*" or path in maps)  # in a new map anything may be a key
                if kind in ("object", "list") and entered and depth < MOST_DEEP:
                    todo.append((below, member, depth + 1))
        elif isinstance(value, list):
            for member in cast("list[object]", value):
                kind = KINDS.get(type(member))
                if kind in ("object", "list") and depth < MOST_DEEP:
                    todo.append((f"{path}[]", member, depth + 1))


def is_name(key: str) -> bool:
    """Whether a key can be the name of a field: no id, path, or name of a model or tool."""
    digits = sum(map(str.isdigit, key))
    return len(key) <= _LONGEST and digits <= _MOST_DIGITS and _NAME.match(key) is not None


def label_of(record: dict[str, Any]) -> str:
    """The type of a record, of the words at its beginning: `system/init`, `response_item/message`; empty for none."""
    payload = record.get("payload")
    found = [record.get(name) for name in ("type", "kind", "method", "role", "subtype")]
    found.append(cast("dict[str, object]", payload).get("type") if isinstance(payload, dict) else None)
    return "/".join(word for word in found if isinstance(word, str) and _WORD.match(word))


def maps_in(paths: Collection[str]) -> frozenset[str]:
    """The objects among known fields that are maps: hardly any of their keys is the name of a field."""
    names = Counter(path.rpartition(".")[0] for path in paths if not path.endswith(".*"))
    return frozenset(path[:-2] for path in paths if path.endswith(".*") and names[path[:-2]] <= _MOST_NAMED)


def _word(key: str, value: object) -> str | None:
    return value if key in WORDS and isinstance(value, str) and _WORD.match(value) else None

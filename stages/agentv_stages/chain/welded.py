"""Several records on one line: extracts whole objects from a text that is not one JSON value.

In: the text. Out: the objects, run together as `}{` or after noise or torn records, and the remaining text.
"""

import json
from typing import Any

from agentv_stages.model.payload import number

_MOST_TORN = 16  # breaks in one line after which another record is looked for
_LONGEST_STUMBLE = 10  # characters from where a parser reports the error to the record after a torn literal or escape
_read = json.JSONDecoder(strict=False, parse_int=number).raw_decode


def cut(text: str) -> tuple[list[dict[str, Any]], str]:
    """The whole records in `text`, and the remaining characters; linear in the length.

    A record begins at the first `{"`, after a whole record, or where another one was torn. Something inside a torn
    record is never a record of its own, whatever it looks like.
    """
    found: list[dict[str, Any]] = []
    rest: list[str] = []
    at, tries = 0, 0
    start = text.find('{"')
    while start >= 0:
        try:
            value, end = _read(text, start)
        except RecursionError:
            break
        except json.JSONDecodeError as error:
            tries += 1
            start = _next_start(text, start, error) if tries <= _MOST_TORN else -1
            continue
        rest.append(text[at:start])
        found.append(value)
        at = end
        start = text.find('{"', at)
    rest.append(text[at:])
    return found, "".join(rest).strip()


def at_end(text: str, error: json.JSONDecodeError) -> bool:
    """Whether a text is invalid JSON because it ends too early."""
    return error.msg.startswith("Unterminated string") or error.pos + _LONGEST_STUMBLE >= len(text.rstrip())


def _next_start(text: str, start: int, error: json.JSONDecodeError) -> int:
    """The place where the next record can begin after the record at `start` broke at `error`; -1 where none can.

    When a record follows a torn one, the parser reports the error near the first characters of the new record.
    """
    broken = error.pos
    if error.msg.startswith("Unterminated string") or broken >= len(text.rstrip()):
        return -1  # it is cut off at the end of the text: everything in it is its own
    near = text.find('{"', broken, broken + _LONGEST_STUMBLE)
    for place in (text.rfind('{"', start + 1, broken + 2), near):
        if place > start and _stands_alone(text, place, broken):
            return place
    welded = text.find('}{"', broken)
    return welded + 1 if welded >= 0 else -1


def _stands_alone(text: str, place: int, broken: int) -> bool:
    """Whether a whole object begins at `place`, extends past the break, and is not a member of the torn record."""
    try:
        _, end = _read(text, place)
    except (ValueError, RecursionError):
        return False
    return end > broken and text[end : end + 1] not in (",", "]", "}", ":")

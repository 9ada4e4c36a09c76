"""Prompts and arguments without the parts that Droid's program adds."""

import re

import msgspec
from msgspec import Raw

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import EMPTY_OBJECT, Source, UserText
from agentv_stages.model.payload import text_json, text_of, to_raw

_REMINDERS = re.compile(r"\s*(?:<system-reminder>.*?</system-reminder>\s*)+", re.DOTALL)
_OPEN = "<system-reminder>"
_RISK = ("riskLevel", "riskLevelReason")
_members = msgspec.json.Decoder(dict[str, Raw]).decode


def add_prompt(source: Source, part: str, text: Raw, message_id: str, batch: Batch, *, injected: bool = False) -> None:
    """Appends a user's text; reminders at its beginning come as an injected text of their own."""
    whole = text_of(text_json(text))
    found = None if injected else _REMINDERS.match(whole)
    if found is not None:
        batch.events.append(
            UserText(source, f"{part}-reminder", to_raw(found[0].strip()), f"{message_id}-reminder", injected=True)
        )
        whole = whole[found.end() :]
        if not whole:
            return
    body = text_json(text) if found is None else to_raw(whole)
    batch.events.append(UserText(source, part, body, message_id, injected or whole.lstrip().startswith(_OPEN)))


def arguments(parameters: Raw) -> Raw:
    """The input of a call without the model's estimate of its risk."""
    if b'"riskLevel' not in bytes(parameters):
        return parameters or EMPTY_OBJECT
    try:
        members = _members(parameters)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return parameters
    return to_raw({key: value for key, value in members.items() if key not in _RISK})

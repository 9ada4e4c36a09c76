"""Reads the files in which an agent lists the folders where it has logs, such as Crush's list of projects."""

import os
from pathlib import Path
from typing import Any

import msgspec

from agentv_stages.model.provider import Registry

MOST_REGISTRY = 4 * 1024 * 1024


def registered_folders(root: str, registry: Registry) -> list[str]:
    """The folders that the registry in a root names, each once. A file that is missing or damaged names none: its agent
    may be writing it."""
    try:
        with Path(root, registry.file).open("rb") as file:
            members = msgspec.json.decode(file.read(MOST_REGISTRY), type=dict[str, Any])
        entries = msgspec.convert(members.get(registry.entries), list[Any])
    except (OSError, msgspec.MsgspecError, RecursionError):
        return []
    places = (_folder(entry, registry) for entry in entries)
    return list(dict.fromkeys(place for place in places if place is not None))


def _folder(entry: object, registry: Registry) -> str | None:
    """The absolute path of an entry's folder; None for an entry that has none."""
    try:
        members = msgspec.convert(entry, dict[str, Any])
        place = Path(msgspec.convert(members[registry.base], str), msgspec.convert(members[registry.folder], str))
    except (KeyError, msgspec.ValidationError):
        return None
    text = os.path.normpath(place)
    return text if text.startswith("/") and "\0" not in text else None

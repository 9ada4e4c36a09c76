"""Gemini CLI's habits over ACP: no arguments, names in ids. Source: recordings of 0.29 to 0.61."""

import re

from agentv_stages.model.acp import AcpHabits

ID = re.compile(r"(?P<name>[A-Za-z_][\w.-]{0,127}?)__(?P=name)_\d+_(?P<part>\d+)\Z")
OLD_ID = re.compile(r"(?P<name>[A-Za-z_][\w.-]*?)-\d{11,}(?:-\d+)?\Z")  # with a counter behind it in 0.41


def name_in_id(call_id: str) -> str | None:
    """`read_file__read_file_1795239158108_1`, older `read_file-1795239158108`."""
    found = ID.match(call_id) or OLD_ID.match(call_id)
    return found["name"] if found else None


def part_in_id(call_id: str) -> int:
    found = ID.match(call_id) if "__" in call_id else None
    return int(found["part"]) if found else 0


HABITS = AcpHabits(
    marks=("gemini",), name_in_id=name_in_id, part_in_id=part_in_id, shows_arguments=True, awaits_arguments=False
)

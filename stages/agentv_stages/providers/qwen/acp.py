"""Qwen Code's habits over ACP. Source: recordings of 0.10 to 0.24."""

import re

from agentv_stages.model.acp import AcpHabits

_MODEL = re.compile(r"(?:\$runtime\|[^|]+\|)?(?P<name>.+)\([\w-]+\)\Z")


def model_name(name: str) -> str | None:
    """A model without the login method around it (`$runtime|openai|m(openai)`), as on disk."""
    found = _MODEL.match(name)
    return found["name"] if found else None


HABITS = AcpHabits(marks=("qwen",), plan_tool="todo_write", model_name=model_name, shown_output=True)

"""Fills `${{ NAME }}` in a spec from the environment. In: a document as read. Out: the same one, its texts filled in.

A name that is not set is an empty text, and a warning. Keys stay as they are.
Source: AgentV since March 2026 (`interpolateEnv`): a text that is nothing but one variable may spell a number.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentv_stages.trajectory.config import Filled
from agentv_stages.trajectory.json_values import is_list, is_object
from agentv_stream.checks.yaml_lines import At, Document

VARIABLE = re.compile(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
ANY = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)


def fill_variables(document: Document, environment: Mapping[str, str]) -> Document:
    """Fills in all texts of a document; `document.unset` then names the variables that have no value, by place."""
    document.value = _filled(document, (), document.value, environment)
    return document


def unfilled(document: Document) -> Iterator[tuple[At, str]]:
    """The warnings, each with its place: variables that are not set, and text that only looks like a variable."""
    for at, name in document.unset:
        if VARIABLE.fullmatch(name):
            yield at, f"{name} is not set in the environment: an empty text stands in its place"
        else:
            yield at, f"{name} names no variable of the environment, and stays as it is"


def _filled(document: Document, at: At, value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _text(document, at, value, environment) if "${{" in value else value
    if is_object(value):
        return {key: _filled(document, (*at, key), member, environment) for key, member in value.items()}
    if is_list(value):
        return [_filled(document, (*at, i), item, environment) for i, item in enumerate(value)]
    return value


def _text(document: Document, at: At, text: str, environment: Mapping[str, str]) -> str:
    for found in ANY.finditer(text):
        name = VARIABLE.fullmatch(found[0])
        if name is None or name[1] not in environment:
            document.unset.append((at, found[0]))
    whole = VARIABLE.fullmatch(text)
    if whole is not None:
        return Filled(environment.get(whole[1], ""))
    return VARIABLE.sub(lambda name: environment.get(name[1], ""), text)

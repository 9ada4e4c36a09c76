"""Writes the module of all providers' roots. In: the providers. Out: `agentv_stages/providers/log_roots.py`.

Looking for sessions needs the roots of every agent, and the decoders of none; importing them all takes 0.2 s.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from agentv_stages.model.provider import LogRoot, Registry
from agentv_stages.providers import NAMES, get_provider

_HEAD = '''"""The roots of every provider, so that looking for sessions imports no decoder.

Written by `make docs` from the `roots` of the providers; do not edit.
"""

from agentv_stages.model.provider import LogRoot, Registry

LOG_ROOTS: dict[str, tuple[LogRoot, ...]] = {
'''


def module() -> str:
    """The text of the module."""
    return "".join((_HEAD, *_rows(), "}\n"))


def _rows() -> Iterator[str]:
    for name in NAMES:
        roots = get_provider(name).roots
        if roots:
            yield f'    "{name}": (\n'
            for root in roots:
                yield "        LogRoot(\n"
                yield from (f"            {fact}={value},\n" for fact, value in _facts(root))
                yield "        ),\n"
            yield "    ),\n"


def _facts(root: LogRoot) -> Iterator[tuple[str, str]]:
    for field in structs.fields(LogRoot):
        value = getattr(root, field.name)
        if field.name == "patterns" and len(root.patterns) > 1:
            lines = "".join(f"                {json.dumps(pattern)},\n" for pattern in root.patterns)
            yield field.name, f"(\n{lines}            )"
        elif field.name == "patterns" and value != field.default:
            yield field.name, f"({', '.join(map(json.dumps, root.patterns))},)"
        elif field.required or value != field.default:
            yield field.name, _literal(value)


def _literal(value: object) -> str:
    if isinstance(value, Registry):
        return f"Registry({', '.join(f'{name}={json.dumps(text)}' for name, text in structs.asdict(value).items())})"
    return json.dumps(value) if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    text = module()  # before the file is opened, which it imports
    Path(sys.argv[1]).write_text(text, encoding="utf-8")

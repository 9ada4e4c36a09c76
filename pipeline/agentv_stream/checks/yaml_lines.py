"""Reads YAML and remembers on which line each value stands, so that an error can point at it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from msgspec import MsgspecError, json

from agentv_stream.errors import UsageError
from agentv_stream.nearest import suggestion

At: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys and indices."""

MOST_VALUES = 50_000
MAX_DEPTH = 60


class SpecError(UsageError):
    """A file of the user's that cannot be used; the message begins with `file:line`."""


@dataclass
class Document:
    """A decoded file. `lines` maps the way to a value to its line, counted from 1."""

    path: Path
    value: Any
    lines: dict[At, int] = field(default_factory=dict[At, int])

    def line(self, at: At) -> int:
        """The line of a value, or of the nearest thing around it."""
        for end in range(len(at), -1, -1):
            found = self.lines.get(at[:end])
            if found is not None:
                return found
        return 1

    def error(self, at: At, message: str, known: Iterable[str] = (), wrong: str | None = None) -> SpecError:
        """An error about a value; with `wrong` the nearest of the `known` names is offered."""
        hint = suggestion(wrong, known) if wrong is not None else ""
        return SpecError(f"{self.path}:{self.line(at)}: {message}{hint}")


def read_yaml(path: Path) -> Document:
    """Reads one YAML file (JSON is YAML). Raises: SpecError."""
    return parse_yaml(path, read_text(path))


def read_text(path: Path) -> str:
    """Raises: SpecError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: is no UTF-8 text ({error.reason} at byte {error.start})") from error


def parse_yaml(path: Path, text: str) -> Document:
    """As `read_yaml`, of a text. Raises: SpecError."""
    try:
        loader = yaml.SafeLoader(text)
    except yaml.YAMLError as error:
        raise SpecError(f"{path}:1: is no YAML: {error}") from error
    try:
        node: Any = loader.get_single_node()
        document = Document(path, None)
        if node is not None:
            document.value = _Reader(loader, document).value(node, ())
        return document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark is not None else 1
        raise SpecError(f"{path}:{line}: is no YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise SpecError(f"{path}:1: is no YAML: {error}") from error
    finally:
        loader.dispose()


def read_jsonl(path: Path) -> list[Document]:
    """One document a line; blank lines and lines of comments (`//`, `#`) are passed over. Raises: SpecError."""
    documents: list[Document] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        text = line.strip()
        if not text or text.startswith(("//", "#")):
            continue
        try:
            value = json.decode(text)
        except MsgspecError as error:
            raise SpecError(f"{path}:{number}: is no JSON: {error}") from error
        documents.append(Document(path, value, {(): number}))
    return documents


class _Reader:
    """Builds values of nodes. Aliases are followed, but not without end."""

    def __init__(self, loader: yaml.SafeLoader, document: Document) -> None:
        self.loader: Any = loader
        self.document = document
        self.left = MOST_VALUES

    def value(self, node: Any, at: At) -> Any:
        self.left -= 1
        line = int(node.start_mark.line) + 1
        if self.left < 0 or len(at) > MAX_DEPTH:
            raise SpecError(f"{self.document.path}:{line}: too many or too deeply nested values")
        self.document.lines.setdefault(at, line)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            items: Any = node.value
            return [self.value(item, (*at, i)) for i, item in enumerate(items)]
        return self.loader.construct_object(node, deep=True)

    def mapping(self, node: Any, at: At) -> dict[str, Any]:
        own = {key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)}
        if len(own) != len([key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]):
            self.refuse_twice(node)
        self.loader.flatten_mapping(node)
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key: Any = self.loader.construct_object(key_node, deep=True)
            # YAML 1.1 reads the keys on, off, yes, no as booleans; they were texts.
            name = key if isinstance(key, str) else str(key_node.value)
            self.document.lines[(*at, name)] = int(key_node.start_mark.line) + 1
            out[name] = self.value(value_node, (*at, name))
        return out

    def refuse_twice(self, node: Any) -> None:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                name: Any = key.value
                if name in seen and name != "<<":
                    line = int(key.start_mark.line) + 1
                    raise SpecError(f"{self.document.path}:{line}: the key {name!r} stands here twice")
                seen.add(name)

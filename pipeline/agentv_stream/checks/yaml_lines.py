"""Reads YAML and records the line of each value, so that an error can point at it.

Plain scalars are read by YAML 1.2, as AgentV reads them: `yes`, `no`, `on` and `2026-01-02` are texts, `0755` is 755.
"""

import codecs
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import yaml
from msgspec import MsgspecError, Raw, json

from agentv_stream.errors import UsageError
from agentv_stream.names import suggestion

At: TypeAlias = tuple[str | int, ...]
"""The path to a value: keys and indices."""

MOST_VALUES = 50_000
MAX_DEPTH = 60
TOO_DEEP = "too many or too deeply nested values"


class TooManyValues(Exception):
    """The argument is the line."""


class _CoreLoader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalars of YAML 1.2's core schema, and merge keys. It stops after `MOST_VALUES`."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Raises: TooManyValues, before a large text is read to its end for nothing."""
        self.nodes += 1
        if self.nodes > 2 * MOST_VALUES:  # a member of a mapping is two nodes
            raise TooManyValues(cast("Any", self).peek_event().start_mark.line + 1)
        return cast("Any", super()).compose_node(parent, index)

    def read_int(self, node: Any) -> int:
        text: str = node.value
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)

    def read_float(self, node: Any) -> float:
        text: str = node.value
        return float(text.replace(".", "", 1) if text.lower().lstrip("+-") in (".inf", ".nan") else text)

    def read_text(self, node: Any) -> str:
        return str(node.value)


_Loader: Any = _CoreLoader  # PyYAML's class methods are untyped
_Loader.yaml_implicit_resolvers = {}  # a table of its own, without those of YAML 1.1
for _tag, _words, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
    ("merge", "<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_words})\\Z"), _first)
_Loader.add_constructor("tag:yaml.org,2002:int", _CoreLoader.read_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _CoreLoader.read_float)
_Loader.add_constructor("tag:yaml.org,2002:merge", _CoreLoader.read_text)  # where it is no key


MOST_ERRORS = 100
"""After that many errors no more are looked for."""


class SpecError(UsageError):
    """A user's file that cannot be used; the message begins with `file:line`.

    `further` are its other errors, `MOST_ERRORS` at most.
    """

    further: "tuple[SpecError, ...]" = ()

    def __str__(self) -> str:
        more = f" ({len(self.further)} more; `agentv-stream validate` lists all)" if self.further else ""
        return f"{self.message}{more}"

    @property
    def message(self) -> str:
        """The first error alone."""
        return str(self.args[0])


class Errors:
    """Collects the errors of a file; each is reported once."""

    def __init__(self) -> None:
        self.all: list[SpecError] = []

    @property
    def full(self) -> bool:
        return len(self.all) >= MOST_ERRORS

    def note(self, error: SpecError) -> None:
        """Records an error, so that reading can continue after it."""
        if not self.full and all(error.message != known.message for known in self.all):
            self.all.append(error)

    @contextmanager
    def noting(self) -> Generator[None]:
        """Records a SpecError raised in this context instead of passing it on."""
        try:
            yield
        except SpecError as error:
            for mistake in (error, *error.further):
                self.note(mistake)

    def check(self) -> None:
        """Raises: SpecError, the first one in the file with the others as `further`, if anything was noted."""
        if not self.all:
            return
        first, *others = sorted(self.all, key=_place)  # errors of building are noted after those of reading
        first.further = tuple(others)
        raise first


def _place(error: SpecError) -> tuple[str, int]:
    found = re.match(r"(.*?):(\d+): ", error.message)
    return (found.group(1), int(found.group(2))) if found is not None else ("", 0)


@dataclass
class Document:
    """A decoded file. `lines` maps the path of a value to its line, counted from 1.

    `written` holds numbers, truth values and nulls as they are in the file: 007 and 1.10 are also names. `unset` names
    the variables that have no value (`checks.variables`).
    """

    path: Path
    value: Any
    lines: dict[At, int] = field(default_factory=dict[At, int])
    written: dict[At, str] = field(default_factory=dict[At, str])
    unset: list[tuple[At, str]] = field(default_factory=list[tuple[At, str]])

    def name(self, at: At, value: Any) -> str | None:
        """The value at a location as a name: its text as it is in the file. None if it is no scalar, or blank."""
        if isinstance(value, str):
            return value if value.strip() else None
        return self.written.get(at) if isinstance(value, bool | int | float) else None

    def line(self, at: At) -> int:
        """The line of a value, or of the nearest value around it."""
        for end in range(len(at), -1, -1):
            found = self.lines.get(at[:end])
            if found is not None:
                return found
        return 1

    def error(self, at: At, message: str, known: Iterable[str] = (), wrong: str | None = None) -> SpecError:
        """An error about a value; with `wrong` the most similar of the `known` names is suggested."""
        hint = suggestion(wrong, known) if wrong is not None else ""
        empty = next((f"; {name} is not set" for place, name in self.unset if place[: len(at)] == at and at), "")
        return SpecError(f"{self.path}:{self.line(at)}: {message}{hint}{empty}")


def read_yaml(path: Path) -> Document:
    """Reads one YAML file (JSON is YAML). Raises: SpecError."""
    return parse_yaml(path, read_text(path))


MOST_BYTES = 1024 * 1024  # of a spec; PyYAML reads 25 KB a second


def read_text(path: Path) -> str:
    """Raises: SpecError, also for a file that is too large, or has no end."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) > MOST_BYTES:
        raise SpecError(f"{path}: is larger than 1 MiB, which no spec is; cases may be files of their own")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SpecError(f"{path}:1: is UTF-16 text; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SpecError(f"{path}:{line}: is not UTF-8 text ({error.reason} at byte {error.start})") from error


def parse_yaml(path: Path, text: str) -> Document:
    """As `read_yaml`, for a text. Raises: SpecError."""
    if path.suffix == ".json":
        text = text.replace("\t", " ")  # JSON strings contain no raw tab, and PyYAML accepts none between tokens
    try:
        loader = _CoreLoader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"the character U+{int(error.character):04X} is not allowed"
        raise SpecError(f"{path}:{line}: is not YAML: {problem}") from error
    try:
        node: Any = loader.get_single_node()
        document = Document(path, None)
        if node is not None:
            document.value = _Reader(loader, document).value(node, ())
        return document
    except yaml.MarkedYAMLError as error:
        raise SpecError(f"{path}:{_where_and_what(error)}") from error
    except RecursionError as error:
        raise SpecError(f"{path}:1: {TOO_DEEP}") from error
    except TooManyValues as error:
        raise SpecError(f"{path}:{error}: {TOO_DEEP}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise SpecError(f"{path}:1: is not YAML: {error}") from error
    finally:
        loader.dispose()


def _where_and_what(error: yaml.MarkedYAMLError) -> str:
    """The line and the text of an error; also the place where it began, if that is in another line (a quoted text that
    is never closed is noticed at the end of the file)."""
    mark, begun = error.problem_mark or error.context_mark, error.context_mark
    line = mark.line + 1 if mark is not None else 1
    if error.context == "expected a single document in the stream":
        return f"{line}: another document begins here; a file holds one"
    text = str(error.problem or error.context)
    if error.problem and error.context and begun is not None and begun.line + 1 != line:
        text = f"{error.context} that begins in line {begun.line + 1}: {text}"
    return f"{line}: is not YAML: {text}"


def read_jsonl(path: Path, errors: Errors) -> list[Document]:
    """One document per line; blank lines and comment lines (`//`, `#`) are skipped, broken ones noted.

    Raises: SpecError if the file cannot be read.
    """
    documents: list[Document] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        text = line.strip()
        if not text or text.startswith(("//", "#")):
            continue
        try:
            value = json.decode(text)
        except MsgspecError as error:
            errors.note(SpecError(f"{path}:{number}: is not JSON: {error}"))
            continue
        documents.append(Document(path, value, {(): number}, _written(text)))
    return documents


def _written(text: str) -> dict[At, str]:
    """The members of a JSON object that are no texts, as they are written."""
    with suppress(MsgspecError):
        raw = {key: bytes(value).decode() for key, value in json.decode(text, type=dict[str, Raw]).items()}
        return {(key,): value for key, value in raw.items() if value[0] not in '"{['}
    return {}


class _Reader:
    """Builds the values of nodes. Aliases are followed, but not endlessly."""

    def __init__(self, loader: yaml.SafeLoader, document: Document) -> None:
        self.loader: Any = loader
        self.document = document
        self.left = MOST_VALUES

    def value(self, node: Any, at: At) -> Any:
        self.left -= 1
        line = int(node.start_mark.line) + 1
        if self.left < 0 or len(at) > MAX_DEPTH:
            raise SpecError(f"{self.document.path}:{line}: {TOO_DEEP}")
        self.document.lines.setdefault(at, line)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, at)
        if isinstance(node, yaml.SequenceNode):
            items: Any = node.value
            return [self.value(item, (*at, i)) for i, item in enumerate(items)]
        value = self.plain(node)
        if not isinstance(value, str):
            self.document.written[at] = node.value
        return value

    def plain(self, node: Any) -> Any:
        line = int(node.start_mark.line) + 1
        try:
            value = self.loader.construct_object(node, deep=True)
            # JSON writes characters beyond 16 bits as two escapes, which PyYAML does not combine.
            return value.encode("utf-16", "surrogatepass").decode("utf-16") if isinstance(value, str) else value
        except ValueError as error:  # a number with too many digits, a lone surrogate, a wrong tag
            short = str(error).split(":", 1)[0]
            raise SpecError(f"{self.document.path}:{line}: cannot read {str(node.value)[:40]!r}: {short}") from error

    def mapping(self, node: Any, at: At) -> dict[str, Any]:
        own = {key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)}
        if len(own) != len([key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]):
            self.refuse_twice(node)
        self.loader.flatten_mapping(node)
        members: dict[str, tuple[Any, Any]] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                line = int(key_node.start_mark.line) + 1
                raise SpecError(f"{self.document.path}:{line}: a key must be a text, not a list or a mapping")
            key: Any = self.plain(key_node)
            # A member of its own replaces a merged one, which comes first: lines are those of what counts.
            members[key if isinstance(key, str) else str(key_node.value)] = key_node, value_node
        out: dict[str, Any] = {}
        for name, (key_node, value_node) in members.items():
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
                    raise SpecError(f"{self.document.path}:{line}: the key {name!r} is here twice")
                seen.add(name)

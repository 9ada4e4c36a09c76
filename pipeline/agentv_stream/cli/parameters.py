"""The arguments and options that commands declare, and the words of an ordinary call parsed by them.

In: a command's function and words. Out: the arguments to call it with, or None: help, a mistake or an unusual form is
for typer (`program.py`), which reads the same declarations. Importing typer takes 40 ms, a third of a short command.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType, UnionType
from typing import Annotated, Any, get_args, get_origin

PAIR = "EVENT COMMAND"
"""The metavar of an option that takes two values."""
_PLACE = re.compile("DIR|FILE|PATH|URL")  # in a metavar
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
_KNOWN = frozenset(("metavar", "help", "min", "max", "parser", "hidden", "show_default"))
_WHOLE = re.compile(r"\d{1,18}")
_DECIMAL = re.compile(r"\d{1,18}(\.\d{1,18})?")


class _Parameter:
    """A parameter of a command, declared in `Annotated`: its names and typer's keywords."""

    def __init__(self, *names: str, **facts: Any) -> None:
        self.names = names
        self.facts = facts


class Option(_Parameter):
    """An option. Without names it has that of its parameter: `--dry-run`, of a flag also `--no-dry-run`."""


class Argument(_Parameter):
    """A word by its position."""


class Rest:
    """The words that no parameter takes."""

    def __init__(self) -> None:
        self.args: list[str] = []


class _Field:
    """A parameter as it is parsed. `many`: its values are a list."""

    def __init__(self, name: str, kind: Any, declared: _Parameter) -> None:
        kinds = [part for part in get_args(kind) if part is not type(None)]
        inner = kinds[0] if get_origin(kind) is UnionType and len(kinds) == 1 else kind
        self.name = name
        self.many = get_origin(inner) is list
        self.kind: Any = get_args(inner)[0] if self.many else inner
        self.facts = declared.facts
        self.usual = self.kind in (str, Path, int, float, bool) and self.facts.keys() <= _KNOWN
        self.usual = self.usual and self.facts.get("metavar") != PAIR and not (self.many and self.kind is bool)


def is_place(metavar: str | None) -> bool:
    """Whether the value of an option or argument is a place: a file, a folder, a URL."""
    return _PLACE.search(metavar or "") is not None


def is_wrong_url(metavar: str | None, value: str) -> bool:
    """Whether a value is a URL where only a place on this machine is possible: it would be a folder `s3:`."""
    return is_place(metavar) and "URL" not in (metavar or "") and _URL.match(value) is not None


class _Unusual(Exception):
    """A form that typer has to read."""


def parse(function: Any, words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments with which the words call the function; None if typer has to read them."""
    if not isinstance(function, FunctionType):
        return None  # the commands below another one
    values: dict[str, Any] = {}
    flags: dict[str, tuple[_Field, bool]] = {}
    options: dict[str, _Field] = {}
    positions: list[_Field] = []
    hints: dict[str, Any] = function.__annotations__
    for name, hint in hints.items():
        form: Any = get_origin(hint)
        if hint is Rest:
            values[name] = Rest()
        elif form is Annotated:
            kind, declared = get_args(hint)
            field = _Field(name, kind, declared)
            if isinstance(declared, Argument):
                positions.append(field)
            else:
                _name_option(field, declared.names, flags, options)
    try:
        rest = _read(words, flags, options, values)
        _place(rest, positions, values, function)
    except _Unusual:
        return None
    return values


def _name_option(
    field: _Field, names: Sequence[str], flags: dict[str, tuple[_Field, bool]], options: dict[str, _Field]
) -> None:
    dashed = field.name.strip("_").replace("_", "-")
    for name in names or (f"--{dashed}/--no-{dashed}" if field.kind is bool else f"--{dashed}",):
        if field.kind is bool:
            on, _, off = name.partition("/")
            flags[on] = (field, True)
            if off:
                flags[off] = (field, False)
        else:
            options[name] = field


def _read(
    words: Sequence[str], flags: dict[str, tuple[_Field, bool]], options: dict[str, _Field], values: dict[str, Any]
) -> list[str]:
    """Takes the options into `values`; returns the other words. Raises: _Unusual."""
    rest: list[str] = []
    left = iter(words)
    for word in left:
        if word == "--":
            rest += left
            break
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        if word in flags:
            field, value = flags[word]
            if not field.usual:
                raise _Unusual
            values[field.name] = value
            continue
        name, joined, attached = word.partition("=") if word.startswith("--") else (word, "", "")
        text = attached if joined else next(left, "")
        if name not in options or not text or (not joined and text.startswith("-") and text != "-"):
            raise _Unusual
        field = options[name]
        if is_wrong_url(field.facts.get("metavar"), text):
            raise _Unusual
        _take(field, text, values)
    return rest


def _place(rest: Sequence[str], positions: Sequence[_Field], values: dict[str, Any], function: FunctionType) -> None:
    """Takes the words by their position. Raises: _Unusual if there are too many, or a parameter has no value."""
    left = list(rest)
    for field in positions:
        while left:
            _take(field, left.pop(0), values)
            if not field.many:
                break
    code = function.__code__
    necessary = code.co_varnames[: code.co_argcount - len(function.__defaults__ or ())]
    if left or not values.keys() >= set(necessary):
        raise _Unusual


def _take(field: _Field, text: str, values: dict[str, Any]) -> None:
    """Raises: _Unusual for a value that is not plainly of its kind."""
    if not field.usual:
        raise _Unusual
    value = _value(field, text)
    if field.many:
        values.setdefault(field.name, []).append(value)
    else:
        values[field.name] = value


def _value(field: _Field, text: str) -> Any:
    parser: Callable[[str], Any] | None = field.facts.get("parser")
    if parser is not None:
        try:
            return parser(text)
        except ValueError:
            raise _Unusual from None
    if field.kind in (str, Path):
        return field.kind(text)
    if not (_WHOLE if field.kind is int else _DECIMAL).fullmatch(text):
        raise _Unusual
    value = field.kind(text)
    if not field.facts.get("min", value) <= value <= field.facts.get("max", value):
        raise _Unusual
    return value

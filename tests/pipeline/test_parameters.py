"""The words of an ordinary call, parsed without typer: what is understood is what typer understands."""

import shlex
from collections.abc import Sequence
from functools import cache, wraps
from typing import Any

import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from agentv_stream.cli import COMMANDS, PARSING, bare_options, load
from agentv_stream.cli.examples import EXAMPLES
from agentv_stream.cli.parameters import Rest, parse
from agentv_stream.cli.program import PlainCommand, for_typer

PLAIN = [name for name in COMMANDS if name not in ("cursors", "faults", "run")]
VALUES = [
    "a.jsonl",
    "-",
    "--",
    "",
    "3",
    "007",
    "1.5",
    "-5",
    "0",
    "7d",
    "64M",
    "x=y",
    "s3://b/k",
    "-q",
    "--",
    "day,model",
    "é",
]
LINES = [
    shlex.split(line.partition(" | ")[0]) for name in PLAIN for line in EXAMPLES[name] if line.startswith("agentv-")
]


@cache
def program(name: str) -> tuple[Any, list[dict[str, Any]]]:
    """The command as typer parses it, and the arguments of its calls."""
    function, calls = load(name), list[dict[str, Any]]()

    @wraps(function)
    def noted(**arguments: Any) -> None:
        calls.append(arguments)

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(name, cls=PlainCommand, context_settings=PARSING.get(name))(for_typer(noted))
    return app, calls


def by_typer(name: str, words: Sequence[str]) -> dict[str, Any] | None:
    """The arguments of the call; None for a mistake."""
    app, calls = program(name)
    try:
        app(args=list(words), standalone_mode=False)
    except Exception:  # typer's own classes, which it does not export
        return None
    return comparable(calls.pop())


def comparable(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value.args if hasattr(value, "args") else value for name, value in arguments.items()}


def by_parse(name: str, words: Sequence[str]) -> dict[str, Any] | None:
    function = load(name)
    parsed = parse(function, words)
    if parsed is None:
        return None
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return comparable(dict(zip(names, defaults, strict=True)) | parsed)


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_examples_need_no_typer(line: list[str]) -> None:
    words = bare_options(line[1:])
    parsed = by_parse(words[0], words[1:])
    assert parsed is not None
    assert parsed == by_typer(words[0], words[1:])


@cache
def option_names(name: str) -> list[str]:
    command: Any = typer.main.get_command(program(name)[0])
    return [word for p in command.params if p.param_type_name == "option" for word in (*p.opts, *p.secondary_opts)] or [
        "--x"
    ]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, list[str]]:
    name = draw(st.sampled_from(PLAIN))
    words: list[str] = []
    for option, value, form in draw(
        st.lists(st.tuples(st.sampled_from(option_names(name)), st.sampled_from(VALUES), st.integers(0, 4)), max_size=4)
    ):
        words += [[option, value], [f"{option}={value}"], [option], [value], [option, value]][form]
    return name, words


@given(calls())
@settings(max_examples=400, deadline=None)
def test_what_is_understood_is_what_typer_understands(call: tuple[str, list[str]]) -> None:
    """The other way round need not hold: whatever is unusual is left to typer."""
    parsed = by_parse(*call)
    if parsed is not None:
        assert parsed == by_typer(*call)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--limit", "x"],
        ["--limit", "-1"],
        ["--sort"],
        ["--json", ""],
        ["--plot", "s3://b/p"],
        ["--sort", "-q"],
    ],
    ids=" ".join,
)
def test_help_and_mistakes_are_for_typer(words: list[str]) -> None:
    assert by_parse("stats", words) is None


def test_words_that_no_parameter_takes_are_for_typer() -> None:
    assert by_parse("consume", ["a.jsonl", "b.jsonl"]) is None
    parsed = parse(load("consume"), ["a.jsonl"])
    assert parsed is not None
    assert isinstance(parsed["context"], Rest)

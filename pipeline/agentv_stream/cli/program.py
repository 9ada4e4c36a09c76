"""The command line as typer shows it: help, mistakes and the commands below `cursors` and `faults`.

Most calls need none of it: `parameters.parse` understands them, and importing typer takes 40 ms.
"""

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand

from agentv_stream.cli.parameters import PAIR, Argument, Rest, is_place, is_wrong_url
from agentv_stream.names import nearly


def for_typer(function: Callable[..., None]) -> Callable[..., None]:
    """The same command, with its parameters declared in typer's terms."""
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=_declared(p.annotation)) for p in signature.parameters.values()]

    @wraps(function)
    def command(*arguments: Any, **options: Any) -> None:
        function(*arguments, **options)

    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__dict__["__signature__"] = signature.replace(parameters=parameters)
    return command


def _declared(hint: Any) -> Any:
    if hint is Rest:
        return typer.Context
    if get_origin(hint) is not Annotated:
        return hint
    kind, declared = get_args(hint)
    facts = dict(declared.facts)
    if "parser" in facts:
        facts["parser"] = _with_message(facts["parser"])
    return Annotated[
        kind, (typer.Argument if isinstance(declared, Argument) else typer.Option)(*declared.names, **facts)
    ]


def _with_message(parser: Callable[[str], Any]) -> Callable[[str], Any]:
    """The parser, with the message of its error; typer shows only the value."""

    @wraps(parser)
    def parse(text: str) -> Any:
        try:
            return parser(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parse


class PlainCommand(TyperCommand):
    """A command whose usage shows its arguments plainly: `SPEC SOURCES...`, where typer adds braces.

    An option without its value does not take the next option as one: `--stats --quiet` would write a file `--quiet`.
    Nor is a place empty: `--out "$DIR"` would write into the current folder if DIR is not set. Nor is it a URL, where
    only files are written: that would be a folder `s3:`.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for param in self.params:
            if param.metavar == PAIR:
                param.nargs = 2  # typer has no list of pairs

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {
            name: param
            for param in self.get_params(ctx)
            if param.param_type_name == "option"
            for name in (*param.opts, *param.secondary_opts)
        }
        words = iter(args)
        for word in words:
            if word == "--" or not (word.startswith("-") or ctx.allow_interspersed_args):
                break  # the rest belongs to the agent
            name, joined, attached = word.partition("=")
            param: Any = options.get(name)
            if param is None or param.is_flag or param.count:
                continue
            value = attached if joined else next(words, None)
            if not joined and value in options:
                ctx.fail(f"Option {name!r} needs a value, and {value!r} is another option.")
            if value == "" and is_place(param.metavar):  # else the current folder would be meant
                ctx.fail(f"Option {name!r} needs a value, and the one given is empty.")
            if value and is_wrong_url(param.metavar, value):
                ctx.fail(f"Option {name!r} needs a place on this machine, and {value!r} is a URL.")
        try:
            return super().parse_args(ctx, args)
        except typer.Exit:  # --help
            raise
        except Exception as error:
            mistake = _mistake(error, options, ctx.command_path)
            if mistake is not None:
                ctx.fail(mistake)
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub(r"^\{(.*)\}$", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]


def _mistake(error: Any, options: dict[str, Any], command: str) -> str | None:
    """A message with the nearest option, or with an example; None for an error whose own message says enough."""
    kind = type(error).__name__  # typer's own classes, which it does not export
    if kind == "NoSuchOption":
        near = nearly(error.option_name.lstrip("-"), [name.lstrip("-") for name in options if name[:2] == "--"])
        hint = f"did you mean '--{near}'?" if near is not None else f"`{command} --help` lists them"
        return f"Unknown option {error.option_name!r}; {hint}"
    if kind != "MissingParameter" or error.param is None or error.param.param_type_name != "argument":
        return None
    from agentv_stream.cli.examples import EXAMPLES

    example = next((line for lines in EXAMPLES.values() for line in lines if f"{command} " in line), "")
    name = (error.param.metavar or error.param.name).strip("[].")
    return f"{name} is missing; for example: {example}" if example else f"{name} is missing"

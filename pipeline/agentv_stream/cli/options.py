"""Arguments and options shared by several commands: with the same name, help and spelling everywhere."""

import re
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand

from agentv_stream.nearest import suggestion
from agentv_stream.units import bytes_of, seconds_of

_PLACE = re.compile("DIR|FILE|PATH|URL")  # in a metavar
_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
PAIR = "EVENT COMMAND"
"""The metavar of an option that takes two values."""


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
            kind = param.metavar or ""
            if value == "" and _PLACE.search(kind):  # else the current folder would be meant
                ctx.fail(f"Option {name!r} needs a value, and the one given is empty.")
            if value and _URL.match(value) and _PLACE.search(kind) and "URL" not in kind:
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
        return f"Unknown option {error.option_name!r}{suggestion(error.option_name, options, ('--help',))}"
    if kind != "MissingParameter" or error.param is None or error.param.param_type_name != "argument":
        return None
    from agentv_stream.cli.examples import EXAMPLES

    example = next((line for lines in EXAMPLES.values() for line in lines if f"{command} " in line), "")
    name = (error.param.metavar or error.param.name).strip("[].")
    return f"{name} is missing; for example: {example}" if example else f"{name} is missing"


def pause(text: str) -> float:
    """Seconds of a duration."""
    try:
        return seconds_of(str(text))  # a default is already a number
    except ValueError as error:
        raise typer.BadParameter(f"{text!r}: {error}") from None


def duration(text: str) -> float:
    """Seconds of a duration, at least a millisecond."""
    seconds = pause(text)
    if seconds < 0.001:
        raise typer.BadParameter(f"{text!r}: expected more than 0")
    return seconds


def byte_count(text: str) -> int:
    """Bytes of a size."""
    try:
        return bytes_of(str(text))
    except ValueError as error:
        raise typer.BadParameter(f"{text!r}: {error}") from None


Sources: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCES...", help="Files, folders, globs, URLs, session ids; - for a list on standard input."
    ),
]

AnySources: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCES...",
        help="Files, folders, globs, URLs, session ids; - for a list on standard input; default: all agents' sessions.",
    ),
]

ProviderOfLogs: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Whose logs they are; detected by content if not given.")
]

TargetName: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the tested target, used in rows and file names.")
]

EngineName: TypeAlias = Annotated[
    str, typer.Option(metavar="ENGINE", help="process, thread, serial or dask://HOST:PORT.")
]

Workers: TypeAlias = Annotated[int | None, typer.Option(min=1, metavar="N", help="How many; all cores if not given.")]

Subagents: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--subagents/--no-subagents",
        help="Read sub-agents' files; the session's own log counts in any case.",
    ),
]

WatchedPrograms: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="PROGRAM", help="A program whose runs in shell calls are listed; repeatable."),
]

Prices: TypeAlias = Annotated[bool, typer.Option("--prices", help="Estimate the cost where the agent does not say.")]

QuietBulk: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")]

CaseId: TypeAlias = Annotated[str | None, typer.Option(metavar="ID", help="Only this case of the spec.")]

Threshold: TypeAlias = Annotated[
    float | None, typer.Option(min=0, max=1, metavar="SCORE", help="Score to pass; takes precedence over the spec's.")
]

ProviderOfLog: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Whose log it is; detected by content if not given.")
]

StreamLogChoice: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="false|summary|raw",
        help="A log of the stream: raw (every record), summary (for people) or false (none, the default).",
    ),
]

Live: TypeAlias = Annotated[
    bool | None, typer.Option("--live/--no-live", help="A live line on standard error; by default in a terminal.")
]

Sync: TypeAlias = Annotated[
    bool | None,
    typer.Option("--sync/--no-sync", help="Wait until outputs are on the disk, for a power cut; the default."),
]

PageToo: TypeAlias = Annotated[
    bool | None, typer.Option("--page/--no-page", help="Also write the session as a page of HTML, secrets redacted.")
]

DumpTraces: TypeAlias = Annotated[
    bool, typer.Option("--dump-traces", help="Also write AgentV's generic trace events, beside the transcript.")
]

IncludeTrace: TypeAlias = Annotated[
    bool, typer.Option("--include-trace", help="Put the trace events into the result, at most 10,000.")
]

Redact: TypeAlias = Annotated[
    bool | None, typer.Option("--redact/--no-redact", help="Replace secrets by markers before anything is written.")
]

Otel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="[URL]",
        help="Send spans to this OpenTelemetry endpoint; without a URL as OTEL_EXPORTER_OTLP_* say.",
    ),
]

OtelFile: TypeAlias = Annotated[str | None, typer.Option(metavar="FILE", help="Write spans as lines of OTLP JSON.")]

OtelContent: TypeAlias = Annotated[
    bool | None,
    typer.Option("--otel-content/--no-otel-content", help="Put texts, inputs and outputs into spans, redacted."),
]

OtelOldNames: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--otel-old-names/--no-otel-old-names",
        help="Also the earlier name of cache writes, for backends that know only that.",
    ),
]

Machine: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of this machine in results and spans; auto: its host name.")
]

LogChoice: TypeAlias = Annotated[
    str | None,
    typer.Option("--log", metavar="plain|json|console", help="Form of the log on standard error; default: plain."),
]

JsonLines: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]

SessionName: TypeAlias = Annotated[str, typer.Argument(metavar="SESSION", help="Session id, its beginning, or a path.")]

OnlyProvider: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="Only this agent's.")]

Roots: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="[NAME=]PATH", help="Look here instead, as PATH or PROVIDER=PATH; repeatable."),
]

WHEN = "today, yesterday, 12h, 7d, 2w, 2026-11-01"

Since: TypeAlias = Annotated[str | None, typer.Option(metavar="WHEN", help=f"From then on: {WHEN}.")]

Until: TypeAlias = Annotated[
    str | None, typer.Option(metavar="WHEN", help="Before then; a day counts whole. The same words as --since.")
]

Utc: TypeAlias = Annotated[bool, typer.Option("--utc", help="Days and times in UTC, not in local time.")]

TimeZone: TypeAlias = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="Days and times in this zone, such as Europe/Berlin.")
]

Csv: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="[FILE]", help="File for the rows as CSV; standard output for - or nothing.")
]

NoPrices: TypeAlias = Annotated[
    bool | None,
    typer.Option("--prices/--no-prices", help="Estimate costs that agents do not report; if prices are installed."),
]

NoCache: TypeAlias = Annotated[
    bool, typer.Option("--cache/--no-cache", help="Keep each session's figures; read only new or changed sessions.")
]

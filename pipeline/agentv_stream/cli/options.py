"""Arguments and options shared by several commands: with the same name, help and spelling everywhere."""

from pathlib import Path
from typing import Annotated, TypeAlias

from agentv_stream.cli.parameters import Argument, Option
from agentv_stream.units import bytes_of, seconds_of


def pause(text: str) -> float:
    """Seconds of a duration. Raises: ValueError."""
    try:
        return seconds_of(str(text))  # a default is already a number
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


def duration(text: str) -> float:
    """Seconds of a duration, at least a millisecond. Raises: ValueError."""
    seconds = pause(text)
    if seconds < 0.001:
        raise ValueError(f"{text!r}: expected more than 0")
    return seconds


def byte_count(text: str) -> int:
    """Bytes of a size. Raises: ValueError."""
    try:
        return bytes_of(str(text))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


Sources: TypeAlias = Annotated[
    list[str],
    Argument(metavar="SOURCES...", help="Files, folders, globs, URLs, session ids; - for a list on standard input."),
]

AnySources: TypeAlias = Annotated[
    list[str] | None,
    Argument(
        metavar="SOURCES...",
        help="Files, folders, globs, URLs, session ids; - for a list on standard input; default: all agents' sessions.",
    ),
]

ProviderOfLogs: TypeAlias = Annotated[
    str | None, Option(metavar="NAME", help="Whose logs they are; detected by content if not given.")
]

TargetName: TypeAlias = Annotated[
    str | None, Option(metavar="NAME", help="Name of the tested target, used in rows and file names.")
]

EngineName: TypeAlias = Annotated[str, Option(metavar="ENGINE", help="process, thread, serial or dask://HOST:PORT.")]

Workers: TypeAlias = Annotated[int | None, Option(min=1, metavar="N", help="How many; all cores if not given.")]

Subagents: TypeAlias = Annotated[
    bool,
    Option(
        "--subagents/--no-subagents",
        help="Read sub-agents' files; the session's own log counts in any case.",
    ),
]

WatchedPrograms: TypeAlias = Annotated[
    list[str] | None,
    Option(metavar="PROGRAM", help="A program whose runs in shell calls are listed; repeatable."),
]

Prices: TypeAlias = Annotated[bool, Option("--prices", help="Estimate the cost where the agent does not say.")]

QuietBulk: TypeAlias = Annotated[bool, Option("--quiet", "-q", help="No progress and no table.")]

CaseId: TypeAlias = Annotated[str | None, Option(metavar="ID", help="Only this case of the spec.")]

Threshold: TypeAlias = Annotated[
    float | None, Option(min=0, max=1, metavar="SCORE", help="Score to pass; takes precedence over the spec's.")
]

ProviderOfLog: TypeAlias = Annotated[
    str | None, Option(metavar="NAME", help="Whose log it is; detected by content if not given.")
]

StreamLogChoice: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="false|summary|raw",
        help="A log of the stream: raw (every record), summary (for people) or false (none, the default).",
    ),
]

Live: TypeAlias = Annotated[
    bool | None, Option("--live/--no-live", help="A live line on standard error; by default in a terminal.")
]

Sync: TypeAlias = Annotated[
    bool | None,
    Option("--sync/--no-sync", help="Wait until outputs are on the disk, for a power cut; the default."),
]

PageToo: TypeAlias = Annotated[
    bool | None, Option("--page/--no-page", help="Also write the session as a page of HTML, secrets redacted.")
]

DumpTraces: TypeAlias = Annotated[
    bool, Option("--dump-traces", help="Also write AgentV's generic trace events, beside the transcript.")
]

IncludeTrace: TypeAlias = Annotated[
    bool, Option("--include-trace", help="Put the trace events into the result, at most 10,000.")
]

Redact: TypeAlias = Annotated[
    bool | None, Option("--redact/--no-redact", help="Replace secrets by markers before anything is written.")
]

Otel: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="[URL]",
        help="Send spans to this OpenTelemetry endpoint; without a URL as OTEL_EXPORTER_OTLP_* say.",
    ),
]

OtelFile: TypeAlias = Annotated[str | None, Option(metavar="FILE", help="Write spans as lines of OTLP JSON.")]

OtelContent: TypeAlias = Annotated[
    bool | None,
    Option("--otel-content/--no-otel-content", help="Put texts, inputs and outputs into spans, redacted."),
]

OtelOldNames: TypeAlias = Annotated[
    bool | None,
    Option(
        "--otel-old-names/--no-otel-old-names",
        help="Also the earlier name of cache writes, for backends that know only that.",
    ),
]

Machine: TypeAlias = Annotated[
    str | None, Option(metavar="NAME", help="Name of this machine in results and spans; auto: its host name.")
]

LogChoice: TypeAlias = Annotated[
    str | None,
    Option("--log", metavar="plain|json|console", help="Form of the log on standard error; default: plain."),
]

JsonLines: TypeAlias = Annotated[bool, Option("--json", help="One JSON object per line.")]

SessionName: TypeAlias = Annotated[str, Argument(metavar="SESSION", help="Session id, its beginning, or a path.")]

OnlyProvider: TypeAlias = Annotated[str | None, Option(metavar="NAME", help="Only this agent's.")]

Roots: TypeAlias = Annotated[
    list[str] | None,
    Option(metavar="[NAME=]PATH", help="Look here instead, as PATH or PROVIDER=PATH; repeatable."),
]

WHEN = "today, yesterday, 12h, 7d, 2w, 2026-11-01"

Since: TypeAlias = Annotated[str | None, Option(metavar="WHEN", help=f"From then on: {WHEN}.")]

Until: TypeAlias = Annotated[
    str | None, Option(metavar="WHEN", help="Before then; a day counts whole. The same words as --since.")
]

Utc: TypeAlias = Annotated[bool, Option("--utc", help="Days and times in UTC, not in local time.")]

TimeZone: TypeAlias = Annotated[
    str | None, Option("--timezone", metavar="ZONE", help="Days and times in this zone, such as Europe/Berlin.")
]

Csv: TypeAlias = Annotated[
    Path | None, Option(metavar="[FILE]", help="File for the rows as CSV; standard output for - or nothing.")
]

NoPrices: TypeAlias = Annotated[
    bool | None,
    Option("--prices/--no-prices", help="Estimate costs that agents do not report; if prices are installed."),
]

NoCache: TypeAlias = Annotated[
    bool, Option("--cache/--no-cache", help="Keep each session's figures; read only new or changed sessions.")
]

"""The implementation of `import`: resolves sources, runs with progress, prints the table, returns the exit code."""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from agentv_stages.figures.merge import Figures
from agentv_stages.model.payload import indented_json
from agentv_stages.model.visible import counted, visible
from agentv_stream.bulk.outcome import Outcome
from agentv_stream.cli.fitting import print_fitting
from agentv_stream.cli.interrupting import exit_code as ended_by
from agentv_stream.cli.interrupting import interruptible
from agentv_stream.cli.periods import When, chosen_period
from agentv_stream.cli.progress import Progress
from agentv_stream.cli.telling import check_one_user, print_bytes, redact_messages, say, start_log, to_stdout
from agentv_stream.discovery.own_files import check_own_files
from agentv_stream.errors import EXIT_FINE, EXIT_IO, EXIT_RUN, AgentvStreamError, EmptyInput, SinkError, UsageError
from agentv_stream.outputs.publish import publish_now
from agentv_stream.settings import Settings, from_process
from agentv_stream.units import count_text

if TYPE_CHECKING:
    from agentv_stream.logs import Log

SCHEMA = "agentv_stream.import_report.v1"
PLAN_SCHEMA = "agentv_stream.import_plan.v1"
MOST_SHOWN = 20


class Wanted(Struct, frozen=True):
    """The options of `import`."""

    transcripts: str | None
    trajectories: str | None
    pages: str | None
    jsonl: str | None
    parquet: str | None
    provider: str | None
    target: str | None
    engine: str
    workers: int | None
    resume: bool
    subagents: bool
    watch: tuple[str, ...]
    prices: bool
    text_chars: int
    sync: bool | None = None
    redact: bool | None = None
    dump_traces: bool = False
    include_trace: bool = False
    specs: tuple[Path, ...] = ()
    case: str | None = None


def _print_line(line: bytes) -> None:
    print_bytes(line + b"\n")


def import_all(
    sources: Sequence[str],
    wanted: Wanted,
    when: When,
    exported: Mapping[str, object] | None = None,
    *,
    dry_run: bool,
    json: Path | None,
    quiet: bool,
) -> int:
    """Imports; returns the exit code. `when`: the arguments of `chosen_period`; `exported`: options of spans."""
    from agentv_stream.bulk.run import import_sessions  # here: `stats` shares the functions below
    from agentv_stream.cli.exporting import check_export
    from agentv_stream.redaction.redaction import redactor_for

    log, progress = None, None
    try:
        period, _ = chosen_period(*when)
        settings = from_process({"sync": wanted.sync, "redact": wanted.redact, **(exported or {})})
        log = start_log(settings.log)
        check_export(settings)
        redact_messages(redactor_for(settings))
        names, roots = with_listed(sources), settings.roots
        outputs = (("--jsonl", wanted.jsonl), ("--json", json), ("--otel-file", settings.otel_file))
        check_one_user((f"{option} -", str(place) == "-") for option, place in outputs)
        check_own_files(outputs, names)
        if wanted.prices:
            from agentv_stream.costs.prices import check_installed

            check_installed()
        if wanted.parquet is not None:
            from agentv_stream.bulk.parquet import check_installed as check_parquet

            check_parquet()
        options: dict[str, Any] = _options(wanted, settings) | {"period": period, "roots": roots}
        if wanted.specs and wanted.parquet is None and wanted.jsonl is None:
            raise UsageError("--check needs --parquet or --jsonl: verdicts are in the data set and in the results")
        if dry_run:
            return _tell_plan(import_sessions(names, **options, dry_run=True), json)
        with interruptible(), Progress(quiet or log is not None) as progress:
            outcome = import_sessions(names, **options, on_found=progress.found, on_report=progress.report)
    except AgentvStreamError as error:
        say(error)
        return error.exit_code
    except KeyboardInterrupt as error:
        say("interrupted; the same command with --resume continues from here")
        if progress is not None and log is not None:
            log("finished", level="warning", interrupted=True, sessions=progress.sessions, found=progress.of)
        return ended_by(error)
    if json is not None:
        try:
            write_json(json, report_json(outcome))
        except SinkError as error:
            say(error)
            return error.exit_code
    return _tell(outcome, quiet, log)


def _options(wanted: Wanted, settings: Settings) -> dict[str, Any]:
    """The arguments of `import_sessions`; without any output, transcripts are written."""
    from agentv_stream.otel.options import export_of
    from agentv_stream.redaction.redaction import redaction_of

    export = export_of(settings)
    options: dict[str, Any] = asdict(wanted) | {
        "sync": settings.sync,
        "redact": redaction_of(settings) or False,
        "export": export,
        "machine": settings.machine,
    }
    if wanted.jsonl == "-":
        options |= {"jsonl": None, "on_result": _print_line}
    written = (wanted.transcripts, wanted.trajectories, wanted.pages, wanted.jsonl, wanted.parquet, export)
    if all(output is None for output in written):
        options["transcripts"] = ".agentv/logs/{provider}"
    return options


def _tell(outcome: Outcome, quiet: bool, log: "Log | None") -> int:
    """Reports an import; returns the exit code."""
    code = exit_code(outcome)
    if not quiet and log is None:
        print_summary(outcome)
    if not quiet or code:  # the reason for a non-zero exit code is always reported
        for note in outcome.notes:
            say(note)
    tell_failures(outcome)
    if log is not None:
        _tell_totals(outcome, log)
    elif not quiet:
        print_places(outcome)
    return code


def _tell_totals(outcome: Outcome, log: "Log") -> None:
    """The last line."""
    figures = outcome.summary.total()
    log(
        "finished",
        sessions=outcome.done,
        unchanged=outcome.skipped,
        failed=len(outcome.failures),
        turns=figures.turns,
        tool_calls=figures.tool_calls,
        input_tokens=figures.tokens_told("input")[0],
        output_tokens=figures.tokens_told("output")[0],
        records=outcome.records,
        faults=sum(outcome.faults.values()),
        bytes=outcome.bytes,
        seconds=round(outcome.seconds, 3),
        outputs=outcome.outputs,
    )


def with_listed(sources: Sequence[str]) -> list[str]:
    """The sources, `-` replaced by the lines of standard input; a list may be separated by NUL bytes.

    Raises: UsageError, EmptyInput.
    """
    names: list[str] = []
    for source in sources:
        if source != "-":
            names.append(source)
            continue
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("no list: standard input is a terminal")
        data = sys.stdin.buffer.read()
        if data.startswith((b'{"', b"[{")):
            raise UsageError("- is a list of sources, and this is a log: `agentv-stream consume --stats -` reads one")
        separator = b"\0" if b"\0" in data else b"\n"
        lines = (line.decode("utf-8", "surrogateescape").rstrip("\r") for line in data.split(separator))
        names += [line for line in lines if line]
    if not names:
        raise EmptyInput("the list on standard input is empty")
    return names


def exit_code(outcome: Outcome) -> int:
    """4 if a source could not be read, 3 if there was nothing to read."""
    if any(failure.kind != "EmptyInput" for failure in outcome.failures):
        return EXIT_IO
    if outcome.failures or not (outcome.done or outcome.skipped):
        return EXIT_RUN
    return EXIT_FINE


def report_json(outcome: Outcome) -> dict[str, Any]:
    """The report of a run."""
    providers = {name: outcome.summary.groups[name].as_json() for name in sorted(outcome.summary.groups)}
    for figures in providers.values():
        del figures["tools"]
    return {
        "schema_version": SCHEMA,
        "found": outcome.found,
        "done": outcome.done,
        "skipped": outcome.skipped,
        "parts": outcome.parts,
        "others": outcome.others,
        "failures": outcome.failures,
        "bytes": outcome.bytes,
        "seconds": round(outcome.seconds, 3),
        "records": outcome.records,
        "faults": outcome.faults,
        "by_provider": providers,
        "outputs": outcome.outputs,
    }


def write_json(place: Path, value: Any) -> None:
    """Indented JSON to a file, or to standard output for `-`. Raises: SinkError."""
    data = indented_json(value)
    if str(place) != "-":
        publish_now(place, data)
    else:
        print_bytes(data)


def _tell_plan(outcome: Outcome, json: Path | None) -> int:
    units = outcome.waiting
    code = exit_code(outcome) if outcome.failures or not outcome.found else EXIT_FINE
    if json is not None:
        rows = [{"source": u.name, "size": u.size} for u in units]
        write_json(json, {"schema_version": PLAN_SCHEMA, "found": outcome.found, "sources": rows})
    else:
        with to_stdout():
            for unit in units:
                sys.stdout.write(f"{unit.size:>14,}  {visible(unit.name, 4096)}\n")
        unchanged = f", {outcome.skipped:,} unchanged" if outcome.skipped else ""
        total = sum(unit.size for unit in units)
        sys.stderr.write(f"{counted(len(units), 'source')}, {megabytes(total)}{unchanged}; nothing was read\n")
    for note in outcome.notes:
        say(note)
    for failure in outcome.failures:
        say(failure.error)
    return code


def print_summary(outcome: Outcome) -> None:
    """Prints the final table on standard error."""
    rows: list[list[str]] = []
    groups = [(name, outcome.summary.groups[name]) for name in sorted(outcome.summary.groups)]
    for name, figures in (*groups, ("total", outcome.summary.total())):
        cells = (
            figures.sessions,
            figures.turns,
            figures.tool_calls,
            figures.failed_calls,
            figures.edits,
            tokens_cell(figures, "input"),
            tokens_cell(figures, "output"),
            sum(figures.faults.values()),
        )
        rows.append([visible(name, 40), *(c if isinstance(c, str) else number(c) for c in cells)])
    if groups:
        titles = ("provider", "sessions", "turns", "calls", "failed", "edits", "tokens in", "tokens out", "faults")
        last = rows.pop()
        print_fitting(sys.stderr, titles, rows, last if len(rows) > 1 else None, ("edits", "failed", "turns", "faults"))
    parts = [f"{counted(outcome.done, 'session')} read in {outcome.seconds:.1f} s ({amount(outcome)})"]
    for count, phrase in (
        (outcome.skipped, f"{outcome.skipped:,} unchanged"),
        (len(outcome.parts), f"{counted(len(outcome.parts), 'file')} of other sessions"),
        (len(outcome.others), counted(len(outcome.others), "other file")),
        (len(outcome.failures), f"{len(outcome.failures):,} failed"),
    ):
        if count:
            parts.append(phrase)
    sys.stderr.write(", ".join(parts) + "\n")


def tell_failures(outcome: Outcome) -> None:
    """Prints what could not be read on standard error."""
    for failure in outcome.failures[:MOST_SHOWN]:
        say(failure.error)
    if len(outcome.failures) > MOST_SHOWN:
        say(f"… and {len(outcome.failures) - MOST_SHOWN:,} more; --json FILE lists all")


def print_places(outcome: Outcome) -> None:
    """Prints where the outputs are on standard error."""
    names = sorted(outcome.summary.groups)
    for name, place in outcome.outputs.items():
        if "{provider}" in place and not names:
            continue  # nothing was written
        shown = place.replace("{provider}", names[0] if len(names) == 1 else f"{{{','.join(names)}}}")
        sys.stderr.write(f"{name:<13}{visible(shown, 300)}\n")


def amount(outcome: Outcome) -> str:
    """How much was read; also the speed, if there was enough to measure it."""
    rate = f", {megabytes(outcome.bytes / outcome.seconds)}/s" if outcome.bytes >= 1e6 and outcome.seconds else ""
    return f"{megabytes(outcome.bytes)}{rate}"


def megabytes(size: float) -> str:
    """Bytes for people: below 1 MB in KB, never shown as 0 unless it is 0."""
    if size < 1e6:
        return f"{math.ceil(size / 1e3):,} KB"
    return f"{size / 1e6:,.{0 if size >= 1e7 else 1}f} MB"


MOST_COUNT = 10**15


def tokens_cell(figures: Figures, name: str) -> str:
    """A sum of tokens; with `≥` if it is unknown for some sessions, or only a lower bound."""
    value, whole = figures.tokens_told(name)
    return number(value) if whole or value is None else f"≥{number(value)}"


def number(value: int | None) -> str:
    """A count for people; `?` if unknown. No count of a real session has more than 15 digits: a log may claim any."""
    return "?" if value is None else f"{value:,}" if value < MOST_COUNT else count_text(value)

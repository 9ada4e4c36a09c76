"""`agentv-stream consume`: one stream or session in; transcript, logs, statistics and verdicts out."""

from pathlib import Path
from typing import Annotated

from agentv_stream.cli.options import (
    CaseId,
    DumpTraces,
    IncludeTrace,
    Live,
    Machine,
    Otel,
    OtelContent,
    OtelFile,
    OtelOldNames,
    PageToo,
    Prices,
    ProviderOfLog,
    Redact,
    StreamLogChoice,
    Sync,
    TargetName,
    WatchedPrograms,
    byte_count,
)
from agentv_stream.cli.parameters import Argument, Option, Rest
from agentv_stream.settings import StreamLog


def consume(
    context: Rest,
    source: Annotated[str, Argument(metavar="SOURCE", help="A file, or - for standard input.")] = "-",
    provider: ProviderOfLog = None,
    out: Annotated[
        Path | None, Option(metavar="DIR", help="Folder for outputs; default: .agentv/logs/PROVIDER.")
    ] = None,
    transcript: Annotated[
        str | None,
        Option(metavar="FILE", help="File or named pipe for the transcript, or - for standard output."),
    ] = None,
    target: TargetName = None,
    test_id: Annotated[str | None, Option(metavar="ID", help="Name of the test case; default: the session id.")] = None,
    attempt: Annotated[int | None, Option(metavar="N", help="Which attempt this is.")] = None,
    prompt: Annotated[
        str | None, Option(metavar="TEXT", help="The prompt, for streams that do not contain it: row 0.")
    ] = None,
    stream_log: StreamLogChoice = None,
    transcript_shape: Annotated[
        str | None,
        Option(
            metavar="message|case|atif",
            help="Besides the rows: case, a line per case as in AgentV 4.15; or atif, a trajectory as Harbor reads it.",
        ),
    ] = None,
    stats: Annotated[
        str | None, Option(metavar="FILE", help="File for the result as JSON, or - for standard output.")
    ] = None,
    tee: Annotated[bool | None, Option("--tee/--no-tee", help="Pass the input on to standard output.")] = None,
    tee_redacted: Annotated[
        bool | None, Option("--tee-redacted", help="Pass the input on with its secrets replaced by markers.")
    ] = None,
    live: Live = None,
    quiet: Annotated[bool | None, Option("--quiet", "-q", help="No live line, no closing lines.")] = None,
    subagents: Annotated[
        bool | None,
        Option(
            "--subagents/--no-subagents",
            help="Read sub-agents' files, the default; the session's own log counts in any case.",
        ),
    ] = None,
    watch: WatchedPrograms = None,
    check: Annotated[
        list[Path] | None, Option(metavar="SPEC", help="A spec to check the run against; repeatable.")
    ] = None,
    case: CaseId = None,
    fail_fast: Annotated[
        str | None,
        Option(
            metavar="[report|close]",
            help="On the first final violation: report it and read on (report, the default), or close the pipe.",
        ),
    ] = None,
    session: Annotated[str | None, Option(metavar="ID", help="Which session of a store (OpenCode's database).")] = None,
    max_record: Annotated[
        int | None,
        Option(
            parser=byte_count, metavar="SIZE", help="Cap of one record (64M if not given); a longer one goes to a file."
        ),
    ] = None,
    prices: Prices = False,
    dump_traces: DumpTraces = False,
    include_trace: IncludeTrace = False,
    page: PageToo = None,
    redact: Redact = None,
    otel: Otel = None,
    otel_file: OtelFile = None,
    otel_content: OtelContent = None,
    otel_old_names: OtelOldNames = None,
    machine: Machine = None,
    sync: Sync = None,
) -> None:
    """Read an agent's stream from a pipe, or a finished session; write its transcript and statistics."""
    from agentv_stream.cli.consuming import consume_source
    from agentv_stream.cli.telling import say

    if context.args:
        say("one source at a time; `agentv-stream import SOURCES…` and `agentv-stream stats SOURCES…` take many")
        raise SystemExit(2)
    log: StreamLog | str | None = stream_log
    options = {
        "provider": provider,
        "out": out,
        "transcript": transcript,
        "target": target,
        "test_id": test_id,
        "attempt": attempt,
        "prompt": prompt,
        "stream_log": log,
        "transcript_shape": transcript_shape,
        "stats": stats,
        "tee": tee,
        "tee_redacted": tee_redacted,
        "live": live,
        "quiet": quiet,
        "subagents": subagents,
        "watch": tuple(watch) if watch else None,
        "max_record": max_record,
        "page": page,
        "redact": redact,
        "sync": sync,
        "dump_traces": dump_traces or None,
        "include_trace": include_trace or None,
        "otel": otel,
        "otel_file": otel_file,
        "otel_content": otel_content,
        "otel_old_names": otel_old_names,
        "machine": machine,
    }
    code = consume_source(
        source, options, checks=check or [], case=case, fail_fast=fail_fast, session_id=session, prices=prices
    )
    raise SystemExit(code)

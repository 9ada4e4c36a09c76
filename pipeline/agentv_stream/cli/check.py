"""`agentv-stream check`: finished transcripts, sessions and streams against a spec."""

from pathlib import Path
from typing import Annotated

from agentv_stream.cli.options import CaseId, IncludeTrace, ProviderOfLogs, Redact, Subagents, Threshold
from agentv_stream.cli.parameters import Argument, Option


def check(
    spec: Annotated[Path, Argument(metavar="SPEC", help="The spec: AgentV's YAML of any version, or JSONL cases.")],
    sources: Annotated[
        list[str], Argument(metavar="SOURCES...", help="Transcripts, sessions, streams; folders of them.")
    ],
    case: CaseId = None,
    provider: ProviderOfLogs = None,
    also: Annotated[list[Path] | None, Option("--spec", metavar="SPEC", help="A further spec; repeatable.")] = None,
    threshold: Threshold = None,
    json: Annotated[bool, Option("--json", help="The outcome as JSON on standard output.")] = False,
    jsonl: Annotated[
        Path | None,
        Option(metavar="FILE", help="File for a line of JSON for each source and case, or - for standard output."),
    ] = None,
    junit: Annotated[Path | None, Option(metavar="FILE", help="File for JUnit XML, or - for standard output.")] = None,
    markdown: Annotated[
        Path | None, Option(metavar="FILE", help="File for a summary in Markdown, or - for standard output.")
    ] = None,
    comment: Annotated[
        Path | None,
        Option(metavar="FILE", help="File for a comment: the summary, shorter."),
    ] = None,
    name: Annotated[
        str, Option(metavar="NAME", help="Title of the summary; a comment is found again by it.")
    ] = "agentv-stream",
    annotations: Annotated[
        str | None, Option(metavar="github", help="Print workflow commands that mark the failed lines of specs.")
    ] = None,
    dump_traces: Annotated[
        Path | None, Option(metavar="DIR", help="Folder for the generic trace events of each source.")
    ] = None,
    include_trace: IncludeTrace = False,
    verbose: Annotated[
        bool, Option("--verbose", "-v", help="Every source, case and evaluator, not only failures.")
    ] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Only the summary line.")] = False,
    subagents: Subagents = True,
    redact: Redact = None,
) -> None:
    """Check finished runs against a spec; exit 1 when a verdict fails."""
    from agentv_stream.cli.checking import check_sources

    code = check_sources(
        [spec, *(also or [])],
        sources,
        case=case,
        provider=provider,
        threshold=threshold,
        as_json=json,
        jsonl=jsonl,
        junit_file=junit,
        quiet=quiet,
        subagents=subagents,
        verbose=verbose,
        redact=redact,
        markdown_file=markdown,
        comment_file=comment,
        name=name,
        annotations=annotations,
        dump_traces=dump_traces,
        include_trace=include_trace,
    )
    raise SystemExit(code)

"""`agentv-stream run`: starts an agent, reads its stream, stores stream, transcript and result."""

from pathlib import Path
from typing import Annotated

from agentv_stream.cli.options import (
    CaseId,
    Live,
    LogChoice,
    Machine,
    Otel,
    OtelContent,
    OtelFile,
    OtelOldNames,
    PageToo,
    Redact,
    StreamLogChoice,
    Sync,
    Threshold,
    WatchedPrograms,
    duration,
    pause,
)
from agentv_stream.cli.parameters import Argument, Option


def run(
    command: Annotated[
        list[str] | None,
        Argument(
            metavar="COMMAND...",
            help="The agent's command line, best after --; all words after its first one belong to it.",
        ),
    ] = None,
    task: Annotated[str | None, Option("--task", "--test-id", metavar="NAME", help="Name of the task.")] = None,
    approach: Annotated[
        list[str] | None,
        Option("--approach", "--target", metavar="NAME", help="Name of the approach; a target of the targets file."),
    ] = None,
    targets: Annotated[
        Path | None,
        Option(metavar="FILE", help="The targets file; default: .agentv/targets.yaml, here or above."),
    ] = None,
    prompt: Annotated[
        str | None, Option(metavar="TEXT", help="The prompt; default: taken from the command line.")
    ] = None,
    prompt_file: Annotated[
        Path | None, Option(metavar="FILE", help="The prompt as a file, or - for standard input.")
    ] = None,
    stdin: Annotated[
        bool | None,
        Option(
            "--stdin/--no-stdin",
            help="Whether each attempt gets our standard input; if not given, it does unless that is a shell's.",
        ),
    ] = None,
    attempt: Annotated[
        int | None, Option(min=1, metavar="N", help="Number of the attempt; default: the next free number.")
    ] = None,
    repeat: Annotated[int, Option(min=1, metavar="N", help="How many attempts, one after the other.")] = 1,
    out: Annotated[Path | None, Option(metavar="DIR", help="Folder for results; default: .agentv/runs.")] = None,
    save_stream: Annotated[bool, Option("--save-stream/--no-save-stream", help="Keep the raw stream.")] = True,
    timeout: Annotated[
        float | None,
        Option(parser=duration, metavar="TIME", help="End the run when it takes longer than this, like 90s or 10m."),
    ] = None,
    stall: Annotated[
        float | None,
        Option(parser=duration, metavar="TIME", help="End it when it is silent for longer than this."),
    ] = None,
    grace: Annotated[
        float,
        Option(
            parser=pause,
            metavar="TIME",
            show_default=False,
            help="Time between the request to end and the kill; 5s if not given.",
        ),
    ] = 5.0,
    cwd: Annotated[Path | None, Option(metavar="DIR", help="The agent's working folder.")] = None,
    fixture: Annotated[
        Path | None, Option(metavar="DIR", help="A folder; each attempt works in a copy of it, in OUT.work.")
    ] = None,
    env: Annotated[list[str] | None, Option(metavar="NAME=VALUE", help="A variable for the agent; repeatable.")] = None,
    budget: Annotated[
        float | None, Option(min=0, metavar="USD", help="End an attempt that spends more, as its stream shows.")
    ] = None,
    total_budget: Annotated[
        float | None, Option(min=0, metavar="USD", help="Begin no further attempt once all cost this much.")
    ] = None,
    workers: Annotated[int | None, Option(min=1, metavar="N", help="How many attempts at once.")] = None,
    resume: Annotated[
        bool, Option("--resume", help="Attempts 1 to --repeat; those with a result are not run again.")
    ] = False,
    provider: Annotated[
        str | None, Option(metavar="NAME", help="Whose stream it is; detected by content if not given.")
    ] = None,
    stream_log: StreamLogChoice = None,
    watch: WatchedPrograms = None,
    check: Annotated[
        list[Path] | None, Option(metavar="SPEC", help="A spec to check the run against; repeatable.")
    ] = None,
    case: CaseId = None,
    threshold: Threshold = None,
    fail_fast: Annotated[
        str | None, Option(metavar="[report]", help="End the agent on the first final violation.")
    ] = None,
    dump_traces: Annotated[bool, Option("--dump-traces", help="Also write generic trace events.")] = False,
    include_trace: Annotated[bool, Option("--include-trace", help="Put trace events into the result.")] = False,
    json: Annotated[
        bool, Option("--json", help="The result of each attempt, with its place, as a line on standard output.")
    ] = False,
    live: Live = None,
    verbose: Annotated[bool, Option("--verbose", "-v", help="Every evaluator of --check, not only failures.")] = False,
    quiet: Annotated[
        bool, Option("--quiet", "-q", help="No live line, no closing lines; of --check only the summary.")
    ] = False,
    log: LogChoice = None,
    page: PageToo = None,
    redact: Redact = None,
    otel: Otel = None,
    otel_file: OtelFile = None,
    otel_content: OtelContent = None,
    otel_old_names: OtelOldNames = None,
    machine: Machine = None,
    sync: Sync = None,
) -> None:
    """Run an agent, watch over it, and store its outputs."""
    from agentv_stream.cli.matrix import MatrixOptions, is_matrix, passed_on, run_matrix
    from agentv_stream.cli.running import RunArguments, run_command

    targets_named = tuple(approach or ())
    matrix = MatrixOptions(
        command=tuple(command or ()),
        targets=targets_named,
        checks=tuple(check or ()),
        case=case,
        task=task,
        prompt=prompt,
        repeat=repeat,
        workers=workers or 1,
        folder=out,
        fixture=fixture,
        resume=resume,
        most_usd=total_budget,
        as_json=json,
        quiet=quiet,
        log=log,
        passed_on=passed_on(
            {
                "--targets": targets,
                "--prompt-file": prompt_file,
                "--timeout": timeout,
                "--stall": stall,
                "--grace": grace,
                "--cwd": cwd,
                "--provider": provider,
                "--stream-log": stream_log,
                "--threshold": threshold,
                "--fail-fast": fail_fast,
                "--budget": budget,
                "--watch": watch,
                "--env": env,
                "--save-stream": save_stream,
                "--dump-traces": dump_traces,
                "--include-trace": include_trace,
                "--page": page,
                "--log": log,
                "--redact": redact,
                "--otel": otel,
                "--otel-content": otel_content,
                "--otel-old-names": otel_old_names,
                "--machine": machine,
                "--sync": sync,
            }
        ),
    )
    several = attempt is None and is_matrix(matrix, workers)
    if otel_file is not None and (several or repeat > 1):
        from agentv_stream.cli.telling import say

        say("--otel-file: several attempts would replace one file; --otel sends the spans of each")
        raise SystemExit(2)
    if several:
        raise SystemExit(run_matrix(matrix))
    arguments = RunArguments(
        command=tuple(command or ()),
        settings={
            "provider": provider,
            "prompt": prompt,
            "stream_log": stream_log,
            "watch": tuple(watch) if watch else None,
            "live": live,
            "quiet": quiet or None,
            "log": log,
            "page": page,
            "redact": redact,
            "sync": sync,
            "otel": otel,
            "otel_file": otel_file,
            "otel_content": otel_content,
            "otel_old_names": otel_old_names,
            "machine": machine,
        },
        task=task,
        approach=targets_named[-1] if targets_named else None,
        targets=targets,
        prompt_file=prompt_file,
        stdin=stdin,
        attempt=attempt,
        repeat=repeat,
        out=out,
        save_stream=save_stream,
        timeout=timeout,
        stall=stall,
        grace=grace,
        cwd=cwd,
        checks=tuple(check or ()),
        case=case,
        threshold=threshold,
        fail_fast=fail_fast,
        dump_traces=dump_traces,
        include_trace=include_trace,
        as_json=json,
        verbose=verbose,
        fixture=fixture,
        budget=budget,
        variables=tuple(env or ()),
    )
    raise SystemExit(run_command(arguments))

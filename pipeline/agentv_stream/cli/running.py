"""The implementation of `run`: target and settings, the attempts one after the other, reports, the exit code."""

import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
from msgspec import structs

from agentv_stages.model.payload import printable_json
from agentv_stages.model.visible import visible
from agentv_stages.session.detect import UnknownFormat
from agentv_stream.checks.live_check import open_checks
from agentv_stream.checks.targets import Target, find_targets, load_targets
from agentv_stream.cli.closing import tell_closing
from agentv_stream.cli.exporting import check_export
from agentv_stream.cli.memory import tune_memory
from agentv_stream.cli.redacting import redacted_parts
from agentv_stream.cli.telling import print_bytes, say, start_log
from agentv_stream.discovery.own_files import check_own_files
from agentv_stream.documentation.provider_table import stream_command
from agentv_stream.errors import AgentvStreamError, EmptyInput, NotALog, SinkError, SourceError, UsageError, worst
from agentv_stream.live.live_line import is_wanted
from agentv_stream.logs import Log
from agentv_stream.outputs.durable import SYNC
from agentv_stream.running.attempts import check_attempt, claim_attempt, stem_of
from agentv_stream.running.fixture import check_fixture
from agentv_stream.running.options import DEFAULT_FOLDER, DEFAULT_TASK, RunOptions
from agentv_stream.running.run import RunReport, run_agent
from agentv_stream.running.standard_input import StandardInput, take_input
from agentv_stream.settings import Settings, from_process, stream_log
from agentv_stream.sources.files import is_there


@dataclass(frozen=True)
class RunArguments:
    """The arguments of `run`; those that are settings of the session are in `settings`, by name."""

    command: tuple[str, ...]
    settings: dict[str, Any]
    task: str | None
    approach: str | None
    targets: Path | None
    prompt_file: Path | None
    stdin: bool | None
    attempt: int | None
    repeat: int
    out: Path | None
    save_stream: bool
    timeout: float | None
    stall: float | None
    grace: float
    cwd: Path | None
    checks: tuple[Path, ...]
    case: str | None
    threshold: float | None
    fail_fast: str | None
    dump_traces: bool
    include_trace: bool
    as_json: bool
    verbose: bool
    fixture: Path | None
    budget: float | None
    variables: tuple[str, ...]


def run_command(arguments: RunArguments) -> int:
    """Runs the agent, as often as requested; returns the exit code."""
    supplied: StandardInput | None = None
    log: Log | None = None
    prompt_file = arguments.prompt_file
    try:
        settings, target = _settings(arguments.settings, arguments.approach, arguments.targets, bool(arguments.command))
        SYNC.set(settings.sync)
        redacted_parts(settings)
        log = start_log(settings.log)
        if log is not None:
            settings = structs.replace(settings, live=False)
        check_export(settings)
        check_own_files((("--otel-file", settings.otel_file),), ())
        wanted = arguments.stdin is True or _means_input(prompt_file)
        supplied = take_input(say, wanted) if arguments.stdin is not False or wanted else None
        if prompt_file is not None:
            prompt = _prompt_of(prompt_file, supplied, arguments.settings.get("prompt"))
            settings = structs.replace(settings, prompt=prompt)
        options = _options(arguments, settings, target)
        if not arguments.command:
            supplied = _target_input(target, settings.prompt, None if _means_input(prompt_file) else supplied)
        if supplied is not None and not settings.quiet:
            say(f"each attempt gets {supplied.size:,} bytes on standard input")
        options = replace(options, stdin=supplied)
        if options.fixture is not None:
            check_fixture(options.fixture, options.folder)
        tune_memory()
        codes = _run_attempts(arguments, options, settings, target, log)
    except AgentvStreamError as error:
        say(error)
        return error.exit_code
    except KeyboardInterrupt:  # while standard input was read; later a signal is passed on to the agent
        if log is not None:
            _tell_totals([], log)
        return 128 + signal.SIGINT
    finally:
        if supplied is not None:
            supplied.close()
    return codes[-1] if codes[-1] > 128 else worst(codes)


def _options(arguments: RunArguments, settings: Settings, target: Target | None) -> RunOptions:
    """The options of each attempt: the target's, where no argument has another value. Raises: UsageError."""
    command = arguments.command
    words, shown = (command, ()) if command else _target_command(target, settings.prompt)
    return RunOptions(
        command=words,
        task=next((name for name in (arguments.task, arguments.case) if name is not None), DEFAULT_TASK),
        approach=arguments.approach if arguments.approach is not None else Path(words[0]).name,
        folder=arguments.out if arguments.out is not None else DEFAULT_FOLDER,
        cwd=arguments.cwd if arguments.cwd is not None or target is None else target.cwd,
        environment=variables_of(arguments.variables),
        timeout=arguments.timeout if arguments.timeout is not None or target is None else target.timeout_seconds,
        stall=arguments.stall,
        grace=arguments.grace,
        save_stream=arguments.save_stream,
        dump_traces=arguments.dump_traces,
        include_trace=arguments.include_trace,
        shown=shown,
        fixture=arguments.fixture,
        budget_usd=arguments.budget,
    )


def _run_attempts(
    arguments: RunArguments, options: RunOptions, settings: Settings, target: Target | None, log: Log | None
) -> list[int]:
    """Runs all attempts; returns the exit code of each, and that of a signal, which ends them."""
    codes: list[int] = []
    reports: list[dict[str, Any]] = []
    number = arguments.attempt
    for _ in range(arguments.repeat):
        live = open_checks(
            arguments.checks, arguments.case, arguments.fail_fast, options.task + "_", say, arguments.threshold
        )
        if live is not None:
            live.quiet, live.verbose = settings.quiet, arguments.verbose
        if number is None:
            number = claim_attempt(options.folder, options.task, options.approach)
        else:
            check_attempt(options.folder, options.task, options.approach, number)
        options_now = options if arguments.command else _filled(options, target, settings.prompt, number)
        if log is not None:
            log("the agent is started", task=options.task, target=options.approach, attempt=number)
        report = anyio.run(run_agent, options_now, settings, number, live)
        reports.append(report.value)
        codes.append(print_report(report, settings.quiet or log is not None))
        if live is not None:
            say(live.summary())
        if log is not None:
            _tell_attempt(report, number, log)
        if arguments.as_json:
            print_bytes(result_line(report))
        if report.signalled is not None:
            codes.append(128 + report.signalled)
            break
        number = number + 1 if arguments.attempt is not None else None
    if log is not None:
        _tell_totals(reports, log)
    return codes


def _tell_attempt(report: RunReport, number: int, log: Log) -> None:
    """How an attempt ended."""
    value = report.value
    log(
        "the agent has ended",
        level="info" if value["status"] == "complete" else "warning",
        session=value["session"]["id"] if value.get("session") else None,
        attempt=number,
        status=value["status"],
        exit_code=report.end.exit_code,
        result=_stored(report),
    )


def _tell_totals(results: Sequence[Mapping[str, Any]], log: Log) -> None:
    """The last line."""
    costs: list[float] = [result["cost_usd"] for result in results if result.get("cost_usd") is not None]
    summaries: list[dict[str, Any]] = [result.get("tool_use_summary") or {} for result in results]
    log(
        "finished",
        attempts=len(results),
        complete=sum(result["status"] == "complete" for result in results),
        turns=sum(summary.get("turns", 0) for summary in summaries),
        tool_calls=sum(summary.get("total_tool_calls", 0) for summary in summaries),
        cost_usd=sum(costs) if costs else None,
    )


def variables_of(texts: Sequence[str]) -> dict[str, str]:
    """The variables of `--env NAME=VALUE`. Raises: UsageError."""
    pairs = [text.partition("=") for text in texts]
    for (name, equals, _), text in zip(pairs, texts, strict=True):
        if not name or not equals:
            raise UsageError(f"--env {text}: expected NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _settings(
    options: dict[str, Any], approach: str | None, targets: Path | None, has_command: bool
) -> tuple[Settings, Target | None]:
    """The settings of the target, overridden by the settings of the command line."""
    if options.get("stream_log") is not None:
        try:
            options["stream_log"] = stream_log(options["stream_log"])
        except ValueError as error:
            raise UsageError(f"--stream-log: {error}") from error
    settings = from_process(options)
    settings = structs.replace(settings, live=is_wanted(settings))
    path = targets if targets is not None else find_targets(Path.cwd()) if approach is not None else None
    if path is None:
        if not has_command and approach is not None:
            raise UsageError(
                f"--target {approach}: there is no .agentv/targets.yaml here or above; --targets names one"
            )
        if not has_command:
            raise UsageError("nothing to run: give a command after --, or --target NAME of a targets file")
        return settings, None
    found = load_targets(path, wanted=approach or "")
    for warning in found.warnings:
        say(f"warning: {warning}")
    target = found.targets.get(approach or "")
    if target is None:
        if not has_command:
            raise found.missing(approach or "")
        return settings, None
    if options.get("stream_log") is None:
        settings = structs.replace(settings, stream_log=target.stream_log)
    if target.log_dir is not None:
        settings = structs.replace(settings, out=target.log_dir)
    if settings.provider is None and target.provider:
        settings = structs.replace(settings, provider=target.provider)
    return settings, target


def _target_command(target: Target | None, prompt: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words to start, and those to record."""
    if target is None:
        raise UsageError("nothing to run: give a command after --, or --target NAME of a targets file")
    if prompt is None:
        raise UsageError(f"the target {target.name!r} needs a --prompt")
    return target.command_line(prompt), target.command_shown(prompt)


def _filled(options: RunOptions, target: Target | None, prompt: str | None, number: int) -> RunOptions:
    """The options of one attempt at a target: its command has placeholders for files and names."""
    if target is None or prompt is None:
        return options
    stem = options.folder.absolute() / stem_of(options.task, options.approach, number)
    prompt_file, output_file = (Path(f"{stem}{ending}") for ending in (".prompt.txt", ".output.txt"))
    values = {
        "{PROMPT_FILE}": str(prompt_file),
        "{OUTPUT_FILE}": str(output_file),
        "{FILES}": "",
        "{EVAL_ID}": options.task,
        "{ATTEMPT}": str(number),
    }
    return replace(
        options,
        command=target.command_line(prompt, values),
        shown=target.command_shown(prompt, values),
        prompt_file=prompt_file if target.needs("{PROMPT_FILE}") else None,
        output_file=output_file if target.needs("{OUTPUT_FILE}") else None,
    )


def _means_input(path: Path | None) -> bool:
    return path is not None and str(path) == "-" and not is_there(path)


def _prompt_of(path: Path, supplied: StandardInput | None, other: str | None) -> str:
    """The prompt in a file. Raises: UsageError, SourceError."""
    if other is not None:
        raise UsageError("--prompt and --prompt-file: give one of them")
    if _means_input(path):
        if supplied is None:
            raise UsageError("--prompt-file -: there is nothing on standard input")
        data = supplied.read()
    else:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise SourceError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: the prompt is not UTF-8 text") from error


def _target_input(target: Target | None, prompt: str | None, supplied: StandardInput | None) -> StandardInput | None:
    """The standard input of a target: a prompt that is too long for its command line, or the input that we found."""
    if target is None or prompt is None or not target.is_piped(prompt):
        return supplied
    if supplied is not None:
        raise UsageError("the prompt is too long for a command line and takes standard input; give --no-stdin")
    return StandardInput.of(prompt.encode("utf-8", "surrogateescape"))


def print_report(report: RunReport, quiet: bool) -> int:
    """Reports the outcome of a run; returns its exit code."""
    for warning in report.warnings:
        say(warning)
    for failure in report.report.failures:
        if not isinstance(failure, NotALog | EmptyInput):
            say(str(failure))
        elif not report.child.received:
            say(f"the agent printed nothing{_how(report)}")
        else:
            say(f"{_no_stream(report, failure)}; its output is in the result{_how(report)}")
    end = report.end
    if end.stopped is not None:
        summary = {
            "timeout": "the run took too long and was ended",
            "stall": "the agent was silent for too long and was ended",
            "fail-fast": "the agent was ended at the first final violation",
            "budget": "the agent spent more than --budget and was ended",
            "signal": "the agent was ended by a signal",
            "closed": "the agent closed its output, ran on and was ended",
        }[end.stopped]
        say(f"{summary}; {report.child.received:,} bytes were read, {report.child.saved:,} saved")
    if end.left_open:
        say("children of the agent held its output open; they were ended, or left where no signal reaches them")
    if end.left_running:
        say("processes that the agent left running were ended")
    if not quiet:
        if report.report.result is not None:
            tell_closing(report.report.result, report.report.failures)
        tail = report.value["run"]["stderr_tail"].strip()
        if tail and report.value["status"] not in ("complete",):
            for line in tail.split("\n")[-5:]:
                say(f"stderr: {visible(line, 200)}")
        say(f"result {visible(_stored(report) or 'none')}")
    sys.stderr.flush()
    return report.exit_code


def result_line(report: RunReport) -> bytes:
    """The result object as one line; `outputs` also says where it is stored."""
    outputs = {**report.value["outputs"], "result": _stored(report)}
    return printable_json({**report.value, "outputs": outputs}) + b"\n"


def _stored(report: RunReport) -> str | None:
    """The place of the stored result; None if it could not be written."""
    failed = {failure.path for failure in report.report.failures if isinstance(failure, SinkError)}
    return str(report.path) if str(report.path) not in failed else None


def _no_stream(report: RunReport, failure: Exception) -> str:
    """The agent's output in place of a stream, and how it prints one, if that is known."""
    cause = failure.__cause__
    if isinstance(cause, UnknownFormat) and (cause.looks is not None or report.not_understood):
        return f"the agent's stream was not understood: {cause}"
    program = Path(report.value["run"]["command"][0]).name
    line = stream_command(program)
    return "the agent printed no stream of events" + (f" (`{line}` prints one)" if line is not None else "")


def _how(report: RunReport) -> str:
    """The end of the process, if no closing line will mention it."""
    end = report.end
    if end.stopped is not None or not (end.signal or end.exit_code):
        return ""
    return f"; {end.signal} ended it" if end.signal else f"; it ended with exit code {end.exit_code}"

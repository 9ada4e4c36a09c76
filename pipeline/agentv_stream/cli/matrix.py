"""`run` as a matrix: the cases of `--check` with each `--target`, repeated; a live table, then passes of attempts."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from agentv_stages.model.visible import columns, counted, padded, visible
from agentv_stream.checks.check_text import SIGNS
from agentv_stream.checks.spec import check_judges, load_spec
from agentv_stream.cli.telling import print_bytes, say, start_log
from agentv_stream.errors import EXIT_RUN, AgentvStreamError, UsageError, worst
from agentv_stream.reports.intervals import share_interval
from agentv_stream.running.fixture import check_fixture
from agentv_stream.running.matrix import Attempt, Ended, Matrix, exit_code_of, numbered
from agentv_stream.running.options import DEFAULT_FOLDER, DEFAULT_TASK
from agentv_stream.settings import from_process

if TYPE_CHECKING:
    from rich.console import RenderableType

    from agentv_stream.logs import Log

MARKS: dict[Ended, str] = {
    "pass": SIGNS["pass"],
    "fail": SIGNS["fail"],
    "error": "E",
    "running": "▸",
    "waiting": "·",
    "not started": "-",
}
PROMPT = "{PROMPT}"
MOST_LINES = 30  # of what an attempt reports
_PREFIX = "agentv-stream: "
_SWITCHES = frozenset(("--save-stream", "--redact", "--sync"))  # that can also be off


@dataclass(frozen=True)
class MatrixOptions:
    """The options of a matrix. `passed_on` are arguments for each attempt as they are."""

    command: tuple[str, ...]
    targets: tuple[str, ...]
    checks: tuple[Path, ...]
    case: str | None
    task: str | None
    prompt: str | None
    repeat: int
    workers: int
    folder: Path | None
    fixture: Path | None
    resume: bool
    most_usd: float | None
    as_json: bool
    quiet: bool
    log: str | None
    passed_on: tuple[str, ...]


def passed_on(options: Mapping[str, object]) -> tuple[str, ...]:
    """Options as words: `--NAME` for a switch that is on, `--no-NAME` if it is off, an item of a list each."""
    words: list[str] = []
    for name, value in options.items():
        if isinstance(value, bool):
            words += [name] if value else [f"--no-{name[2:]}"] if name in _SWITCHES else []
        elif isinstance(value, list | tuple):
            words += [f"{name}={item}" for item in value]  # pyright: ignore[reportUnknownVariableType] - texts and paths
        elif value is not None:
            words.append(f"{name}={value}")
    return tuple(words)


def is_matrix(options: MatrixOptions, workers: int | None) -> bool:
    """Whether several attempts are wanted that one `run` cannot make: several targets, workers, or cases as tasks."""
    cases = options.checks and options.task is None and options.prompt is None
    needs_prompt = not options.command or any(PROMPT in word for word in options.command)
    return len(options.targets) > 1 or workers is not None or options.resume or bool(cases and needs_prompt)


def run_matrix(options: MatrixOptions) -> int:
    """Runs all attempts; returns one exit code for all."""
    try:
        folder = options.folder if options.folder is not None else DEFAULT_FOLDER
        log = start_log(from_process({"log": options.log}).log)
        if options.fixture is not None:
            check_fixture(options.fixture, folder)
        attempts = _attempts(options, folder)
        seen = _Table(attempts, sys.stderr.isatty() and not options.quiet and log is None)
        matrix = Matrix(attempts, folder, options.workers, _reporter(options, seen, log), options.most_usd)
        with seen:
            anyio.run(matrix.run)
    except AgentvStreamError as error:
        say(str(error))
        return error.exit_code
    if log is None:
        _report(options, attempts)
    try:
        return _tell_end(matrix, attempts)
    finally:
        if log is not None:
            _tell_totals(attempts, log)


def _tell_end(matrix: Matrix, attempts: Sequence[Attempt]) -> int:
    """Says what was not started; returns the exit code."""
    left = [attempt for attempt in attempts if attempt.ended == "not started"]
    if matrix.signalled is not None:
        say(f"{counted(len(left), 'attempt')} not started; --resume goes on")
        return 128 + matrix.signalled
    if left:
        say(f"{counted(len(left), 'attempt')} not started: {matrix.spent_usd:.2f} USD were spent; --resume goes on")
        return worst([EXIT_RUN, *(attempt.exit_code for attempt in attempts)])
    return worst([attempt.exit_code for attempt in attempts])


def _tell_totals(attempts: Sequence[Attempt], log: "Log") -> None:
    """The last line."""
    ends = [attempt.ended for attempt in attempts]
    costs = [attempt.cost_usd for attempt in attempts if attempt.cost_usd is not None]
    log(
        "finished",
        attempts=sum(attempt.done for attempt in attempts),
        passed=ends.count("pass"),
        failed=ends.count("fail"),
        errors=ends.count("error"),
        not_started=ends.count("not started"),
        cost_usd=sum(costs) if costs else None,
    )


def _attempts(options: MatrixOptions, folder: Path) -> list[Attempt]:
    """Every attempt, case by case. Raises: UsageError, SpecError."""
    if options.command and len(options.targets) > 1:
        raise UsageError("several --target name targets of a targets file, and a command after -- is one of its own")
    if not options.command and not options.targets:
        raise UsageError("nothing to run: give a command after --, or --target NAME of a targets file")
    name = Path(options.command[0]).name if options.command else ""
    attempts: list[Attempt] = []
    for case, prompt in _tasks(options):
        for target in options.targets or (name,):
            for number, ended, cost in numbered(folder, case, target, options.repeat, options.resume):
                words = _words(options, folder, case, target, number, prompt)
                attempt = Attempt(case, target, number, words, prompt, ended, exit_code_of(ended), cost)
                attempt.earlier = ended != "waiting"
                attempts.append(attempt)
    return attempts


def _tasks(options: MatrixOptions) -> list[tuple[str, str | None]]:
    """The tasks with their prompts: the cases of the specs, unless one task or one prompt is given."""
    specs = [load_spec(path) for path in options.checks]
    check_judges(specs)
    for warning in (warning for spec in specs for warning in spec.warnings):
        say(f"warning: {warning}")
    if not specs or options.task is not None or options.prompt is not None:
        return [(options.task or options.case or DEFAULT_TASK, options.prompt)]
    cases = [case for spec in specs for case in (spec.cases if options.case is None else spec.select(options.case))]
    tasks: list[tuple[str, str | None]] = [(case.id, case.prompt) for case in cases if case.prompt is not None]
    if without := [case.id for case in cases if case.prompt is None]:
        say(f"warning: no input that is plain text, so not run: {', '.join(without)}")
    if not tasks:
        raise UsageError("no case of --check has an input that is plain text; give --prompt")
    return tasks


def _words(
    options: MatrixOptions, folder: Path, case: str, target: str, number: int, prompt: str | None
) -> tuple[str, ...]:
    """The arguments of an attempt's process."""
    words = [
        "--task",
        case,
        "--approach",
        target,
        "--attempt",
        str(number),
        "--out",
        str(folder),
        "--json",
        "--no-live",
    ]
    words += ["--no-stdin", *(word for path in options.checks for word in ("--check", str(path)))]
    if options.checks and options.task is None and options.prompt is None:
        words += ["--case", case]
    elif options.case is not None:
        words += ["--case", options.case]
    if prompt is not None:
        words += ["--prompt", prompt]
    if options.fixture is not None:
        words += ["--fixture", str(options.fixture)]
    command = [word.replace(PROMPT, prompt) if prompt is not None else word for word in options.command]
    return (*words, *options.passed_on, *(("--", *command) if command else ()))


def _reporter(options: MatrixOptions, table: "_Table", log: "Log | None") -> Callable[[Attempt], None]:
    def changed(attempt: Attempt) -> None:
        table.update()
        if not attempt.done:
            return
        if options.as_json and attempt.line:
            print_bytes(attempt.line)
        if log is not None:
            log(
                "the attempt has ended",
                level="info" if attempt.ended == "pass" else "warning",
                task=attempt.case,
                target=attempt.target,
                attempt=attempt.number,
                ended=attempt.ended,
                exit_code=attempt.exit_code,
                cost_usd=attempt.cost_usd,
            )
        elif not options.quiet and not table.live:
            cost = "" if attempt.cost_usd is None else f", {attempt.cost_usd:.4f} USD"
            say(f"{attempt.ended}: {attempt.case} · {attempt.target} · attempt {attempt.number}{cost}")

    return changed


def _report(options: MatrixOptions, attempts: Sequence[Attempt]) -> None:
    """The failures in full, then the table of passes."""
    if not options.quiet:
        for attempt in attempts:
            if attempt.ended in ("fail", "error") and attempt.errors:
                sys.stderr.write(f"\n{visible(f'{attempt.case} · {attempt.target} · attempt {attempt.number}', 200)}\n")
                lines = attempt.errors.removeprefix(_PREFIX).replace(f"\n{_PREFIX}", "\n").splitlines()
                sys.stderr.writelines(f"  {visible(line, 400)}\n" for line in lines[-MOST_LINES:])
        sys.stderr.write("\n" + "\n".join(passes_table(attempts)) + "\n")
    sys.stderr.flush()


def passes_table(attempts: Sequence[Attempt]) -> list[str]:
    """Passes of finished attempts with the 95 % interval of the share, for each case and target, and in all."""
    cases = list(dict.fromkeys(attempt.case for attempt in attempts))
    targets = list(dict.fromkeys(attempt.target for attempt in attempts))
    rows = [["case", *targets]]
    for case in cases:
        rows.append([case, *(passes([a for a in attempts if (a.case, a.target) == (case, t)]) for t in targets)])
    if len(cases) > 1:
        rows.append(["all", *(passes([a for a in attempts if a.target == target]) for target in targets)])
    shown = [[visible(cell, 60) for cell in row] for row in rows]
    widths = [max(columns(row[i]) for row in shown) for i in range(len(targets) + 1)]
    return ["  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]


def passes(attempts: Sequence[Attempt]) -> str:
    """`2/3 (21–94 %)`; attempts that failed to run count as not passed."""
    done = [attempt for attempt in attempts if attempt.done]
    if not done:
        return "-"
    passed = sum(attempt.ended == "pass" for attempt in done)
    low, high = share_interval(passed, len(done))
    errors = sum(attempt.ended == "error" for attempt in done)
    more = f", {counted(errors, 'error')}" if errors else ""
    return f"{passed}/{len(done)} ({100 * low:.0f}–{100 * high:.0f} %){more}"


class _Table:
    """The live table on a terminal: a row for each case, a sign for each attempt. Elsewhere it shows nothing."""

    def __init__(self, attempts: Sequence[Attempt], live: bool) -> None:
        self.live = live
        self._attempts = attempts
        if live:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self._render(), console=Console(file=sys.stderr), auto_refresh=False, transient=True)

    def __enter__(self) -> None:
        if self.live:
            self._live.start()

    def __exit__(self, *_: object) -> None:
        if self.live:
            self._live.stop()

    def update(self) -> None:
        """Shows the present state."""
        if self.live:
            self._live.update(self._render(), refresh=True)

    def _render(self) -> "RenderableType":
        from rich.table import Table
        from rich.text import Text

        targets = list(dict.fromkeys(attempt.target for attempt in self._attempts))
        done = sum(attempt.done for attempt in self._attempts)
        table = Table("case", *(visible(target, 40) for target in targets), title=f"{done} of {len(self._attempts)}")
        for case in dict.fromkeys(attempt.case for attempt in self._attempts):
            signs = [
                "".join(MARKS[a.ended] for a in self._attempts if (a.case, a.target) == (case, target))
                for target in targets
            ]
            table.add_row(Text(visible(case, 40)), *map(Text, signs))
        return table

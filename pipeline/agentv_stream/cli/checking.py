"""The implementation of `check`: reads specs and sources, reports the outcome, returns the exit code."""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from agentv_stages.session.chain import Watcher
from agentv_stages.trajectory.trace_events import TraceList
from agentv_stream.checks.check import (
    SourceCheck,
    check_source,
    expand,
    report_json,
    report_jsonl,
    worth_telling,
)
from agentv_stream.checks.check_markdown import MOST_COMMENT, github_annotations, markdown
from agentv_stream.checks.check_text import failures_first, junit, summary_line, table
from agentv_stream.checks.spec import Spec, check_judges, load_spec
from agentv_stream.checks.trace_file import TraceFile
from agentv_stream.cli.redacting import parts_for
from agentv_stream.cli.telling import check_one_user, print_bytes, say
from agentv_stream.colour import palette, verdicts_in_colour
from agentv_stream.discovery.discover import RememberingFolder
from agentv_stream.discovery.own_files import check_own_files
from agentv_stream.errors import AgentvStreamError, NotALog, UsageError, worst
from agentv_stream.outputs.publish import means_stdout, publish_now

Render: TypeAlias = Callable[[Sequence[SourceCheck]], bytes]


def check_sources(
    specs: Sequence[Path],
    sources: Sequence[str],
    *,
    case: str | None,
    provider: str | None,
    threshold: float | None,
    as_json: bool,
    jsonl: Path | None,
    junit_file: Path | None,
    quiet: bool,
    subagents: bool,
    verbose: bool = False,
    redact: bool | None = None,
    markdown_file: Path | None = None,
    comment_file: Path | None = None,
    name: str = "agentv-stream",
    annotations: str | None = None,
    dump_traces: Path | None = None,
    include_trace: bool = False,
) -> int:
    """Checks all sources against all specs; returns the exit code."""
    try:
        parts = parts_for(redact)
        if annotations not in (None, "github"):
            raise UsageError(f"--annotations: expected github, not {annotations!r}")
        files: Sequence[tuple[str, Path | None, Render]] = (
            ("--jsonl", jsonl, report_jsonl),
            ("--junit", junit_file, junit),
            ("--markdown", markdown_file, lambda checks: _encoded(markdown(checks, name))),
            ("--comment", comment_file, lambda checks: _encoded(markdown(checks, name, MOST_COMMENT))),
        )  # fmt: skip
        outputs = [(f"{option} -", means_stdout(place)) for option, place, _ in files]
        check_one_user((("--json", as_json), *outputs))
        check_own_files([(option, place) for option, place, _ in files], (*specs, *sources))
        loaded = [load_spec(path, threshold) for path in specs]
        tell_warnings(loaded)
        check_judges(loaded)
        folder = RememberingFolder()  # thousands of logs may be in one
        traced = _Traced(dump_traces, include_trace)
        checks = [
            traced.check(path, lambda path, watchers: check_source(
                path, loaded, case, provider, subagents, folder, parts, watchers
            ))
            for path in expand(sources)
        ]  # fmt: skip
        checks = worth_telling(checks, sources)
        if not checks:
            raise NotALog(f"no agent's log was found in {', '.join(sources)}")
        for check in checks:
            if check.error is not None:
                say(str(check.error))
        for _, place, render in files:
            if place is not None and str(place) == "-":
                print_bytes(render(checks))
            elif place is not None:
                publish_now(place, render(checks))
        if annotations is not None:
            print_bytes(_encoded("".join(f"{line}\n" for line in github_annotations(checks))))
        if as_json:
            print_bytes(report_json(checks))
        elif not any(wants for _, wants in outputs):
            width = max(60, shutil.get_terminal_size((120, 24)).columns)
            text = summary_line(checks) if quiet else table(checks, width) if verbose else failures_first(checks, width)
            print_bytes(verdicts_in_colour(text, palette(sys.stdout)).encode("utf-8", "replace"))
    except AgentvStreamError as error:
        say(error)
        return error.exit_code
    return worst([check.exit_code for check in checks])


class _Traced:
    """Checks sources, and writes or keeps their trace events if that is wanted."""

    def __init__(self, folder: Path | None, keep: bool) -> None:
        self._folder, self._keep = folder, keep
        self._taken: set[str] = set()

    def check(self, path: Path, check: Callable[[Path, list[Watcher]], SourceCheck]) -> SourceCheck:
        """Raises: SinkError, SpecError."""
        watchers: list[Watcher] = [TraceList()] if self._keep else []
        if self._folder is None:
            return check(path, watchers)
        file = TraceFile(self._folder, path, self._taken)
        whole = False
        try:
            outcome = check(path, [*watchers, file])
            whole = outcome.error is None
        finally:
            file.close(whole)
        return outcome


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def tell_warnings(specs: Sequence[Spec]) -> None:
    for spec in specs:
        for warning in spec.warnings:
            say(f"warning: {warning}")

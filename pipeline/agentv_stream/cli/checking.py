"""What `check` does: reads specs and sources, tells the outcome, gives the exit code."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from agentv_stream.checks.check import (
    SourceCheck,
    check_source,
    expand,
    report_json,
    report_jsonl,
    worst,
    worth_telling,
)
from agentv_stream.checks.check_text import junit, table
from agentv_stream.checks.spec import Spec, load_spec
from agentv_stream.cli.telling import quiet_stdout, say
from agentv_stream.errors import AgentvStreamError, NotALog, SinkError
from agentv_stream.outputs.publish import publish_now


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
) -> int:
    """Checks all sources against all specs; gives the exit code."""
    try:
        loaded = [load_spec(path, threshold) for path in specs]
        tell_warnings(loaded)
        checks = [check_source(path, loaded, case, provider, subagents) for path in expand(sources)]
        checks = worth_telling(checks, sources)
        if not checks:
            raise NotALog(f"no agent's log was found in {', '.join(sources)}")
        if jsonl is not None:
            publish_now(jsonl, report_jsonl(checks))
        if junit_file is not None:
            publish_now(junit_file, junit(checks))
        _show(checks, as_json, quiet)
    except AgentvStreamError as error:
        say(str(error))
        return error.exit_code
    return worst([check.exit_code for check in checks])


def tell_warnings(specs: Sequence[Spec]) -> None:
    for spec in specs:
        for warning in spec.warnings:
            say(f"warning: {warning}")


def _show(checks: Sequence[SourceCheck], as_json: bool, quiet: bool) -> None:
    if as_json:
        data = report_json(checks)
    elif quiet:
        return
    else:
        data = table(checks, max(60, shutil.get_terminal_size((120, 24)).columns)).encode("utf-8", "replace")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        quiet_stdout()
    except OSError as error:
        raise SinkError("standard output", error) from error

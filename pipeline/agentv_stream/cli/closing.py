"""A command's closing lines about a session: how it ended, where its transcript is, its totals."""

import shutil
import sys
import textwrap
from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from agentv_stages.figures.result import Result, has_drifted
from agentv_stages.model.tokens import output_text
from agentv_stages.model.visible import columns, visible
from agentv_stream.colour import STATUSES, palette
from agentv_stream.errors import SinkError

MOST_TOOLS = 4
DRIFTED = "new         `agentv-stream providers --drift LOG` lists what this version does not know, for a bug report\n"


def tell_closing(result: Result, failures: Iterable[Exception]) -> None:
    """Prints `closing_lines` on standard error."""
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else None
    first, line_end, rest = closing_lines(result, failures, width).partition("\n")
    style = STATUSES.get(result.status, "warn")
    sys.stderr.write(palette(sys.stderr)(style, first) + line_end + rest)


def closing_lines(result: Result, failures: Iterable[Exception] = (), width: int | None = None) -> str:
    """Status, faults, unknown records; where the transcript is; turns, calls, first edit, tokens.

    `failures`: outputs that could not be completed are marked as such. In a narrow terminal fewer tools are named.
    """
    failed = {failure.path for failure in failures if isinstance(failure, SinkError)}
    summary, tokens = result.tool_use_summary, result.tokens
    reason = f" ({visible(result.evidence.reason, 120)})" if result.evidence.reason else ""
    faults = sum(result.faults.values())
    letters = result.outputs.dead_letters
    where = f" in {visible(letters)}" if isinstance(letters, str) else ""
    trouble = f", {faults} fault{'s' if faults > 1 else ''}{where}" if faults else ""
    trouble += " (more than one log in the input)" if "foreign-record" in result.faults else ""
    unknown = sum(result.unknown.values())
    trouble += f", {unknown} record{'s' if unknown > 1 else ''} of unknown types" if unknown else ""
    transcript = _where(result.outputs.transcript)
    if result.outputs.transcript in failed:
        transcript += " (cut short)"
    if result.session.id is None and not result.test_id and result.outputs.transcript not in (None, "-"):
        transcript += " (no session id in the log; --test-id NAME names it)"
    first_edit = summary["first_edit_turn"]
    cost = f", ${result.cost_usd:.4f}" if result.cost_usd is not None else ""
    if isinstance(result.estimated_cost_usd, float):
        from agentv_stream.costs.prices import cost_text

        cost = f", {cost_text(result)}"
    agent = f"{result.session.provider} {result.session.model or ''}".strip()
    figures = ""
    for most in range(MOST_TOOLS, -1, -1):
        figures = (
            f"turns {summary['turns']}, calls {summary['total_tool_calls']}{_top(summary['by_tool'], most)}, "
            f"first edit {'turn ' + str(first_edit) if first_edit is not None else 'none'}, "
            f"tokens in {_number(tokens['input'])} out {output_text(tokens)}{cost}"
        )
        if width is None or columns(figures) <= width:
            break
    else:  # otherwise a terminal might break a number
        figures = textwrap.fill(figures, max(width or 0, 20), break_on_hyphens=False)
    return (
        f"status      {result.status}{reason}  [{visible(agent, 60)}]{trouble}\n"
        f"transcript  {transcript}\n"
        f"{_trajectory(result.outputs.trajectory)}"
        f"{figures}\n"
        f"{DRIFTED if has_drifted(result.unknown, result.records) else ''}"
    )


def _where(transcript: str | None) -> str:
    return "standard output" if transcript == "-" else visible(transcript or "none")


def _trajectory(path: str | UnsetType) -> str:
    return "" if path is UNSET else f"trajectory  {visible(path)}\n"


def _top(by_tool: dict[str, int], most: int) -> str:
    first = sorted(by_tool.items(), key=lambda item: (-item[1], item[0]))[:most]
    more = ", …" if len(by_tool) > len(first) else ""
    return " (" + ", ".join(f"{visible(name, 30)} {n}" for name, n in first) + more + ")" if first else ""


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"

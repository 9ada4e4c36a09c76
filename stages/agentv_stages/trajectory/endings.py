"""How a call ended, as a spec asks for it: outcome, exit code and duration of a call's result."""

from typing import get_args

from msgspec import Struct

from agentv_stages.model.event import MAIN, Outcome, ToolResult
from agentv_stages.trajectory.verdict import plain
from agentv_stages.trajectory.wildcards import glob

OUTCOMES: tuple[str, ...] = get_args(Outcome)
FIELDS = ("outcome", "exit_code", "max_ms")
SUB = "sub"
"""Any stream but the main one."""


class Ending(Struct, frozen=True):
    """Conditions on a call's result; those that are empty hold for any. What a log does not say does not fit."""

    outcome: tuple[str, ...] = ()
    exit_code: tuple[int, ...] = ()
    max_ms: float | None = None

    @property
    def waits(self) -> bool:
        """Whether the result of a call decides."""
        return bool(self.outcome or self.exit_code or self.max_ms is not None)

    @property
    def title(self) -> str:
        """The conditions as text, with a blank before them; empty without any."""
        parts = ["/".join(self.outcome)] if self.outcome else []
        parts += ["exit code " + "/".join(map(str, self.exit_code))] if self.exit_code else []
        parts += [f"at most {plain(self.max_ms)}ms"] if self.max_ms is not None else []
        return f" ({', '.join(parts)})" if parts else ""

    def fits(self, result: ToolResult | None) -> bool:
        """Whether a call with this result is as asked; None is a call that never got one."""
        outcome = "unpaired" if result is None else result.outcome or "ok"
        if self.outcome and outcome not in self.outcome:
            return False
        if self.exit_code and (result is None or result.exit_code not in self.exit_code):
            return False
        return self.max_ms is None or (
            result is not None and result.duration_ms is not None and result.duration_ms <= self.max_ms
        )

    def missing(self, result: ToolResult | None) -> str | None:
        """The required fact that the log lacks about a result; None if it has all of them."""
        if result is None:
            return None
        if self.exit_code and result.exit_code is None:
            return "exit code"
        return "duration" if self.max_ms is not None and result.duration_ms is None else None


ANYHOW = Ending()


def on_stream(wanted: str | None, stream: str, everywhere: bool) -> bool:
    """Whether a call's stream is the one of a step: by its name or a glob, `main`, or `sub` for any other one. Without
    a name it is that of the evaluator."""
    if wanted is None:
        return everywhere or stream == MAIN
    if wanted == SUB:
        return stream != MAIN
    return wanted == stream or glob(wanted)(stream)


MOST_NOTES = 20


def note_missing(notes: list[str], title: str, ending: Ending, result: ToolResult | None) -> None:
    """Records, once, that the log lacks a fact that a condition needs."""
    missing = ending.missing(result)
    text = f"No {missing} in the log for {title}; the call does not fit"
    if missing is not None and text not in notes and len(notes) < MOST_NOTES:
        notes.append(text)

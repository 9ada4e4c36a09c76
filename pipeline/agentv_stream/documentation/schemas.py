"""JSON Schemas of all outputs, by name: of sessions (`agentv_stages.schemas`) and of commands (`shapes`)."""

from typing import Any, get_args, get_origin

from agentv_stages import schemas as of_stages
from agentv_stages.trajectory.trace_events import TraceEvent
from agentv_stream.documentation.provider_table import DialectRow
from agentv_stream.documentation.shapes.bulk import ImportPlan, ImportReport, StatsByTool, StatsReport
from agentv_stream.documentation.shapes.checks import CheckLine, CheckReport, Validation
from agentv_stream.documentation.shapes.listings import (
    CursorLine,
    FaultLine,
    Health,
    SessionLine,
    ToolTableRow,
    WatchLine,
)
from agentv_stream.documentation.shapes.reports import ReportFile
from agentv_stream.documentation.shapes.runs import RunOutput, RunResult
from agentv_stream.following.actions import SessionEvent

SHAPES: dict[str, Any] = {
    **of_stages.SHAPES,
    "run-result": RunResult,
    "output": RunOutput,
    "trace": TraceEvent,
    "check": CheckReport,
    "check-line": CheckLine,
    "validation": Validation,
    "report": ReportFile,
    "sessions": SessionLine,
    "watch": WatchLine,
    "tools": list[ToolTableRow],
    "providers": list[DialectRow],
    "faults": FaultLine,
    "cursors": CursorLine,
    "stats": StatsReport | StatsByTool,
    "import-report": ImportReport,
    "import-plan": ImportPlan,
    "health": Health,
    "session-event": SessionEvent,
}
VERSIONS: dict[str, str] = {
    **of_stages.VERSIONS,
    "run-result": "agentv_stream.result.v1",
    **{
        name: f"agentv_stream.{name.replace('-', '_')}.v1"
        for name in SHAPES
        if name not in of_stages.SHAPES and name != "run-result"
    },
}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of an output.

    Raises: KeyError for an unknown name.
    """
    return of_stages.titled(SHAPES[name], VERSIONS[name])


def about(name: str) -> str:
    """One sentence about an output."""
    struct = (*get_args(SHAPES[name]), SHAPES[name])[0]
    text = " ".join((struct.__doc__ or "").split("\n\n", maxsplit=1)[0].split())
    sentence = text.split(". ")[0].rstrip(".") + "."
    return f"An array. {sentence}" if get_origin(SHAPES[name]) is list else sentence

"""A tool call of a finished session with its result, as one object."""

from typing import Any

from agentv_stages.model.call_summary import target_of
from agentv_stages.model.event import Kind, Outcome, ToolCall, ToolResult
from agentv_stages.model.visible import visible

_SHOWN = 60


class Call:
    """A tool call and how it ended; docs/metrics.md defines the names.

    `index` is its position in the session, from 0. `turn` counts the turns of the main stream from 1; None on the
    stream of a sub-agent. `request` and `result` are the events; `result` is None while the call is open.
    """

    __slots__ = ("__weakref__", "index", "request", "result", "turn")

    def __init__(self, index: int, turn: int | None, request: ToolCall, result: ToolResult | None = None) -> None:
        self.index = index
        self.turn = turn
        self.request = request
        self.result = result

    @property
    def id(self) -> str:
        """The agent's own id of the call."""
        return self.request.call_id

    @property
    def tool(self) -> str:
        """The canonical name, `Bash`; the agent's own one where there is none."""
        return self.request.tool or self.request.name

    @property
    def name(self) -> str:
        """The agent's own name of the tool, `run_shell_command`."""
        return self.request.name

    @property
    def kind(self) -> Kind:
        """Its purpose: read, write, execute, search, plan, ask, other."""
        return self.request.kind

    @property
    def server(self) -> str | None:
        """The MCP server; None for the agent's own tools."""
        return self.request.server

    @property
    def command(self) -> str | None:
        """The shell text; None for other tools."""
        return self.request.command

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the call names."""
        return self.request.files

    @property
    def edit(self) -> bool:
        """Whether it is an edit of a file by an editing tool."""
        return self.request.edit

    @property
    def shell_edit(self) -> bool:
        """Whether its shell text writes files."""
        return self.request.shell_edit

    @property
    def input(self) -> Any:
        """The decoded arguments. Raises: ValueError where the log holds damaged JSON."""
        return self.request.input

    @property
    def output(self) -> Any:
        """The decoded output; None where the log holds none."""
        return None if self.result is None else self.result.output

    @property
    def outcome(self) -> Outcome:
        """`ok`, `error`, `denied`, `cancelled`; `unpaired` without a result."""
        return "unpaired" if self.result is None else self.result.outcome or "ok"

    @property
    def exit_code(self) -> int | None:
        """The exit code of a shell text; None where the log does not say."""
        return None if self.result is None else self.result.exit_code

    @property
    def duration_ms(self) -> int | None:
        """How long it took, in milliseconds; None where the log does not say."""
        return None if self.result is None else self.result.duration_ms

    @property
    def time_ms(self) -> int | None:
        """When it was requested, in UTC milliseconds; None where the log has no times."""
        return self.request.source.time_ms

    @property
    def stream(self) -> str:
        """`main`, or the stream of a sub-agent."""
        return self.request.source.stream

    @property
    def row(self) -> int:
        """The number of its record in its file, from 0."""
        return self.request.source.row

    @property
    def target(self) -> str:
        """Its subject: its command, its files, its most informative argument. Raw text of the agent."""
        return target_of(self.request)

    def __repr__(self) -> str:
        where = f"turn {self.turn}" if self.turn is not None else self.stream
        about = visible(f"{self.tool} {self.target}".strip(), _SHOWN)
        code = f" exit {self.exit_code}" if self.exit_code else ""
        return f"<Call {self.index}, {visible(where, _SHOWN)}: {about} → {self.outcome}{code}>"

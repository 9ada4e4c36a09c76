"""The habits of OpenCode, and of Kilo with it, over ACP. Source: recordings of OpenCode 1.2 to 1.18, Kilo 7.7."""

from functools import partial

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.acp import AcpHabits, Arguments
from agentv_stages.model.event import Outcome
from agentv_stages.model.payload import text_of
from agentv_stages.model.tools import ToolTable
from agentv_stages.providers.opencode.parts import failure


class _Metadata(Struct, gc=False):
    sessionId: str | None = None


class _Output(Struct, gc=False):
    metadata: _Metadata | None = None


_decode = msgspec.json.Decoder(_Output).decode


def _mcp_title(table: ToolTable, title: str, arguments: Arguments) -> str | None:
    """`server_tool` as a canonical name, if the agent has no tool of that name. A tool that does not exist is a call of
    `invalid`, whose arguments name it.
    """
    if title in table.by_name or arguments.get("tool") == title:
        return None
    server, mark, tool = title.partition("_")
    return f"mcp__{server}__{tool}" if mark and server and tool else None


def _model_name(name: str) -> str | None:
    """A model without its provider (`p/m`)."""
    return name.partition("/")[2] or None


def _failure(output: Raw, marked: bool) -> tuple[Outcome, int | None] | None:
    return (failure(text_of(output)), None) if marked else None


def _child(output: Raw, raw: Raw) -> str | None:
    """The session of the sub-agent that a call started, if its raw output names it."""
    try:
        value = _decode(raw)
    except msgspec.MsgspecError:
        return None
    return value.metadata.sessionId if value.metadata is not None else None


def habits(mark: str, table: ToolTable) -> AcpHabits:
    """Those of OpenCode or a fork of it."""
    return AcpHabits(
        marks=(mark,),
        model_name=_model_name,
        mcp_title=partial(_mcp_title, table),
        asks_by_command=True,
        invalid=frozenset(("invalid", "Invalid Tool")),
        unavailable=b'"Model tried to call unavailable tool',
        failure=_failure,
        child=_child,
        last_step_only=True,
        cache_apart=True,
    )

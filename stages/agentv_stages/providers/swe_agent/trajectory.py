"""SWE-agent's trajectories to events: a `.traj` file is one JSON document.

An element of `trajectory` is one answer with one action; the observation is its result. Demonstrations in the history
are not part of the run. A file of several attempts has the chosen one at the top. Files that only have a history are
demonstrations themselves.
End rule: `info.exit_status`.
Source: SWE-agent 0.6 to 1.x, demonstrations and test data of its repository.
"""

import shlex
from itertools import zip_longest

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.chain.pruning import read_each
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    SessionEnd,
    SessionInfo,
    Source,
    Status,
    TokenUsage,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import ABSENT, has_value, inner_json, one_line, text_json, text_of, to_raw
from agentv_stages.model.provider import REFUSED, DecodeContext
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.swe_agent.tools import ROWS

LOSSES = (
    "outcomes and exit codes of commands",
    "times (durations are in later versions), the model",
    "tokens of single answers, cached tokens",
    "the session's id, the version of the program",
)
ENDS: dict[str, Status] = {
    "submitted": "complete",
    "exit_cost": "error",
    "exit_context": "error",
    "exit_format": "error",
    "exit_error": "error",
    "exit_api": "error",
    "exit_environment_error": "error",
    "exit_command_timeout": "error",
    "exit_total_execution_time": "error",
    "exit_command": "interrupted",
    "exit_forfeit": "interrupted",
}
_KNOWN = frozenset(row.native for row in ROWS) - {"bash"}
_EDITOR = "str_replace_editor"
_WITH_PATH = frozenset(("open", "create"))
_SHORT = 4096


class Stats(Struct, gc=False):
    instance_cost: float | None = None
    total_cost: float | None = None
    tokens_sent: int | None = None
    tokens_received: int | None = None


class Info(Struct, gc=False):
    exit_status: str | None = None
    model_stats: Stats | None = None


class Element(Struct, gc=False):
    """An element of the trajectory."""

    action: str | None = None
    observation: Raw = ABSENT
    response: Raw = ABSENT
    thought: Raw = ABSENT
    state: Raw = ABSENT
    execution_time: float | None = None


class Entry(Struct, gc=False):
    """An element of the history."""

    role: str = ""
    content: Raw = ABSENT
    thought: Raw = ABSENT
    action: str | None = None
    is_demo: bool | None = None
    message_type: str | None = None


class Document(Struct, gc=False):
    environment: str | None = None
    trajectory: list[Raw] | None = None
    history: list[Raw] | None = None
    info: Info | None = None


class Place(Struct, gc=False):
    working_dir: str | None = None


class State(Struct):
    """Empty: a trajectory is one record."""


decode_document = Decoder(Document).decode
decode_element = Decoder(Element).decode
decode_entry = Decoder(Entry).decode
decode_place = Decoder(Place).decode


class TrajectoryDecoder:
    """Decoder of `swe-agent`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def decode(self, record: Record, batch: Batch) -> None:
        document = decode_document(one_line(record.data))
        if document.trajectory is None and document.history is None:
            batch.unknown_type("(no trajectory)", record)
            return
        steps = read_each(document.trajectory or (), decode_element, "trajectory", record, batch)
        entries = read_each(document.history or (), decode_entry, "history", record, batch)
        own = [entry for _, entry in entries if not entry.is_demo and entry.message_type != "demonstration"]
        source = self.context.source(record)
        batch.events.append(SessionInfo(source, "", cwd=_folder(steps[0][1]) if steps else None, begins=True))
        prompt = next((entry for entry in own if entry.role == "user"), None)
        if prompt is not None:
            batch.events.append(UserText(source, "", text_json(prompt.content), "prompt"))
        elements = [element for _, element in steps] or _from_history(own)
        for number, element in enumerate(elements):
            self._step(element, number, source, batch)
        if document.info is not None:
            _end(document.info, source, batch)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _step(self, element: Element, number: int, source: Source, batch: Batch) -> None:
        part, message_id, add = f"-{number}", f"step-{number}", batch.events.append
        text = text_json(element.thought if has_value(element.thought) else element.response)
        if text_of(text):
            add(AssistantText(source, part, message_id, text))
        action = (element.action or "").strip()
        if not action:
            return
        name, arguments = _request(action)
        add(ToolCall(source, part, message_id, message_id, name, arguments))
        seconds = element.execution_time
        duration = None if seconds is None else whole_ms(seconds * 1000)
        output = element.observation if has_value(element.observation) else None
        if output is not None or duration is not None:
            add(ToolResult(source, part, message_id, output, None, None, duration))


def _from_history(entries: list[Entry]) -> list[Element]:
    """The steps of a file without a trajectory: each answer with the next entry as its observation."""
    found: list[Element] = []
    for entry, after in zip_longest(entries, entries[1:], fillvalue=Entry()):
        if entry.role == "assistant":
            text = entry.thought if has_value(entry.thought) else entry.content
            returned = after.content if after.role in ("user", "tool") else ABSENT
            found.append(Element(entry.action, returned, thought=text))
    return found


def _request(action: str) -> tuple[str, Raw]:
    """The name of an action and its input: SWE-agent's own commands by their first word, others are shell texts."""
    word = action.split(maxsplit=1)[0]
    if word not in _KNOWN:
        return "bash", to_raw({"command": action})
    arguments: dict[str, str] = {"action": action}
    words = _words(action)
    if word == _EDITOR and len(words) > 1:
        arguments["command"] = words[1]
    at = 2 if word == _EDITOR else 1
    if (word == _EDITOR or word in _WITH_PATH) and len(words) > at:
        arguments["path"] = words[at]
    return word, to_raw(arguments)


def _words(action: str) -> list[str]:
    line = action[:_SHORT].split("\n", 1)[0]
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _folder(element: Element) -> str | None:
    """The working folder in the state, which is an object or JSON within a string."""
    try:
        return decode_place(inner_json(element.state)).working_dir if has_value(element.state) else None
    except REFUSED:
        return None


def _end(info: Info, source: Source, batch: Batch) -> None:
    stats = info.model_stats
    if stats is not None:
        cost = stats.instance_cost or stats.total_cost or None
        if any((stats.tokens_sent, stats.tokens_received, cost)):
            sent, received = stats.tokens_sent or None, stats.tokens_received or None
            batch.events.append(
                TokenUsage(source, "", "stats", "session", None, sent, None, None, None, received, cost_usd=cost)
            )
    status = info.exit_status
    if status is not None and status != "early_exit":
        known = ENDS.get(status, "complete" if status.startswith("submitted") else "unknown")
        batch.events.append(SessionEnd(source, "", known, None if status == "submitted" else status))

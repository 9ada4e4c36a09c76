"""Antigravity's transcripts to events: `transcript.jsonl` and `transcript_full.jsonl` in the folder of a session.

A line is a step; lines need not be in the order of their numbers. Calls have no ids: the results that follow an answer
are those of its calls, in their order, except where the type of a result names another tool. The shorter file holds
each argument as JSON within a string, and cuts long texts; where the full one lies beside it, the shorter one is a copy
of it and is not read.
End rule: there is no end record; an answer that asks for no tool is a good end.
Source: agy 1.0.10 to 1.0.16, transcripts of 29 sessions.
"""

import re

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from agentv_stages.chain.foreign import COPIED_BESIDE
from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    AssistantText,
    Level,
    Notification,
    Outcome,
    Reasoning,
    SessionEnd,
    SessionInfo,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.model.payload import EMPTY_STRING, has_value, inner_json, text_json, text_of, to_raw
from agentv_stages.model.provider import DecodeContext
from agentv_stages.model.times import parse_iso, whole_ms
from agentv_stages.providers.antigravity.calls import SHELL, is_refusal, requested
from agentv_stages.providers.antigravity.wire import Call, Entry, decode_entry

# The place of a session's transcript: `<root>/brain/<session id>/.system_generated/logs/transcript.jsonl`.

SHORT = "transcript.jsonl"
FULL = "transcript_full.jsonl"
"""The transcript with nothing cut, where a version writes one."""
LOGS = ".system_generated/logs"
_PLACE = re.compile(r"(?:(.*)/)?([^/]+)/\.system_generated/logs/(transcript(?:_full)?\.jsonl)(?:\.gz|\.zst)?\Z")


def parts_of(path: str) -> tuple[str, str, str] | None:
    """The folder of all sessions (with a slash, or empty), the session's id and the name of the file."""
    found = _PLACE.match(path.replace("\\", "/"))
    return None if found is None else (f"{found[1]}/" if found[1] is not None else "", found[2], found[3])


def session_of(path: str) -> str | None:
    """The session id in the path of a transcript; None for a file that lies elsewhere."""
    parts = parts_of(path)
    return None if parts is None else parts[1]


LOSSES = (
    "tokens, cost",
    "the model's own name (it is named as people see it, when it is changed)",
    "the ids of calls",
    "how a background command ended",
    "the version of the program; the folder, unless a command names it",
)
MOST_RUNNING = 64
_STATUSES = ("DONE", "RUNNING", "ERROR")
SYSTEM = frozenset(("EPHEMERAL_MESSAGE", "CONVERSATION_HISTORY", "CHECKPOINT"))
NOTICES = {"SYSTEM_MESSAGE": "system_message", "ERROR_MESSAGE": "error_message"}
_REQUEST = re.compile(r"\s*<USER_REQUEST>\n?(.*?)\n?</USER_REQUEST>", re.DOTALL)
_MODEL = re.compile(r"<USER_SETTINGS_CHANGE>.*?`Model Selection` from .*? to (.+?)\. No need", re.DOTALL)
_TITLE = re.compile(r"# USER Objective:\n(.+)")
_BEGUN = re.compile(r"Created At: (\S+)\n(?:Completed At: (\S+))?")
_TIMES = r"(?:Created At: .*\n)?(?:Completed At: .*\n)?\s*"
_VERDICT = re.compile(_TIMES + r"The command (?:failed with exit code: (-?\d{1,10})\b|completed successfully\.)")
_TYPES = {"list_dir": "LIST_DIRECTORY"} | {
    name: name.upper()
    for name in (
        *("run_command", "view_file", "grep_search", "search_web", "read_url_content"),
        *("generate_image", "invoke_subagent", "ask_question"),
    )
}
"""The type of the result of a tool, where it has one of its own."""
_HEAD = 2048
_members = msgspec.json.Decoder(dict[str, Raw]).decode


class State(Struct):
    """`answer` and `answer_ms` are number and time of the last answer with calls, `open` the ids and tools of its calls
    that have no result, `answered` the numbers of its results. `running` are the numbers of steps that went on in the
    background."""

    session_id: str | None = None
    model: str | None = None
    cwd: str | None = None
    title: str | None = None
    answer: int = -1
    answer_ms: int = 0
    open: dict[str, str] = {}
    answered: list[int] = []
    running: list[int] = []


class TranscriptDecoder:
    """Decoder of `antigravity-transcript`."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()
        self.nested = not (context.place or context.file).endswith(FULL)

    def decode(self, record: Record, batch: Batch) -> None:
        entry = decode_entry(record.data)
        if self.context.begun_ms is not None:
            batch.ignore(COPIED_BESIDE)
            return
        step = f"step-{record.row if entry.step_index is None else entry.step_index}"
        source = self.context.source(record, parse_iso(entry.created_at), step)
        if record.row == 0:
            self._session(source, batch)
        kind = entry.type
        if kind == "PLANNER_RESPONSE":
            self._answer(entry, source, batch)
        elif kind == "USER_INPUT":
            self._prompt(entry, source, batch)
        elif kind in NOTICES:
            level: Level = "error" if kind == "ERROR_MESSAGE" else "info"
            batch.events.append(Notification(source, "", NOTICES[kind], text_of(text_json(entry.content)), level))
        elif kind in SYSTEM:
            self._title(entry, source, batch)
        elif entry.source == "MODEL":
            self._result(entry, record, source, batch)
        else:
            batch.unknown_type(kind, record)

    def flush(self, batch: Batch) -> None:
        """Nothing is held back."""

    def _session(self, source: Source, batch: Batch) -> None:
        """The folder is named after the session."""
        state, context = self.state, self.context
        state.session_id = session_of(context.place or context.file)
        if state.session_id is not None and context.session_id is None:
            batch.events.append(SessionInfo(source, "", state.session_id))

    def _prompt(self, entry: Entry, source: Source, batch: Batch) -> None:
        state, text = self.state, text_of(text_json(entry.content))
        changed = _MODEL.search(text)
        if changed is not None:
            state.model = changed[1]
            batch.events.append(SessionInfo(source, "-model", model=state.model))
        found = _REQUEST.match(text)
        body = to_raw(found[1]) if found is not None else text_json(entry.content)
        batch.events.append(UserText(source, "", body, source.base_id))

    def _title(self, entry: Entry, source: Source, batch: Batch) -> None:
        """A checkpoint has the objective of the session. It claims that the conversation was cut, which is not so."""
        state = self.state
        found = _TITLE.search(text_of(text_json(entry.content))[:_HEAD]) if entry.type == "CHECKPOINT" else None
        if found is not None and state.title is None:
            state.title = found[1]
            batch.events.append(SessionInfo(source, "-title", title=state.title))
        else:
            batch.ignore(entry.type)

    def _answer(self, entry: Entry, source: Source, batch: Batch) -> None:
        source = replace(source, answer=source.time_ms)  # what was taken back may leave its number to another step
        state, message_id, events = self.state, source.base_id, batch.events
        requests = [(call, *requested(call.name, call.args, nested=self.nested)) for call in entry.tool_calls or ()]
        if has_value(entry.thinking):
            events.append(Reasoning(source, "", message_id, text_json(entry.thinking), model=state.model))
        if has_value(entry.content):
            events.append(AssistantText(source, "", message_id, text_json(entry.content), model=state.model))
        calls = {f"{message_id}-{i}": name for i, (_, name, _) in enumerate(requests)}
        if requests and not self._is_copy(entry, source):
            state.answer = source.row if entry.step_index is None else entry.step_index
            state.answer_ms, state.open, state.answered = source.time_ms or 0, calls, []
        for i, (call, name, arguments) in enumerate(requests):
            if name == SHELL:
                self._folder(call, source, batch)
            call_id, parent = f"{message_id}-{i}", self.context.parent_call
            events.append(ToolCall(source, f"-{i}", message_id, call_id, name, arguments, parent, state.model))
        if not requests and has_value(entry.content):
            if entry.status == "DONE":
                events.append(SessionEnd(source, "", "complete"))
        elif not requests and not has_value(entry.thinking):
            batch.ignore("PLANNER_RESPONSE/empty")

    def _is_copy(self, entry: Entry, source: Source) -> bool:
        """Whether the log repeats an answer: its results came behind the first copy."""
        state, step = self.state, entry.step_index
        return step is not None and step <= state.answer and (source.time_ms or 0) <= state.answer_ms

    def _folder(self, call: Call, source: Source, batch: Batch) -> None:
        """Only commands name the working folder."""
        if self.state.cwd is None and b'"Cwd"' in bytes(call.args):
            value = _members(call.args).get("Cwd", EMPTY_STRING)
            cwd = text_of(inner_json(value) if self.nested else value)
            if cwd:
                self.state.cwd = cwd
                batch.events.append(SessionInfo(source, "-cwd", cwd=cwd))

    def _result(self, entry: Entry, record: Record, source: Source, batch: Batch) -> None:
        state, step = self.state, entry.step_index
        if step is not None and (step < state.answer or step in state.running or step in state.answered):
            batch.ignore("result/again")
            return
        if entry.status == "RUNNING" and step is not None:
            state.running = [*state.running[1 - MOST_RUNNING :], step]
        if state.open and step is not None:
            state.answered.append(step)
        call_id = _answered(entry.type, state.open) or source.base_id
        tool = state.open.pop(call_id, "")
        if entry.status not in _STATUSES:
            batch.unknown_type(f"status/{entry.status or ''}", record)
            return
        head = text_of(text_json(entry.content))[:_HEAD]
        outcome, code = _ending(entry, head, shell=tool == SHELL)
        duration, end = None, source
        times = _BEGUN.match(head)
        if times is not None and times[2]:
            begun, ended = parse_iso(times[1]), parse_iso(times[2])
            if begun is not None and ended is not None:
                duration = whole_ms(ended - begun)
                end = replace(source, time_ms=ended)
        output = text_json(entry.content) if has_value(entry.content) else None
        batch.events.append(ToolResult(end, "", call_id, output, outcome, code, duration))


def _answered(kind: str, calls: dict[str, str]) -> str | None:
    """The id of the oldest call whose tool gives results of this type, or else may give any, or else of any call."""
    fitting = (call_id for call_id, tool in calls.items() if _TYPES.get(tool) == kind)
    others = (call_id for call_id, tool in calls.items() if tool not in _TYPES)
    return next(fitting, None) or next(others, None) or next(iter(calls), None)


def _ending(entry: Entry, head: str, *, shell: bool) -> tuple[Outcome | None, int | None]:
    """How a call ended. A failed command has the status DONE; only its text reports the failure."""
    if entry.status == "ERROR":
        return "denied" if is_refusal(head) else "error", None
    verdict = _VERDICT.match(head) if shell else None
    if verdict is None:
        return "ok", None
    return ("ok", 0) if verdict[1] is None else ("error", int(verdict[1]))

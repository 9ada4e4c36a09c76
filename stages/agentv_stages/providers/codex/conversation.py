"""Response items of Codex to events: messages, reasoning, tool calls and their outputs.

In: payloads of `response_item` lines and the bare lines of old rollouts. What the log tells twice is taken once: texts
from the response items, with the copies (`user_message`, `agent_message`, `UserMessage`, `AgentMessage`) held until the
response item comes, and used where it never does.
"""

import re
import zlib

import msgspec
from msgspec import Raw, Struct, field

from agentv_stages.batch import Batch, Record
from agentv_stages.event import (
    EMPTY_OBJECT,
    NULL,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    Source,
    ToolCall,
    ToolResult,
    UserText,
)
from agentv_stages.payload import decode_json, join_strings, to_raw
from agentv_stages.provider import DecodeContext
from agentv_stages.providers.codex.outcome import Verdict, beginning, judge
from agentv_stages.providers.codex.scripts import Script, named_call
from agentv_stages.providers.codex.wire import ABSENT, ContentPart, Payload, decode_parts, first, given, plain, word

MOST_OPEN = 10_000
MOST_ANSWERED = 2048
MOST_PENDING = 32
MOST_SCRIPTS = 256
MOST_TURNS = 32

_as_raw = msgspec.json.Decoder(Raw).decode

INJECTED = re.compile(
    r"\s*(?:<(?:environment_context|environments|user_instructions|turn_aborted|subagent_notification|skill|skills|"
    r"user_shell_command|INSTRUCTIONS|permissions|collaboration_mode|user_action|model_switch|personality|hook_prompt|"
    r"recommended_plugins|apps_instructions|plugins|goal_context|realtime)\b|# AGENTS\.md instructions|"
    r"Another language model started to solve this problem)"
)
SHELLS = frozenset(("shell", "shell_command", "exec_command", "container.exec", "local_shell"))
_HEREDOC = re.compile(r"\s*(?:cd\s+\S+\s*&&\s*)?(?:apply_patch|applypatch)\b\s*(?:<<|['\"]?\*\*\* Begin Patch)")
_PATCH = re.compile(r"\*\*\* Begin Patch.*?(?:\*\*\* End Patch|\Z)", re.S)
_BEGIN = b"*** Begin Patch"


class Copy(Struct):
    """A text that the log tells a second time, waiting for its response item."""

    role: str
    text: Raw
    source: Source


class Running(Struct):
    """The first output of a call whose process or script goes on, held until its end is told."""

    output: Raw
    source: Source


class State(Struct):
    """What the rollout decoders remember; every list and map in it is capped.

    `answer` is the message id of the model answer that is being written, "" between answers. `open` maps the calls that
    wait for a result to the sub-agent's id that they started, if any. `said` holds checksums of texts whose copy has
    not come yet.
    """

    session_id: str | None = None
    model: str | None = None
    window: int | None = None
    answer: str = ""
    open: dict[str, str] = field(default_factory=dict[str, str])
    answered: dict[str, bool] = field(default_factory=dict[str, bool])
    running: dict[str, Running] = field(default_factory=dict[str, Running])
    scripts: list[Script] = field(default_factory=list[Script])
    pending: list[Copy] = field(default_factory=list[Copy])
    said: list[int] = field(default_factory=list[int])
    user_seen: bool = False
    turns: list[list[str]] = field(default_factory=list[list[str]])
    outputs_end: bool = True
    final: bool = False
    totals: list[int] | None = None
    records: bool = False
    ends: bool = False
    started: bool = False
    replay: bool = False
    begun_ms: int | None = None


class Conversation:
    """The part that both rollout decoders share. `state` is replaced as a whole when a follower is restored."""

    def __init__(self, context: DecodeContext) -> None:
        self.context = context
        self.state = State()

    def response_item(self, p: Payload, source: Source, record: Record, batch: Batch) -> None:
        """One API-level item."""
        kind = p.type
        if kind == "function_call":
            self._call(p, p.arguments, source, batch)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._output(p.call_id or "", p.output, source, batch)
        elif kind == "reasoning":
            self._reasoning(p, source, batch)
        elif kind == "custom_tool_call":
            if p.name == "exec" and p.namespace in (None, "functions"):
                self._script(p, source, batch)
            else:
                self._call(p, p.input, source, batch)
        elif kind == "message" or (kind == "" and p.role):
            self._message(p, source, batch)
        elif kind == "web_search_call" or kind == "image_generation_call":
            self._whole_call(p, source, batch)
        elif kind == "local_shell_call":
            p.call_id, p.name = p.call_id or p.id, "local_shell"
            self._call(p, p.action, source, batch)
        elif kind == "tool_search_call":
            p.name = kind
            self._call(p, p.arguments, source, batch)
        elif kind == "tool_search_output":
            self._output(p.call_id or "", p.tools, source, batch)
        elif kind == "agent_message":
            self._agent_mail(p, source, batch)
        elif kind in IGNORED_ITEMS:
            batch.ignore(f"response_item:{kind}")
        else:
            batch.unknown_type(f"response_item:{kind}", record)

    # Texts

    def _message(self, p: Payload, source: Source, batch: Batch) -> None:
        parts = _parts(p.content)
        if p.role == "assistant":
            self.release("user", batch)
            answer = self.answer(source)
            many = len(parts) > 1
            for i, part in enumerate(parts):
                if first(part.text) != b'"':
                    continue
                self._told(part.text)
                batch.events.append(
                    AssistantText(source, f"-{i}" if many else "", answer, part.text, False, False, self.state.model)
                )
            self.state.final = True
            return
        if not parts:
            batch.ignore("response_item:message")
            return
        body = parts[0].text if len(parts) == 1 and first(parts[0].text) == b'"' else p.content
        injected = p.role != "user" or _injected(parts)
        if not injected:
            self._user_turn(batch)
        self.end_answer()
        batch.events.append(UserText(source, "", body, p.id or f"u{source.row}", injected))

    def _user_turn(self, batch: Batch) -> None:
        state = self.state
        self.let_go(batch)
        state.pending = [copy for copy in state.pending if copy.role != "user"]
        state.user_seen = True
        state.final = False
        state.turns.append([])
        if len(state.turns) > MOST_TURNS:
            del state.turns[0]

    def _told(self, text: Raw) -> None:
        """A text of the model came as a response item: its copy, before or after it, is not needed."""
        state = self.state
        check = zlib.crc32(text)
        for i, copy in enumerate(state.pending):
            if copy.role == "assistant" and zlib.crc32(copy.text) == check:
                del state.pending[i]
                return
        state.said.append(check)
        if len(state.said) > 8:
            del state.said[0]

    def copy(self, role: str, text: Raw, source: Source, batch: Batch) -> None:
        """A text that should stand in a response item too."""
        state = self.state
        if first(text) != b'"' or len(text) == 2:
            batch.ignore("empty text")
            return
        if role == "user":
            known = state.user_seen
        else:
            check = zlib.crc32(text)
            known = check in state.said
            if known:
                state.said.remove(check)
        if known:
            batch.ignore(f"{role} text, told again")
            return
        if len(state.pending) >= MOST_PENDING:
            self._emit_copy(state.pending.pop(0), batch)
        state.pending.append(Copy(role, text, source))

    def release(self, role: str | None, batch: Batch) -> None:
        """The response items of the held texts did not come: the copies are what there is."""
        state = self.state
        if not state.pending:
            return
        held, state.pending = state.pending, []
        for copy in held:
            if role is None or copy.role == role:
                self._emit_copy(copy, batch)
            else:
                state.pending.append(copy)

    def _emit_copy(self, copy: Copy, batch: Batch) -> None:
        source = copy.source
        if copy.role == "user":
            self.end_answer()
            self._user_turn(batch)
            injected = INJECTED.match(beginning(copy.text)) is not None
            batch.events.append(UserText(source, "", copy.text, f"u{source.row}", injected))
        else:
            self.state.final = True
            batch.events.append(
                AssistantText(source, "", self.answer(source), copy.text, False, False, self.state.model)
            )

    def _reasoning(self, p: Payload, source: Source, batch: Batch) -> None:
        self.release("user", batch)
        answer = self.answer(source)
        texts = [part.text for part in _parts(p.content) or _parts(p.summary) if first(part.text) == b'"']
        if not texts:
            batch.ignore("reasoning, encrypted")
            return
        text = texts[0] if len(texts) == 1 else join_strings(_spaced(texts))
        batch.events.append(Reasoning(source, "", answer, text, False, self.state.model))

    def _agent_mail(self, p: Payload, source: Source, batch: Batch) -> None:
        """A message between agents: a task, an answer; the text may be encrypted."""
        texts = [plain(part.text) for part in _parts(p.content)]
        self.end_answer()
        body = to_raw("".join(texts))
        batch.events.append(UserText(source, "", body, p.id or f"u{source.row}", True))

    # Calls

    def answer(self, source: Source) -> str:
        """The id of the model answer that this record belongs to."""
        state = self.state
        if not state.answer:
            state.answer = f"m{source.row}"
            if state.turns and len(state.turns[-1]) < 512:
                state.turns[-1].append(state.answer)
        state.user_seen = False
        return state.answer

    def end_answer(self) -> None:
        """What the model says next is another answer."""
        self.state.answer = ""

    def _call(self, p: Payload, arguments: Raw, source: Source, batch: Batch) -> None:
        self.release("user", batch)
        name = p.name or p.type
        if p.namespace and p.namespace != "functions":
            name = f"{p.namespace}.{name}"
        value = unwrap(arguments)
        if name in SHELLS and len(value) > 40 and _BEGIN in bytes(value):
            patch = heredoc(value)
            if patch is not None:
                name, value = "apply_patch", patch
        self.call(source, "", self.answer(source), p.call_id or p.id or f"row{source.row}", name, value, None, batch)

    def call(
        self,
        source: Source,
        part: str,
        answer: str,
        call_id: str,
        name: str,
        value: Raw,
        parent: str | None,
        batch: Batch,
    ) -> None:
        state = self.state
        state.final = False
        if len(state.open) >= MOST_OPEN:
            del state.open[next(iter(state.open))]
        state.open[call_id] = ""
        batch.events.append(
            ToolCall(source, part, answer, call_id, name, value, parent or self.context.parent_call, state.model)
        )

    def result(
        self,
        source: Source,
        call_id: str,
        output: Raw | None,
        outcome: Outcome | None,
        exit_code: int | None,
        duration: int | None,
        batch: Batch,
        part: str = "",
    ) -> None:
        state = self.state
        agent = state.open.pop(call_id, None) or None
        if state.running:
            state.running.pop(call_id, None)
        self._answered(call_id)
        batch.events.append(ToolResult(source, part, call_id, output, outcome, exit_code, duration, agent))

    def _answered(self, call_id: str) -> None:
        answered = self.state.answered
        if len(answered) >= MOST_ANSWERED:
            del answered[next(iter(answered))]
        answered[call_id] = True

    def hold(self, call_id: str, output: Raw | None, source: Source, batch: Batch) -> None:
        """An output that says "still running": its call ends with an item, or not at all in this run."""
        state = self.state
        if len(state.running) >= MOST_SCRIPTS:
            self._let_go(next(iter(state.running)), batch)
        state.running[call_id] = Running(output or NULL, source)

    def _let_go(self, call_id: str, batch: Batch) -> None:
        held = self.state.running.pop(call_id)
        self.result(held.source, call_id, held.output, None, None, None, batch)

    def _output(self, call_id: str, output: Raw, source: Source, batch: Batch) -> None:
        state = self.state
        if state.outputs_end:
            self.end_answer()
        if state.scripts:
            for script in state.scripts:
                if script.call_id == call_id:
                    self._script_output(script, judge(output), source, batch)
                    return
        if call_id in state.answered and call_id not in state.open:
            batch.ignore("output of an answered call")
            return
        verdict = judge(output)
        if state.open.get(call_id) == "" and len(output) < 400:
            agent = agent_of(output)
            if agent:
                state.open[call_id] = agent
        if verdict.running and call_id in state.open:
            self.hold(call_id, verdict.output, source, batch)
            return
        self.result(source, call_id, verdict.output, verdict.outcome, verdict.exit_code, verdict.duration_ms, batch)

    def _whole_call(self, p: Payload, source: Source, batch: Batch) -> None:
        """A call that the server ran; nothing follows it."""
        self.release("user", batch)
        call_id = p.call_id or p.id or f"{p.type}-{source.row}"
        outcome: Outcome | None = {"completed": "ok", "failed": "error"}.get(word(p.status))  # type: ignore[assignment]  # the values are outcomes
        value = p.action if given(p.action) else EMPTY_OBJECT
        self.call(source, "", self.answer(source), call_id, p.type, value, None, batch)
        output = p.result if given(p.result) else None
        if outcome or output is not None:
            self.result(source, call_id, output, outcome, None, None, batch)

    # Code mode

    def _script(self, p: Payload, source: Source, batch: Batch) -> None:
        self.release("user", batch)
        state = self.state
        state.final = False
        call_id = p.call_id or p.id or f"row{source.row}"
        if len(state.scripts) >= MOST_SCRIPTS:
            self.count(state.scripts[0], batch)
            del state.scripts[0]
        script = p.input if given(p.input) else Raw(b'""')
        state.scripts.append(Script(call_id, script, self.answer(source), source, state.model, last_ms=source.time_ms))

    def count(self, script: Script, batch: Batch) -> None:
        """A script that made no call which the log shows is a call itself."""
        if script.made or script.counted:
            return
        script.counted = True
        name, value = named_call(script.input)
        self.call(script.source, "", script.message_id, script.call_id, name, value, None, batch)

    def _script_output(self, script: Script, verdict: Verdict, source: Source, batch: Batch) -> None:
        self.count(script, batch)
        if verdict.running:
            if script.counted:
                self.hold(script.call_id, verdict.output, source, batch)
        elif script.counted:
            self.result(source, script.call_id, verdict.output, verdict.outcome, None, None, batch)
        elif verdict.outcome == "error":
            text = plain(verdict.output or ABSENT)
            batch.events.append(Notification(source, "", "script_failed", text[:2000], "warning", script.call_id))
        else:
            batch.ignore("output of a script")
        if not verdict.running:
            self.state.scripts.remove(script)
            self._answered(script.call_id)

    def let_go(self, batch: Batch) -> None:
        """Another turn, or the end of the input: what went on in the background has given what it said."""
        state = self.state
        if state.running:
            for call_id in list(state.running):
                self._let_go(call_id, batch)
            state.scripts = [script for script in state.scripts if not script.counted]

    def close(self, source: Source | None, batch: Batch) -> None:
        """A run ended: texts and scripts that wait will not be completed. With `source` its open calls were cancelled
        there. The end of a process can still come behind the end of its run."""
        state = self.state
        self.release(None, batch)
        for script in state.scripts:
            self.count(script, batch)
        if source is not None:
            self.let_go(batch)
            for i, call_id in enumerate(list(state.open)):
                self.result(source, call_id, None, "cancelled", None, None, batch, f"-{i}")
            state.scripts.clear()
        self.end_answer()


IGNORED_ITEMS = frozenset({"ghost_snapshot", "additional_tools", "other", "compaction", "compaction_summary"}) | {
    "context_compaction",
    "compaction_trigger",
    "program",
    "program_output",
    "item_reference",
}


def _parts(content: Raw) -> list[ContentPart]:
    head = first(content)
    if head == b"[":
        return decode_parts(content)
    return [ContentPart("text", content)] if head == b'"' else []


def _injected(parts: list[ContentPart]) -> bool:
    """Text in the user's name that the program wrote; all parts must look like it."""
    return all(first(p.text) == b'"' and INJECTED.match(beginning(p.text)) for p in parts)


def _spaced(texts: list[Raw]) -> list[Raw]:
    out = [texts[0]]
    for text in texts[1:]:
        out += [Raw(b'"\\n\\n"'), text]
    return out


def unwrap(value: Raw) -> Raw:
    """Arguments as JSON: the object inside a JSON string; the string itself where it holds none."""
    if not given(value):
        return EMPTY_OBJECT
    if first(value) != b'"':
        return value
    if len(value) == 2:
        return EMPTY_OBJECT
    inner = bytes(memoryview(value)[1:40]).lstrip()
    if inner[:1] not in (b"{", b"[") and inner[:2] not in (b"\\n", b"\\t", b"\\r"):
        return value
    text = decode_json(value).strip()
    if text[:1] not in ("{", "["):
        return value
    try:
        return _as_raw(text.encode())
    except (msgspec.MsgspecError, UnicodeError):
        return value


def heredoc(arguments: Raw) -> Raw | None:
    """The patch that a shell call carries as a heredoc: Codex runs it as `apply_patch`, not in a shell."""
    value = decode_json(arguments)
    command = (value.get("cmd") or value.get("command")) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    if isinstance(command, list) and command:
        words = [str(w) for w in command]  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - decoded JSON
        command = " ".join(words) if words[0].endswith("apply_patch") else words[-1]
    if not isinstance(command, str) or not _HEREDOC.match(command):
        return None
    found = _PATCH.search(command)
    return to_raw(found[0]) if found is not None else None


def agent_of(output: Raw) -> str:
    """The sub-agent that a `spawn_agent` call started, from its output `{"agent_id":…}`; "" for other outputs."""
    if b"agent_id" not in bytes(output) and b"task_name" not in bytes(output):
        return ""
    value = decode_json(unwrap(output))
    if not isinstance(value, dict):
        return ""
    agent = value.get("task_name") or value.get("nickname") or value.get("agent_id")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
    return agent if isinstance(agent, str) else ""

"""Response items of Codex to events: messages, reasoning, tool calls and their outputs.

In: payloads of `response_item` lines and the bare lines of old rollouts. A text that the log has twice is emitted once,
from the response item. Its copy (`user_message`, `agent_message`, `UserMessage`, `AgentMessage`) is held until that
item comes, and is emitted only if it never does.
"""

import re
import zlib

from msgspec import Raw

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import (
    EMPTY_OBJECT,
    AssistantText,
    Notification,
    Outcome,
    Reasoning,
    Source,
    UserText,
)
from agentv_stages.model.payload import ABSENT, has_value, join_strings, to_raw
from agentv_stages.model.recent import remember
from agentv_stages.providers.codex.arguments import BEGIN_PATCH, SHELLS, agent_of, heredoc, unwrap
from agentv_stages.providers.codex.calls import MOST_ANSWERED, MOST_SCRIPTS, Calls, Copy
from agentv_stages.providers.codex.outcome import Verdict, beginning, judge
from agentv_stages.providers.codex.scripts import Script, named_call, stopped
from agentv_stages.providers.codex.wire import ContentPart, ItemPayload, first, parts_of, plain, word

MOST_PENDING = 32
MOST_TURNS = 32
MOST_SAID = 8

INJECTED = re.compile(
    r"\s*(?:<(?:environment_context|environments|user_instructions|turn_aborted|subagent_notification|skill|skills|"
    r"user_shell_command|INSTRUCTIONS|permissions|collaboration_mode|user_action|model_switch|personality|hook_prompt|"
    r"recommended_plugins|apps_instructions|plugins|goal_context|realtime)\b|# AGENTS\.md instructions|"
    r"Another language model started to solve this problem)"
)


_SPOKEN = frozenset(bytes((c,)) for c in range(0x21, 0x7F)) - {b"<", b"#", b"A", b"\\"}
"""First bytes of texts that no program wrote; checked before any regular expression."""


class Conversation(Calls):
    """The part that both rollout decoders share."""

    def response_item(self, p: ItemPayload, source: Source, record: Record, batch: Batch) -> None:
        """One API-level item."""
        kind = p.type
        if kind == "function_call":
            self._call(p, p.arguments, source, batch)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if p.call_id is None and p.name is not None and has_value(p.output):  # the thread's goal, given as context
                self.end_answer()
                batch.events.append(UserText(source, "", p.output, p.id or f"u{source.row}", True))
            else:
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

    def repeated(self, p: ItemPayload) -> None:
        """Handles a repeated message: its text counts as seen, so its copy is dropped."""
        if p.role == "assistant":
            self.state.final = True
            for part in parts_of(p.content):
                self._remember_answer(part.text, p.id)
        elif p.role == "user":
            self.state.user_seen = True
            self.state.pending = [copy for copy in self.state.pending if copy.role != "user"]

    def _message(self, p: ItemPayload, source: Source, batch: Batch) -> None:
        parts = parts_of(p.content)
        if p.role == "assistant":
            self.release("user", batch)
            answer = self.answer(source)
            many = len(parts) > 1
            for i, part in enumerate(parts):
                if first(part.text) != b'"':
                    continue
                self._remember_answer(part.text, p.id)
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
        message_id = p.id or f"u{source.row}"
        if not injected:
            self._user_turn(message_id, batch)
            self._remember(zlib.crc32(body))
        self.end_answer()
        batch.events.append(UserText(source, "", body, message_id, injected))

    def _user_turn(self, message_id: str, batch: Batch) -> None:
        state = self.state
        self.let_go(batch)
        state.pending = [copy for copy in state.pending if copy.role != "user"]
        state.user_seen, state.idle_turn = True, None
        state.final = state.over = state.reviewing = False
        state.turns.append([message_id])
        state.begins.append(state.ordinal or 0)
        if len(state.turns) > MOST_TURNS:
            del state.turns[0], state.begins[0]

    def _remember_answer(self, text: Raw, item_id: str | None) -> None:
        """Handles a model text from a response item: its copy, before or after it, is dropped."""
        state = self.state
        state.said_id = item_id or ""
        check = zlib.crc32(text)
        if state.pending:
            held = len(state.pending)
            state.pending = [
                c
                for c in state.pending
                if c.role != "assistant" or ((not c.id or c.id != item_id) and zlib.crc32(c.text) != check)
            ]
            if len(state.pending) < held:
                return
        self._remember(check)

    def _remember(self, check: int) -> None:
        recent = self.state.recent_texts
        recent.append(check)
        if len(recent) > MOST_SAID:
            del recent[0]

    def told_again(self, role: str, text: Raw, batch: Batch, item_id: str = "") -> bool:
        """Whether a text that a response item should also have is empty, or came there already. If the text has a plan,
        the copy holds only what surrounds the plan; then the id decides.
        """
        state = self.state
        if first(text) != b'"' or len(text) == 2:
            batch.ignore("empty text")
            return True
        known = (role == "user" and state.user_seen) or zlib.crc32(text) in state.recent_texts
        known = known or (item_id != "" and item_id == state.said_id)
        if known:
            batch.ignore("user text, told again" if role == "user" else "assistant text, told again")
        return known

    def copy(self, role: str, text: Raw, source: Source, batch: Batch, item_id: str = "") -> None:
        """Holds a text that a response item should also have."""
        state = self.state
        if self.told_again(role, text, batch, item_id):
            return
        if len(state.pending) >= MOST_PENDING:
            self._emit_copy(state.pending.pop(0), batch)
        state.pending.append(Copy(role, text, source, item_id))

    def release(self, role: str | None, batch: Batch) -> None:
        """Emits the held copies: their response items did not come."""
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
        if source.time_ms and self.state.repeats.again(f"{source.time_ms} {zlib.crc32(copy.text)}", source.length):
            batch.ignore("text, repeated")
        elif copy.role == "user":
            self.end_answer()
            self._user_turn(f"u{source.row}", batch)
            injected = INJECTED.match(beginning(copy.text)) is not None
            batch.events.append(UserText(source, "", copy.text, f"u{source.row}", injected))
        else:
            self.state.final = True
            batch.events.append(
                AssistantText(source, "", self.answer(source), copy.text, False, False, self.state.model)
            )

    def reasons_silently(self, p: ItemPayload, record: Record, batch: Batch) -> bool:
        """Whether a reasoning item has no text; in newer versions nearly all are encrypted."""
        if len(p.summary) != 2 or has_value(p.content):
            return False
        if self.state.pending:
            self.release("user", batch)
        self.answer(record)
        batch.ignore("reasoning, encrypted")
        return True

    def _reasoning(self, p: ItemPayload, source: Source, batch: Batch) -> None:
        state = self.state
        if state.pending:
            self.release("user", batch)
        answer = self.answer(source)
        texts = [part.text for part in parts_of(p.content) or parts_of(p.summary) if first(part.text) == b'"']
        if not texts:
            batch.ignore("reasoning, encrypted")
            return
        text = texts[0] if len(texts) == 1 else join_strings(_spaced(texts))
        batch.events.append(Reasoning(source, "", answer, text, False, state.model))

    def _agent_mail(self, p: ItemPayload, source: Source, batch: Batch) -> None:
        """A message between agents, such as a task or an answer; its text may be encrypted."""
        texts = [plain(part.text) for part in parts_of(p.content)]
        self.end_answer()
        body = to_raw("".join(texts))
        batch.events.append(UserText(source, "", body, p.id or f"u{source.row}", True))

    # Calls

    def _call(self, p: ItemPayload, arguments: Raw, source: Source, batch: Batch) -> None:
        state = self.state
        if state.pending:
            self.release("user", batch)
        call_id = p.call_id or p.id or f"row{source.row}"
        if state.early and state.early.get(call_id):
            del state.early[call_id]
            batch.ignore("call, told by its item")
            return
        name = p.name or p.type
        if p.namespace and p.namespace != "functions":
            name = f"{p.namespace}{'' if p.namespace.endswith('__') else '.'}{name}"  # `mcp__demo__` in 0.130
        elif name == "wait" and (p.namespace or b"cell_id" in bytes(arguments)):
            name = "functions.wait"  # waits for a script that yielded; the `wait` for sub-agents names them
        patch = heredoc(arguments) if name in SHELLS and BEGIN_PATCH in bytes(arguments) else None
        if patch is None:
            value = unwrap(arguments)
        else:
            name, value = "apply_patch", patch
        self.call(source, "", self.answer(source), call_id, name, value, None, batch)

    def answered_already(self, call_id: str, batch: Batch) -> bool:
        """Whether a call was already answered by its item, which says more than the output after it."""
        state = self.state
        if call_id not in state.answered or call_id in state.open:
            return False
        if state.answered[call_id]:  # a repeated output does not end an answer
            state.answered[call_id] = False
            if state.outputs_end:
                state.answer = ""
        batch.ignore("output of an answered call")
        return True

    def _output(self, call_id: str, output: Raw, source: Source, batch: Batch) -> None:
        state = self.state
        script = next((known for known in state.scripts if known.call_id == call_id), None) if state.scripts else None
        if script is None and self.answered_already(call_id, batch):
            return
        if call_id in state.running:
            batch.ignore("output of a running call, repeated")
            return
        if state.outputs_end:
            state.answer = ""
        if script is not None:
            self._script_output(script, judge(output), source, batch)
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
        state.answered[call_id] = False

    def _whole_call(self, p: ItemPayload, source: Source, batch: Batch) -> None:
        """A call that the server ran; no output follows it."""
        self.release("user", batch)
        call_id = p.call_id or p.id or f"{p.type}-{source.row}"
        outcome: Outcome | None = {"completed": "ok", "failed": "error"}.get(word(p.status))  # type: ignore[assignment]  # the values are outcomes
        value = p.action if has_value(p.action) else EMPTY_OBJECT
        self.call(source, "", self.answer(source), call_id, p.type, value, None, batch)
        output = p.result if has_value(p.result) else None
        if outcome or output is not None:
            self.result(source, call_id, output, outcome, None, None, batch)

    # Code mode

    def _script(self, p: ItemPayload, source: Source, batch: Batch) -> None:
        self.release("user", batch)
        state = self.state
        state.final = False
        call_id = p.call_id or p.id or f"row{source.row}"
        if call_id in state.answered or any(script.call_id == call_id for script in state.scripts):
            batch.ignore("script, told again")
            return
        if len(state.scripts) >= MOST_SCRIPTS:
            self.count(state.scripts[0], batch)
            del state.scripts[0]
        script = p.input if has_value(p.input) else Raw(b'""')
        state.scripts.append(Script(call_id, script, self.answer(source), source, state.model, last_ms=source.time_ms))

    def _script_output(self, script: Script, verdict: Verdict, source: Source, batch: Batch) -> None:
        self.count(script, batch)
        if verdict.running:
            if script.counted:
                self.hold(script.call_id, verdict.output, source, batch)
        elif script.counted:
            outcome = verdict.outcome
            if outcome == "ok" and self.state.itemized:
                name, parts = named_call(script.input)[0], parts_of(verdict.output or ABSENT)
                outcome = "error" if parts and stopped(name, script.input, plain(parts[0].text)) else outcome
            self.result(source, script.call_id, verdict.output, outcome, None, None, batch)
        elif verdict.outcome == "error":
            text = plain(verdict.output or ABSENT)
            batch.events.append(Notification(source, "", "script_failed", text[:2000], "warning", script.call_id))
        else:
            batch.ignore("output of a script")
        if not verdict.running:
            self.state.scripts.remove(script)
            script.over = source.row
            self.ended(script)
            remember(self.state.answered, script.call_id, False, MOST_ANSWERED)

    def close(self, source: Source | None, batch: Batch) -> None:
        """A run ended: nothing pending will be completed. If `source` is given, the open calls were cancelled there."""
        state = self.state
        state.reviewing = False
        self.release(None, batch)
        for script in state.scripts:
            self.count(script, batch)
        self.let_go(batch)
        if source is not None:
            left = set(state.left)
            for i, call_id in enumerate([call for call in state.open if call not in left]):
                self.result(source, call_id, None, "cancelled", None, None, batch, f"-{i}")
            for script in state.scripts:
                self.ended(script)
            state.scripts.clear()
        self.end_answer()


IGNORED_ITEMS = frozenset({"ghost_snapshot", "additional_tools", "other", "compaction", "compaction_summary"}) | {
    "context_compaction",
    "compaction_trigger",
    "configuration_update",
    "program",
    "program_output",
    "item_reference",
}


def _injected(parts: list[ContentPart]) -> bool:
    """Whether the program wrote a text in the user's name; all parts must look like it."""
    for part in parts:
        head = bytes(memoryview(part.text)[:2])
        if head[:1] != b'"' or head[1:] in _SPOKEN or not INJECTED.match(beginning(part.text)):
            return False
    return True


def _spaced(texts: list[Raw]) -> list[Raw]:
    out = [texts[0]]
    for text in texts[1:]:
        out += [Raw(b'"\\n\\n"'), text]
    return out

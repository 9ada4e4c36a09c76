"""Structured results in rollouts: `item_completed` (PascalCase items) and the `*_end` events before them.

They carry what response items have only as text: exit code, status, duration, whole output, diffs. An item whose id is
an open call ends that call, and the call's later output is a repetition. An item with an id of its own is a call that a
script made (code mode): it yields call and result, with the script as parent.
"""

from typing import Any

from msgspec import Raw

from agentv_stages.model.batch import Batch, Record
from agentv_stages.model.event import EMPTY_OBJECT, Notification, Outcome, Source
from agentv_stages.model.payload import decode_json, has_value, join_strings, to_raw
from agentv_stages.model.recent import remember
from agentv_stages.model.repeats import check
from agentv_stages.providers.codex.calls import MOST_ANSWERED
from agentv_stages.providers.codex.conversation import Conversation
from agentv_stages.providers.codex.outcome import dynamic_output, mcp_result, outcome_of
from agentv_stages.providers.codex.scripts import Script, maker, named_call
from agentv_stages.providers.codex.wire import (
    USER_SHELL,
    Item,
    Payload,
    decode_invocation,
    duration_ms,
    first,
    mcp_name,
    parts_of,
    word,
)

LATEST = 32  # rows after a script's output within which one of its items may still come
MESSAGES = frozenset(("AgentMessage", "UserMessage"))
COPIES = frozenset(("Reasoning", "Plan", "ContextCompaction", "HookPrompt", "FunctionCallOutput"))
REVIEWS = {"EnteredReviewMode": "entered_review_mode", "ExitedReviewMode": "exited_review_mode"}
ENDING = frozenset({"CommandExecution", "FileChange", "McpToolCall", "DynamicToolCall"})
"""Items that say more of a call's end than its output does."""
RUNS = ENDING | {
    "CollabAgentToolCall",
    "CollabToolCall",
    "ImageView",
    "ImageGeneration",
    "WebSearch",
    "Extension",
    "Sleep",
}
END_EVENTS = (
    frozenset({"exec_command_end", "patch_apply_end", "mcp_tool_call_end", "view_image_tool_call"})
    | {"dynamic_tool_call_response", "collab_agent_spawn_end", "collab_agent_interaction_end"}
    | {"collab_waiting_end", "collab_close_end", "collab_resume_end", "web_search_end"}
    | {"image_generation_end"}
)


class Items(Conversation):
    """Adds the handling of items to that of response items."""

    def item(self, p: Payload, source: Source, record: Record, batch: Batch) -> None:
        """Handles an `item_completed` event."""
        item = p.item
        if item is None:
            batch.ignore("item_completed")
            return
        kind = item.type
        if p.thread_id is not None and p.thread_id != self.state.thread and self.state.thread is not None:
            # The items of a review appear here as well, but it has a log of its own.
            batch.ignore("item of another thread")
        elif kind in MESSAGES and self.state.repeats.again(check(record, source.time_ms)):
            batch.ignore(f"item_completed:{kind}, repeated")
        elif kind == "AgentMessage":
            for part in parts_of(item.content):
                self.copy("assistant", part.text, source, batch, item.id)
        elif kind == "UserMessage":
            texts = [part.text for part in parts_of(item.content) if first(part.text) == b'"']
            self.copy("user", join_strings(texts), source, batch)
        elif kind in RUNS:
            self._run(item, source, batch)
        elif kind == "SubAgentActivity":
            self._activity(item, source, batch)
        elif kind in COPIES:
            batch.ignore(f"item_completed:{kind}")
        elif kind in REVIEWS:
            batch.events.append(Notification(source, "", REVIEWS[kind], ""))
        else:
            batch.unknown_type(f"item_completed:{kind}", record)

    def end_event(self, p: Payload, source: Source, batch: Batch) -> None:
        """Handles an `*_end` event of the older extended mode: an item in another form."""
        kind = p.type
        item = Item(
            id=p.call_id or "",
            command=p.command,
            source=p.source,
            aggregated_output=p.aggregated_output,
            exit_code=p.exit_code,
            status=p.status,
            duration=p.duration,
            changes=p.changes,
            stdout=p.stdout,
            stderr=p.stderr,
        )
        if kind == "exec_command_end":
            item.type = "CommandExecution"
        elif kind == "patch_apply_end":
            item.type = "FileChange"
            if p.success is not None and not has_value(p.status):
                item.status = Raw(b'"completed"' if p.success else b'"failed"')
        elif kind == "mcp_tool_call_end":
            item.type = "McpToolCall"
            if first(p.invocation) == b"{":
                call = decode_invocation(p.invocation)
                item.server, item.tool, item.arguments = call.server, call.tool, call.arguments
            item.result, failed = mcp_result(p.result)
            item.status = Raw(b'"failed"' if failed else b'"completed"')
        else:
            # The call's output says the same; only calls that a script made are lost.
            batch.ignore(kind)
            return
        self._run(item, source, batch)

    def _run(self, item: Item, source: Source, batch: Batch) -> None:
        state = self.state
        call_id = item.id
        if call_id in state.open:
            if item.type == "CollabAgentToolCall" and item.tool == "spawn_agent" and not state.open[call_id]:
                state.open[call_id] = next(iter(item.receiver_thread_ids or ()), "")
            if item.type not in ENDING:
                batch.ignore(f"{item.type} of a call with an output")
                return
            self._finish(item, call_id, source, batch)
        elif call_id in state.answered:
            batch.ignore("item of an answered call")
        elif bytes(item.source) in USER_SHELL:
            batch.ignore("user shell")
        elif state.scripts or item.type in ENDING:
            script = self._script_of(item, source.row)
            if script is None:
                self._complete(item, None, source, batch)
                self.early(call_id, True)
            elif script in state.scripts:
                self._inner(item, script, source, batch)
            elif script.counted:
                state.silent.remove(script)
                remember(state.answered, call_id, False, MOST_ANSWERED)
                batch.ignore("item of a script that ended")
            else:
                self._complete(item, script, source, batch)
        else:
            batch.ignore(f"{item.type}, told again")

    def _script_of(self, item: Item, row: int) -> Script | None:
        """The script that made a call: a running script (nearly always the only one), or a script that just ended."""
        scripts, silent = self.state.scripts, self.state.silent
        if silent:  # no more items of a script that ended long ago are expected
            silent = self.state.silent = [s for s in silent if not 0 < s.over < row - LATEST]
        if len(scripts) == 1 and not silent:
            return scripts[0]
        if not scripts and not item.id.startswith("exec-"):
            return None
        did = _identity(item)
        found = maker(scripts, did) or maker(silent[::-1], did)
        if found is not None:
            return found
        if scripts:
            return next((s for s in scripts if not s.counted), scripts[0])
        dark = (s for s in reversed(silent) if named_call(s.input)[0] == "exec")  # its text does not show its calls
        return next(dark, None) or maker(self.state.ended, did)

    def _inner(self, item: Item, script: Script, source: Source, batch: Batch) -> None:
        if script.counted:
            # The script continued in the background and is the call itself: this is its end.
            self._finish(item, script.call_id, source, batch)
            return
        script.made_calls = True
        self._complete(item, script, source, batch)
        script.last_ms = source.time_ms

    def _complete(self, item: Item, script: Script | None, source: Source, batch: Batch) -> None:
        """Emits a call that only its item shows."""
        name, value = described(item)
        answer = script.message_id if script is not None else self.answer(source)
        begun = source
        if script is not None and script.last_ms is not None:
            # The item comes when the call ends; the call began after the previous one, at the earliest.
            begun = Source(
                source.file, source.row, source.offset, source.length, script.last_ms, source.stream, source.base_id
            )
        call_id = item.id or f"row{source.row}"
        parent = script.call_id if script is not None else None
        self.call(begun, "", answer, call_id, name, value, parent, batch)
        self._finish(item, call_id, source, batch)

    def _finish(self, item: Item, call_id: str, source: Source, batch: Batch) -> None:
        outcome: Outcome | None = outcome_of(item)
        duration = duration_ms(item.duration) if item.duration else None
        self.result(source, call_id, output_of(item), outcome, item.exit_code, duration, batch)

    def _activity(self, item: Item, source: Source, batch: Batch) -> None:
        """An activity of a sub-agent, as its parent's log reports it."""
        kind = word(item.kind)
        agent = item.agent_path or item.agent_thread_id or ""
        if item.id in self.state.open:
            self.state.open[item.id] = agent
        batch.events.append(Notification(source, "", f"subagent_{kind or 'activity'}", agent))


def _identity(item: Item) -> str:
    """The text that identifies a call in its script: the command, a changed file, or the tool."""
    if item.type == "CommandExecution":
        command = decode_json(item.command) if has_value(item.command) else ""
        last = command[-1] if isinstance(command, list) and command else command  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        return last if isinstance(last, str) else ""
    if item.type == "FileChange":
        changes = changes_of(item.changes)
        first_one: Any = changes[0] if isinstance(changes, list) and changes else None  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        return str(first_one.get("path", "")).rpartition("/")[2] if isinstance(first_one, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - decoded JSON
    return item.tool or ""


def described(item: Item) -> tuple[str, Raw]:
    """Name and arguments of a call, from its item."""
    kind = item.type
    if kind == "CommandExecution":
        command, cwd = bytes(item.command), bytes(item.cwd)
        if command and cwd and command != b"null" and cwd != b"null":
            return "command_execution", Raw(b'{"command":%b,"cwd":%b}' % (command, cwd))
        members = {"command": item.command} if has_value(item.command) else {}
        if has_value(item.cwd):
            members["cwd"] = item.cwd
        return "command_execution", to_raw(members)
    if kind == "FileChange":
        return "file_change", to_raw({"changes": changes_of(item.changes)})
    if kind in ("McpToolCall", "DynamicToolCall"):
        name = mcp_name(item) if kind == "McpToolCall" else item.tool or "dynamic_tool"
        return name, item.arguments if has_value(item.arguments) else EMPTY_OBJECT
    if kind in ("CollabAgentToolCall", "CollabToolCall"):
        members = {"prompt": item.prompt} if has_value(item.prompt) else {}
        if item.receiver_thread_ids:
            members["receiver_thread_ids"] = to_raw(item.receiver_thread_ids)
        return item.tool or "collab_tool_call", to_raw(members)
    if kind == "ImageView":
        return "view_image", to_raw({"path": item.path}) if has_value(item.path) else EMPTY_OBJECT
    if kind == "ImageGeneration":
        return "image_generation_call", EMPTY_OBJECT
    if kind == "Sleep":
        return "sleep", EMPTY_OBJECT
    members = {key: raw for key, raw in (("query", item.query), ("action", item.action)) if has_value(raw)}
    return "web_search" if "action" in members or kind == "WebSearch" else word(item.kind) or "extension", to_raw(
        members
    )


def changes_of(changes: Raw) -> Any:
    """Changed files as in the exec stream, `[{path, kind, …}]`; rollouts map paths to changes."""
    value: Any = decode_json(changes) if has_value(changes) else []
    if not isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType] - decoded JSON
    out: list[dict[str, Any]] = []
    for path, change in value.items():  # pyright: ignore[reportUnknownVariableType] - decoded JSON
        entry: dict[str, Any] = {"path": path}
        if isinstance(change, dict):
            kind: Any = change.get("type")  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] - decoded JSON
            if kind is None and len(change) == 1:  # pyright: ignore[reportUnknownArgumentType] - the oldest form: {"add": {…}}
                kind, change = next(iter(change.items()))  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - decoded JSON
            entry["kind"] = kind
            entry.update((k, v) for k, v in change.items() if k != "type") if isinstance(change, dict) else None  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType,reportUnknownMemberType] - decoded JSON
        out.append(entry)
    return out


def output_of(item: Item) -> Raw | None:
    """The result of a call: its whole output, result or error."""
    if has_value(item.aggregated_output):
        return item.aggregated_output
    if has_value(item.error):
        return item.error
    if has_value(item.content_items):
        return dynamic_output(item.content_items)
    for raw in (item.result, item.results, item.agents_states):
        if has_value(raw):
            return raw
    if has_value(item.stdout) or has_value(item.stderr):
        if not has_value(item.stderr) or item.stderr == Raw(b'""'):
            return item.stdout
        return to_raw("".join(str(decode_json(raw)) for raw in (item.stdout, item.stderr) if has_value(raw)))
    return None

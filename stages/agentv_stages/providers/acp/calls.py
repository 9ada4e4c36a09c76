"""ACP tool calls: merges the messages about one call, by its id, into one call and one result."""

from zlib import crc32

from msgspec import Raw, structs

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import EMPTY_OBJECT, Source, ToolCall, ToolResult
from agentv_stages.model.payload import ABSENT, NULL, json_in, text_of
from agentv_stages.model.recent import remember
from agentv_stages.providers.acp import naming, results, terminals, wire
from agentv_stages.providers.acp.habits import habits_of
from agentv_stages.providers.acp.speech import Connection, answer_of, release, stream_of
from agentv_stages.providers.acp.state import AcpState, Answer, Call

MOST_OPEN = 10_000
MOST_CLOSED = 1_000
OVER = frozenset(("completed", "failed", "cancelled"))
LAUNCHED = "started in background"


def upsert(at: Connection, kind: str, update: wire.Update | wire.CallUpdate, source: Source, batch: Batch) -> None:
    """Handles a `tool_call`, a `tool_call_update` (`kind`) or the call of a permission request, known or not."""
    state = at.state
    call_id = update.toolCallId or (f"row-{source.row}" if kind == "tool_call" else "")
    if state.aliases or state.unannounced:
        call_id = _known_as(state, call_id, kind, update)
    call = state.calls.get(call_id)
    if call is None:
        announced, known = _announced(kind, update), state.closed.get(call_id)
        if not call_id or (known is not None and (not announced or known in (0, announced))):
            batch.ignore(f"{kind}/late")
            return
        call = _begin(at, call_id, update, source, batch)
        call.begun = announced
        if kind == "tool_call_update" and update.status == "completed" and _bare(update):  # a failed one may be all
            call.early, call.end = "completed", source
            _merge(call, update)
            batch.ignore("tool_call_update/early")
            return
    else:
        batch.ignore("tool_call_update/progress" if kind == "tool_call_update" else f"{kind}/progress")
    content = call.content
    if kind == "tool_call" and update.title:  # after its permission request
        call.first_title = update.title
    _merge(call, update)
    if call.early and bytes(call.content) == b"[]":
        call.content = content
    state.failure, status = None, update.status or ""
    over = status in OVER
    habits = habits_of(state.agent)
    if update.title in habits.invalid:
        call.bad = True
    if habits.writes_visibly and not over and not call.emitted:
        call.written = call.content
    if call.early and not over:
        status, over, source = call.early, True, call.end or source
    unnamed = kind == "" and habits.asks_by_command  # a permission request, whose title is the command
    if not call.emitted and (over or (not unnamed and _complete(call, call_id, status))):
        emit(at, call_id, call, batch)
    if over:
        _finish(at, call_id, call, status, source, batch)


def _announced(kind: str, update: wire.Update | wire.CallUpdate) -> int:
    """A checksum of what an unfinished `tool_call` asks for; 0 for other messages.

    A finished id that comes again with other arguments is another call: some servers restart call ids with each answer.
    """
    if kind != "tool_call" or update.status in OVER:
        return 0
    return crc32(update.rawInput, crc32((update.title or "").encode())) or 1


def _known_as(state: AcpState, call_id: str, kind: str, update: wire.Update | wire.CallUpdate) -> str:
    """The id under which a call is kept: that of its permission request if this announces it under another one."""
    if kind == "tool_call" and call_id not in state.aliases:
        if call_id in state.unannounced:
            del state.unannounced[call_id]
        elif call_id not in state.calls and call_id not in state.closed:
            for other in state.unannounced:
                if (call := state.calls.get(other)) is not None and naming.asks_the_same(call, update):
                    del state.unannounced[other]
                    remember(state.aliases, call_id, other, MOST_CLOSED)
                    break
    return state.aliases.get(call_id, call_id)


def early(at: Connection, batch: Batch) -> None:
    """Emits results whose calls never came, at the end of a prompt or of the input."""
    for call_id, call in [(i, c) for i, c in at.state.calls.items() if c.early]:
        emit(at, call_id, call, batch)
        _finish(at, call_id, call, call.early, call.end or call.source, batch)


def _bare(update: wire.Update | wire.CallUpdate) -> bool:
    """Whether an update lacks the details of its call, which come later."""
    return not update.title and (update.rawInput is ABSENT or bytes(update.rawInput) in (b"null", b"{}"))


def emit(at: Connection, call_id: str, call: Call, batch: Batch) -> None:
    """Emits the call, once."""
    if call.emitted:
        return
    call.emitted = True
    habits, known = habits_of(at.state.agent), bool(at.state.agent)
    if call.written != NULL and _is_bare(call.input):
        call.input = _written(call.written)
    data = bytes(call.input)
    # Most calls have a name, or their arguments are not needed to find it. (`in` takes twice as long as `find`.)
    by_arguments = habits.name_in_arguments is not None or habits.name_in_words is not None
    unnamed = not call.name and (by_arguments or (habits.unavailable != b"" and data.find(habits.unavailable) >= 0))
    names_agent = unnamed or data.find(b'agent_type"') >= 0 or data.find(b"\\u") >= 0
    members = naming.arguments(call.input) if names_agent else {}
    bare = data == b"{}" or data == b"null"
    pieces = results.pieces_of(call.content) if bare or call.kind == "edit" else []
    title, new_files = call.first_title or call.title, results.only_new_files(pieces)
    name = naming.native_name(habits, known, call_id, call.name, title, call.kind, members, new_files)
    files = results.files_of(pieces) or (call.paths if call.kind in naming.TOUCHES_FILES else ())
    if files and call.kind == "read" and name in habits.searches:
        files = ()  # their folder is no file that they read
    arguments = call.input
    if bare:
        arguments = EMPTY_OBJECT
        spoken = naming.titled(name)  # whose argument is in the name
        if habits.shows_arguments and not (spoken is not None and spoken.prefix):
            diff = results.diff_of(pieces) if len(files) < 2 else None
            path = next(iter((*call.paths, *files)), None) if len(files) < 2 else None
            if known or path or diff:
                arguments = naming.shown_arguments(name, call.title, call.kind, path, diff)
    if members and ("agent_type" in members or "subagent_type" in members):
        remember(at.state.tasks, call_id, "", MOST_CLOSED)
    kind, part, model = naming.KINDS.get(call.kind or "", "other"), "-call", at.state.model
    batch.events.append(
        ToolCall(
            call.source, part, call.message_id, call_id, name, arguments, call.parent, model, kind=kind, files=files
        )
    )


def planned(at: Connection, tool: str, entries: Raw, source: Source, batch: Batch) -> None:
    """Emits a plan as a call of the todo tool (Qwen, Claude), which is not reported otherwise."""
    release(at, batch)
    answer = _answer(at, at.stream, f"plan-{source.row}", source)
    answer.ended += 1
    call_id = f"plan-{source.row}"
    todos = Raw(b'{"todos":' + bytes(entries) + b"}")
    batch.events.append(ToolCall(source, "-call", answer.id, call_id, tool, todos, None, at.state.model))
    batch.events.append(ToolResult(source, "-result", call_id, None))


def cancel(at: Connection, source: Source, batch: Batch) -> None:
    """A cancelled prompt cancels its open calls; the protocol requires clients to mark them as cancelled."""
    for call_id, call in list(at.state.calls.items()):
        emit(at, call_id, call, batch)
        on = structs.replace(source, stream=call.source.stream)
        batch.events.append(ToolResult(on, f"-{call_id}", call_id, None, "cancelled"))
        _close(at, call_id)


def _begin(at: Connection, call_id: str, update: wire.Update | wire.CallUpdate, source: Source, batch: Batch) -> Call:
    state = at.state
    stream, parent = stream_of(at, update.meta) if update.meta is not None else (at.stream, None)
    if state.held:
        release(at, batch, stream)
    if source.stream != stream:
        source = structs.replace(source, stream=stream)
    pending = update.status == "pending"
    announced = pending and bytes(update.rawInput) == b"{}"
    answer = _answer(at, stream, call_id, source, announced)
    answer.open += 1
    state.called = True
    if len(state.calls) >= MOST_OPEN:
        _close(at, next(iter(state.calls)))
    awaited = pending and habits_of(state.agent).awaits_arguments
    call = Call(source, answer.id, parent=parent, first_title=update.title or "", awaited=awaited)
    state.calls[call_id] = call
    return call


def _answer(at: Connection, stream: str, call_id: str, source: Source, announced: bool = False) -> Answer:
    """The answer of a call: a new one after a result, unless calls are open or the agent marks its answers otherwise.

    Qwen from 0.24 announces a call while the model still writes it, so before the usage that ends the answer; before
    0.24 a call came with its arguments, after that usage.
    """
    known = at.state.answers.get(stream)
    if known is None:
        return answer_of(at, stream, source, False)
    if announced and known.marked:
        return answer_of(at, stream, source, True)
    fresh = known.ended > 0 and known.open <= 0
    part_in_id = habits_of(at.state.agent).part_in_id
    if fresh and not at.state.usage_marks and (part_in_id is None or part_in_id(call_id) <= 0):
        return answer_of(at, stream, source, True)
    return known


def _merge(call: Call, update: wire.Update | wire.CallUpdate) -> None:
    meta = update.meta
    native = update.name
    if meta is not None:
        native = native or meta.toolName or meta.tool_name
        if native is None and meta.claudeCode is not None:
            native = meta.claudeCode.toolName
    if native:
        call.name = native
    title = update.title
    if title:
        call.title = title
    if update.kind:
        call.kind = update.kind
    # these keep their record in memory until the call ends; copying each would take longer than decoding it
    raw = update.rawInput
    if raw is not ABSENT and (len(raw) != 4 or raw != NULL):
        call.input = raw
    raw = update.rawOutput
    if raw is not ABSENT and (len(raw) != 4 or raw != NULL):
        call.output = raw
    raw = update.content
    if raw is not ABSENT and (len(raw) != 4 or raw != NULL):
        call.content = raw
        call.pieces.clear()
    if meta is not None and meta.terminal_exit is not None:
        call.exit_code, signal = meta.terminal_exit.exit_code, meta.terminal_exit.signal
        call.signal = str(signal) if signal is not None else None
    if meta is not None and meta.terminal_output is not None and meta.terminal_output.data is not None:
        call.printed.append(meta.terminal_output.data)
    if update.locations:
        call.paths = tuple([location.path for location in update.locations if location.path]) or call.paths


def _complete(call: Call, call_id: str, status: str) -> bool:
    """Whether the arguments are complete: OpenCode announces a call before they are, with the folder alone; Kimi says
    that it is in progress while the model still writes them.

    Gemini shows the content of a written file only with the result.
    """
    bare = _is_bare(call.input)
    if bare and call_id.startswith("write_file"):
        return False
    running = status == "in_progress" or status == "running"
    if bare:
        return running and not call.awaited
    if running:
        return True
    data = bytes(call.input)
    return data[:7] != b'{"cwd":' or data.find(b",") >= 0


def _is_bare(arguments: Raw) -> bool:
    """Whether they are `{}` or null."""
    size = len(arguments)
    return size == 2 or (size == 4 and arguments == NULL)


def _written(content: Raw) -> Raw:
    """The arguments that the content of a call shows while the model writes them; `{}` if they never became whole."""
    shown = results.shown_text(results.pieces_of(content))
    found = None if shown is None else json_in(text_of(shown))
    return found if found is not None and bytes(found)[:1] == b"{" else EMPTY_OBJECT


def _finish(at: Connection, call_id: str, call: Call, status: str, source: Source, batch: Batch) -> None:
    state, stream = at.state, call.source.stream
    if call.pieces:
        call.content = _joined(call.content, call.pieces)
    output, code, outcome = results.ended(status, call.output, call.content, call.kind, habits_of(state.agent))
    if state.terminals or call.printed or call.exit_code is not None or call.signal is not None:
        output, code, outcome = terminals.ended(state, call, output, code, outcome)
    if call.verdict is not None and outcome != "ok":
        outcome = call.verdict
    elif call.bad:
        outcome = "error"
    agent_id = _settle(at, call_id, call, output, batch) if state.tasks or state.held else None
    if source.stream != stream:
        source = structs.replace(source, stream=stream)
    answer = state.answers.get(stream)
    if answer is not None and answer.id == call.message_id:
        answer.open -= 1
        answer.ended += 1
    batch.events.append(ToolResult(source, "-result", call_id, output, outcome, code, None, agent_id))
    _close(at, call_id)


def piece(at: Connection, call_id: str, content: Raw, batch: Batch) -> None:
    """Adds a piece of a call's content (version 2)."""
    call = at.state.calls.get(call_id)
    if call is not None and bytes(content)[:1] == b"{":
        call.pieces.append(Raw(bytes(content)))
    batch.ignore("tool_call_content_chunk" if call is not None else "tool_call_content_chunk/late")


def _joined(content: Raw, pieces: list[Raw]) -> Raw:
    data = bytes(content)
    before = data.rstrip()[:-1].rstrip() if data[:1] == b"[" else b"["
    comma = b"," if before != b"[" else b""
    return Raw(before + comma + b",".join(map(bytes, pieces)) + b"]")


def _settle(at: Connection, call_id: str, call: Call, output: Raw | None, batch: Batch) -> str | None:
    """Takes from a call's end who wrote the held text, and which sub-agent started or ended. Returns the new stream."""
    state = at.state
    agent_id = state.tasks.get(call_id) or None
    if call_id in state.tasks and output is not None:
        child = habits_of(state.agent).child
        agent_id = child(output, call.output) if child is not None else agent_id
    text = text_of(output) if output is not None and (state.held or call_id in state.tasks) else ""
    arguments = naming.arguments(call.input) if state.held or state.tasks else {}
    reader = arguments.get("agent_id")
    if state.held and text:
        held = "".join(text_of(chunk.text) for chunk in state.held if not chunk.thought).strip()
        if held and held in text:
            owner = state.tasks.get(call_id) or (reader if isinstance(reader, str) else None)
            if call_id in state.tasks or owner:
                release(at, batch, f"subagent:{owner or call_id}")
    if call_id in state.tasks:
        launched = text.partition("agent_id: ")[2].partition(" ")[0].rstrip(".,") if LAUNCHED in text else ""
        if launched:
            state.tasks[call_id] = agent_id = launched
        else:
            del state.tasks[call_id]
    elif isinstance(reader, str) and any(word in text for word in ("is idle", "completed", "finished", "failed")):
        for task in [t for t, agent in state.tasks.items() if agent == reader]:
            del state.tasks[task]
    if not state.tasks:
        release(at, batch)
    return agent_id


def _close(at: Connection, call_id: str) -> None:
    state = at.state
    call = state.calls.pop(call_id, None)
    if state.unannounced:
        state.unannounced.pop(call_id, None)
    remember(state.closed, call_id, call.begun if call is not None else 0, MOST_CLOSED)

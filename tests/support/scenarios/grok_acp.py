"""A scenario as Grok Build 1.0.41 tells it over the Agent Client Protocol (`grok agent stdio`), both directions in a
recorder's wrapper, or the agent's alone.

Shapes: recordings of the real program. The tokens of an answer come between its texts and its calls, without a time;
a sub-agent is a session of its own on the same connection. Calls that a person refused, which end a turn, are not
written here.
"""

from collections.abc import Iterator
from typing import Any

from support.scenarios.grok import (
    KINDS,
    MODEL,
    POSSIBLE,
    VERBS,
    counted,
    failure,
    given,
    is_good,
    no_broken_calls,
    own,
    raw_output,
    total,
)
from support.scenarios.mixing import Clock, in_some_order, run
from support.scenarios.scenario import Answer, Call, Prompt, Scenario
from support.scenarios.writer import (
    CWD,
    PIECES,
    STARTED_MS,
    Nameless,
    Writer,
    Written,
    by_end_record,
    json_lines,
    no_empty_answers,
    no_prompts,
)

SESSION = "0199a0a3-0000-7000-8000-000000000001"


def child_of(call: Call) -> str:
    return f"0199a0b3-0000-7000-8000-{call.number:012x}"


def pieces(text: str) -> list[str]:
    half = len(text) // 2
    return [piece for piece in (text[:half], text[half:]) if piece]


class Connection:
    """Writes messages; `both`: the client's, too. `elapsed_ms` is what the main session's turns took."""

    def __init__(self, mixed: int, both: bool) -> None:
        self.both = both
        self.mixed = mixed
        self.clock = Clock(mixed)
        self.lines: list[Any] = []
        self.events = self.asked = 0
        self.elapsed_ms: int | None = None
        self.client("initialize", protocolVersion=1, clientCapabilities={"fs": {"readTextFile": False}})
        self.answered(protocolVersion=1, agentCapabilities={"loadSession": True, "_meta": {"x.ai/fs_notify": True}})
        self.client("session/new", cwd=CWD, mcpServers=[])
        self.agent("_x.ai/mcp/servers_updated", mcpServers=[])
        models = {"currentModelId": "grok", "availableModels": list[Any]()}
        self.answered(sessionId=SESSION, models=models, configOptions=[])

    def put(self, direction: str, **members: Any) -> None:
        message = {"jsonrpc": "2.0", **members}
        if self.both:
            self.lines.append({"dir": direction, "msg": message})
        elif direction == "a2c":
            self.lines.append(message)

    def client(self, method: str, **params: Any) -> None:
        self.asked += 1
        self.put("c2a", id=self.asked, method=method, params=params)

    def answered(self, **result: Any) -> None:
        self.put("a2c", id=self.asked, result=result)

    def agent(self, method: str, **params: Any) -> None:
        self.put("a2c", method=method, params=params)

    def told(self, session: str, kind: str, /, **members: Any) -> None:
        """Grok's own, with a time."""
        self.clock.tick()
        self.events += 1
        meta = {"eventId": f"{session}-{self.events}", "agentTimestampMs": self.clock.now}
        update = {"sessionUpdate": kind, **members}
        self.agent("_x.ai/session_notification", sessionId=session, update=update, _meta=meta)

    def untimed(self, session: str, kind: str, /, **members: Any) -> None:
        update = {"sessionUpdate": kind, **members}
        self.agent("_x.ai/session_notification", sessionId=session, update=update)

    def update(self, session: str, kind: str, began: int, /, says: bool = True, **members: Any) -> None:
        """What the protocol knows."""
        self.clock.tick(says)
        self.events += 1
        meta: dict[str, Any] = {"totalTokens": 1, "eventId": f"{session}-{self.events}"}
        meta |= {"agentTimestampMs": self.clock.now, "promptId": "prompt-1"}
        meta |= {"streamStartMs": began, "turnStartMs": STARTED_MS}
        self.agent("session/update", sessionId=session, update={"sessionUpdate": kind, **members}, _meta=meta)

    def prompt(self, prompt: Prompt, ends: bool) -> None:
        began = self.clock.now
        self.client("session/prompt", sessionId=SESSION, prompt=[{"type": "text", "text": prompt.text}])
        for answer in prompt.answers:
            run(self.answer(SESSION, answer))
        if not ends:
            return
        used, elapsed = self.turn(SESSION, list(prompt.answers), began)
        self.elapsed_ms = elapsed + (self.elapsed_ms or 0)
        self.agent("_x.ai/session/prompt_complete", sessionId=SESSION, promptId="prompt-1", stopReason="end_turn")
        last = prompt.answers[-1].usage
        about = {"sessionId": SESSION, "requestId": "prompt-1", "modelId": MODEL, "totalTokens": 1}
        about |= {"inputTokens": last.input, "outputTokens": last.output}
        self.answered(stopReason="end_turn", _meta={**about, "usage": used})

    def turn(self, session: str, answers: list[Answer], began: int) -> tuple[dict[str, Any], int]:
        """The end of a turn; its tokens and ms."""
        used = total(answers)
        told: dict[str, Any] = {"inputTokens": used.input, "outputTokens": used.output}
        told |= {"totalTokens": used.input + used.output, "cachedReadTokens": used.cached}
        told |= {"cacheCreationTokens": used.written, "reasoningTokens": used.reasoning}
        told |= {"modelCalls": len(answers), "modelUsage": {MODEL: dict(told)}, "numTurns": len(answers)}
        elapsed = abs(self.clock.now - began) + 3
        about = {"prompt_id": "prompt-1", "stop_reason": "end_turn"}
        self.told(session, "turn_completed", **about, usage=told, elapsed_ms=elapsed)
        return told, elapsed

    def answer(self, session: str, answer: Answer) -> Iterator[None]:
        began = STARTED_MS + answer.number
        for kind, text in (("agent_thought_chunk", answer.thinking), ("agent_message_chunk", answer.text)):
            for piece in pieces(text):
                self.update(session, kind, began, content={"type": "text", "text": piece})
                yield
        if not answer.whole:
            return
        for index, call in enumerate(answer.calls):
            about: dict[str, Any] = {"tool_call_id": own(call), "name": given(call)[0], "arguments_delta": ""}
            self.untimed(session, "tool_call_delta_chunk", tool_index=index, **about)
            self.untimed(session, "tool_call_delta_chunk", tool_index=index, arguments_delta="{")
        commands = [{"name": "compact", "description": "Compress"}]
        update = {"sessionUpdate": "available_commands_update", "availableCommands": commands}
        self.agent("session/update", sessionId=session, update=update)
        used = answer.usage
        told = {"input_tokens": used.fresh, "output_tokens": used.output, "cache_read_input_tokens": used.cached}
        told |= {"cache_creation_input_tokens": used.written, "reasoning_tokens": used.reasoning}
        self.untimed(session, "response_completed", usage=told)
        yield
        works = {call.number: self.work(session, call, began) for call in answer.working}
        yield from in_some_order(self.mixed, self.asks(session, answer, began), works)

    def asks(self, session: str, answer: Answer, began: int) -> Iterator[int]:
        for call in answer.calls:
            name, arguments = given(call)
            kind = KINDS.get(call.verb, "other")
            tool = {"x.ai/tool": {"version": 1, "name": name, "kind": kind, "namespace": "grok_build"}}
            about: dict[str, Any] = {"toolCallId": own(call), "title": name, "rawInput": arguments}
            self.update(session, "tool_call", began, **about, _meta=tool)
            self.clock.asked[call.number] = self.clock.now
            self.untimed(session, "pending_interaction", tool_call_id=own(call), kind="permission")
            if call.verb != "unknown":
                told = {"variant": name.title().replace("_", ""), **arguments}
                shown: dict[str, Any] = {"title": f"Do {name}", "kind": "other", "locations": [], "rawInput": told}
                self.update(session, "tool_call_update", began, says=False, toolCallId=own(call), **shown, _meta=tool)
            self.untimed(session, "interaction_resolved", tool_call_id=own(call))
            yield call.number

    def work(self, session: str, call: Call, began: int) -> Iterator[None]:
        if call.inner:
            yield from self.delegate(session, call)
        if call.outcome == "unpaired":
            return
        told: dict[str, Any] = {"status": "failed", "content": failure(call)}
        if is_good(call):
            told = {"status": "completed", "rawOutput": raw_output(call)}
        if is_good(call) and call.verb == "delegate":
            shown = f"{call.output}\n\n<subagent_meta>id={child_of(call)}, tool_calls=1</subagent_meta>"
            told["content"] = [{"type": "content", "content": {"type": "text", "text": shown}}]
            told["rawOutput"]["subagent_id"] = child_of(call)
        self.update(session, "tool_call_update", began, toolCallId=own(call), **told)
        self.clock.ended[call.number] = self.clock.now
        yield

    def delegate(self, session: str, call: Call) -> Iterator[None]:
        inner = child_of(call)
        about = {"subagent_id": inner, "child_session_id": inner}
        kind = {"subagent_type": "general-purpose", "description": "Look", "effective_context_source": "new"}
        self.told(session, "subagent_spawned", **about, parent_session_id=session, **kind, model="mock")
        began = self.clock.now
        self.agent("_x.ai/mcp_initialized", sessionId=inner, mcpToolCount=0, elapsedMs=0)
        asked: dict[str, Any] = {
            "content": {"type": "text", "text": call.text},
            "_meta": {"modelId": MODEL, "promptIndex": 0},
        }
        self.update(inner, "user_message_chunk", 0, **asked)
        yield
        for answer in call.inner:
            yield from self.answer(inner, answer)
        if call.inner[-1].final:
            self.turn(inner, list(call.inner), began)
            ended = {"status": "completed", "tool_calls": 1, "turns": 1, "duration_ms": 81, "output": call.output}
            self.told(session, "subagent_finished", **about, **ended, will_wake=False)
            yield


def write(scenario: Scenario, both: bool) -> Written:
    connection = Connection(scenario.mixed, both)
    for prompt in scenario.prompts:
        connection.prompt(prompt, prompt is not scenario.prompts[-1] or scenario.end == "complete")
    connection.clock.session_ms = connection.elapsed_ms
    return Written("acp.jsonl", json_lines(connection.lines), clock=connection.clock)


def write_both(scenario: Scenario) -> Written:
    return write(scenario, True)


def write_agent(scenario: Scenario) -> Written:
    return write(scenario, False)


def heard_status(written: Scenario, told: Scenario) -> str:
    """A further prompt is not heard: what was over is so until something is done."""
    begun = any(not answer.empty for prompt in told.prompts[-1:] for answer in prompt.answers)
    return by_end_record(written, told) if begun or len(written.prompts) == 1 else "complete"


LATER = {"sessionId": SESSION, "update": {"sessionUpdate": "later"}, "_meta": {"eventId": f"{SESSION}-90#"}}
RECORD = {"jsonrpc": "2.0", "method": "session/update", "params": LATER}
WRITERS = (
    Writer(
        "grok-acp",
        write_both,
        (*VERBS, "delegate"),
        possible=POSSIBLE,
        losses=(no_broken_calls, no_empty_answers),
        tokens=counted(),
        later={"dir": "a2c", "msg": RECORD},
        mixes=True,
        nests=True,
        nameless=Nameless(PIECES.why, lambda record: PIECES.which(record["msg"])),
    ),
    Writer(
        "grok-acp",
        write_agent,
        (*VERBS, "delegate"),
        possible=POSSIBLE,
        losses=(no_prompts, no_broken_calls, no_empty_answers),
        tokens=counted(),
        status=heard_status,
        later=RECORD,
        mixes=True,
        nests=True,
        name="grok-acp-agent",
        nameless=PIECES,
    ),
)

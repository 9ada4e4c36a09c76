# ruff: noqa: E501 (records are kept as the program writes them)
"""One made-up Claude Code 2.1 session, written in bounded memory: `stream` (what `-p` prints) or `session` (on disk).

Source of the shapes: Claude Code 2.1.197, `--output-format stream-json --verbose` and `~/.claude/projects`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from synthetic.calls import CWD, Call, Calls
from synthetic.ids import Clock, Ids
from synthetic.text import Texts, escape

Dialect = Literal["stream", "session"]
MODEL = b"claude-sonnet-4-5-20250929"
VERSION = b"2.1.197"
_EDITS = {b"Edit", b"Write"}
_CONTEXT_LIMIT = 165_000
_FIRST_TURNS_WITH_EVERYTHING = 40
"""The longest output and a sub-agent come this early: a small session has the same longest record as a big one."""

Write = Callable[[bytes], object]


@dataclass
class Truth:
    """What was written, counted while writing: a reader must find exactly this."""

    records: int = 0
    bytes: int = 0
    turns: int = 0
    sub_turns: int = 0
    by_tool: Counter[str] = field(default_factory=lambda: Counter[str]())
    by_outcome: Counter[str] = field(default_factory=lambda: Counter[str]())
    first_edit_turn: int | None = None
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    compactions: int = 0


@dataclass
class Scope:
    """One conversation: the main one, or a sub-agent's."""

    write: Write
    parent: bytes = b"null"
    """`parent_tool_use_id` as JSON."""
    agent: bytes = b""
    last_uuid: bytes = b"null"
    """`parentUuid` of the next record on disk, as JSON."""
    context: int = 16_000


class ClaudeSession:
    """Writes records until `size` bytes are out. `companion` opens a sub-agent's own file (on disk only)."""

    def __init__(
        self,
        dialect: Dialect,
        seed: int,
        *,
        thinking: bool = True,
        subagents: bool = True,
        long_bytes: int = 400_000,
        texts: Texts | None = None,
        companion: Callable[[str, str, bytes], Write] | None = None,
    ) -> None:
        rng = random.Random(seed)
        self._rng = rng
        self._stream = dialect == "stream"
        self._thinking = thinking
        self._subagents = subagents and (self._stream or companion is not None)
        self._companion = companion
        self._texts = texts or Texts(rng, long_bytes=long_bytes)
        self._calls = Calls(rng, self._texts)
        self._ids = Ids(rng)
        self._clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC) + timedelta(minutes=rng.randrange(500_000)))
        self.session_id = self._ids.uuid()
        self._prompt_id = self._ids.uuid()
        self._tail = b',"userType":"external","entrypoint":"sdk-cli","cwd":"%b","sessionId":"%b","version":"%b","gitBranch":"main"}\n' % (
            CWD, self.session_id, VERSION,
        )  # fmt: skip
        self.truth = Truth()

    def write(self, out: Write, size: int) -> Truth:
        """Writes the whole session; it ends, complete, with the first answer after `size` bytes."""
        main = Scope(self._counted(out), context=30_000)
        self._open(main)
        truth = self.truth
        while True:
            if truth.bytes >= size:
                break
            for _ in self._turn(main, depth=0):
                pass
            if truth.turns == _FIRST_TURNS_WITH_EVERYTHING // 2 and self._texts.long is not None:
                self._answer_calls(main, [self._calls.long_output(self._texts.long)])
            if truth.turns == _FIRST_TURNS_WITH_EVERYTHING and self._subagents:
                self._delegate(main)
            if main.context > _CONTEXT_LIMIT:
                self._compact(main)
        self._close(main)
        return truth

    def _counted(self, out: Write) -> Write:
        truth = self.truth

        def write(record: bytes) -> None:
            truth.records += 1
            truth.bytes += len(record)
            out(record)

        return write

    # --- one answer -------------------------------------------------------------------------------------------------

    def _turn(self, scope: Scope, depth: int) -> Iterator[None]:
        rng = self._rng
        if depth == 0 and self._subagents and rng.random() < 0.008:
            self._delegate(scope)
            return
        # One call in two thirds of the answers, up to five in parallel in the others.
        count = 1 if rng.random() < 0.68 else rng.randint(2, 5)
        self._answer_calls(scope, [self._calls.draw() for _ in range(count)])
        yield

    def _answer_calls(self, scope: Scope, calls: list[Call]) -> None:
        """An answer that asks for these calls, and their results in completion order."""
        ids = [self._ids.call() for _ in calls]
        blocks = self._opening_blocks()
        blocks += [self._use(i, call.name, call.input) for i, call in zip(ids, calls, strict=True)]
        uuids = self._answer(scope, blocks, b"tool_use", [call.name for call in calls])
        order = list(zip(ids, calls, uuids[-len(calls) :], strict=True))
        if len(order) > 1 and self._rng.random() < 0.3:
            self._rng.shuffle(order)
        for call_id, call, asked_in in order:
            self._clock.advance(self._rng.choice((11, 40, 160, 700, 3_000, 21_000)))
            self._result(scope, call_id, call.result, call.structured, call.flag, asked_in)
            self.truth.by_outcome[call.outcome] += 1

    def _opening_blocks(self) -> list[bytes]:
        rng, blocks = self._rng, list[bytes]()
        if self._thinking and rng.random() < 0.3:
            blocks.append(
                b'{"type":"thinking","thinking":"%b","signature":"%b"}'
                % (rng.choice(self._texts.thoughts), rng.choice(self._texts.signatures))
            )
        if rng.random() < 0.35:
            blocks.append(b'{"type":"text","text":"%b"}' % rng.choice(self._texts.prose))
        return blocks

    @staticmethod
    def _use(call_id: bytes, name: bytes, arguments: bytes) -> bytes:
        return b'{"type":"tool_use","id":"%b","name":"%b","input":%b}' % (call_id, name, arguments)

    def _answer(self, scope: Scope, blocks: list[bytes], stop: bytes, names: list[bytes]) -> list[bytes]:
        """One line per block, the same message id on each. Returns the uuids of the lines."""
        rng, truth = self._rng, self.truth
        fresh = rng.randint(4, 10)
        written = rng.choice((120, 400, 900, 2_500, 6_000))
        cached = scope.context
        output = rng.choice((40, 90, 180, 350, 900, 2_200))
        scope.context += written + output
        truth.input_tokens += fresh + written + cached
        truth.cached_tokens += cached
        truth.cache_write_tokens += written
        truth.output_tokens += output
        if scope.agent:
            truth.sub_turns += 1
        else:
            truth.turns += 1
            if truth.first_edit_turn is None and not _EDITS.isdisjoint(names):
                truth.first_edit_turn = truth.turns
        for name in names:
            truth.by_tool[name.decode()] += 1
        message, request = self._ids.message(), self._ids.request()
        self._clock.advance(rng.randint(600, 9_000))
        uuids: list[bytes] = []
        for block in blocks:
            uuid = self._ids.uuid()
            uuids.append(uuid)
            self._clock.advance(3)
            if self._stream:
                extra = b',"subagent_type":"general-purpose","task_description":"Look around"' if scope.agent else b""
                scope.write(
                    b'{"type":"assistant","message":{"id":"%b","type":"message","role":"assistant","model":"%b","content":['
                    b'%b],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,'
                    b'"cache_read_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":0},'
                    b'"output_tokens":1,"service_tier":"standard","inference_geo":"not_available"},"context_management":null},'
                    b'"parent_tool_use_id":%b,"session_id":"%b","uuid":"%b","request_id":"%b"%b}\n'
                    % (
                        message,
                        MODEL,
                        block,
                        fresh,
                        written,
                        cached,
                        written,
                        scope.parent,
                        self.session_id,
                        uuid,
                        request,
                        extra,
                    )
                )
            else:
                scope.write(
                    b'{"parentUuid":%b,%b"message":{"id":"%b","type":"message","role":"assistant","model":"%b","content":[%b],'
                    b'"stop_reason":"%b","stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,'
                    b'"cache_read_input_tokens":%d,"output_tokens":%d,"server_tool_use":{"web_search_requests":0,'
                    b'"web_fetch_requests":0},"service_tier":"standard","cache_creation":{"ephemeral_1h_input_tokens":0,'
                    b'"ephemeral_5m_input_tokens":%d},"inference_geo":"not_available","iterations":[],"speed":"standard"},'
                    b'"stop_details":null},"requestId":"%b","type":"assistant","uuid":"%b","timestamp":"%b"%b'
                    % (
                        scope.last_uuid, self._side(scope), message, MODEL, block, stop, fresh, written, cached, output, written,
                        request, uuid, self._clock.iso(), self._tail,
                    )
                )  # fmt: skip
                scope.last_uuid = b'"%b"' % uuid
        return uuids

    @staticmethod
    def _side(scope: Scope) -> bytes:
        return b'"isSidechain":true,"agentId":"%b",' % scope.agent if scope.agent else b'"isSidechain":false,'

    def _result(
        self, scope: Scope, call_id: bytes, result: bytes, structured: bytes, flag: bytes, asked_in: bytes
    ) -> None:
        if flag == b',"is_error":true':
            block = b'{"type":"tool_result","content":%b,"is_error":true,"tool_use_id":"%b"}' % (result, call_id)
        else:
            block = b'{"tool_use_id":"%b","type":"tool_result","content":%b%b}' % (call_id, result, flag)
        uuid = self._ids.uuid()
        if self._stream:
            # A sub-agent's results come without the structured form.
            extra = (
                b',"subagent_type":"general-purpose","task_description":"Look around"'
                if scope.agent
                else b',"tool_use_result":%b' % structured
            )
            scope.write(
                b'{"type":"user","message":{"role":"user","content":[%b]},"parent_tool_use_id":%b,"session_id":"%b","uuid":"%b",'
                b'"timestamp":"%b"%b}\n' % (block, scope.parent, self.session_id, uuid, self._clock.iso(), extra)
            )
            return
        scope.write(
            b'{"parentUuid":%b,%b"promptId":"%b","type":"user","message":{"role":"user","content":[%b]},"uuid":"%b",'
            b'"timestamp":"%b","toolUseResult":%b,"sourceToolAssistantUUID":"%b"%b'
            % (scope.last_uuid, self._side(scope), self._prompt_id, block, uuid, self._clock.iso(), structured, asked_in, self._tail)
        )  # fmt: skip
        scope.last_uuid = b'"%b"' % uuid

    # --- sub-agents -------------------------------------------------------------------------------------------------

    def _delegate(self, scope: Scope) -> None:
        """One to three sub-agents at once, their records interleaved; each result is the agent's last words."""
        rng = self._rng
        count = rng.choice((1, 1, 2, 3))
        prompts = [rng.choice(self._texts.prose) for _ in range(count)]
        ids = [self._ids.call() for _ in prompts]
        blocks = self._opening_blocks()
        blocks += [self._use(i, b"Agent", self._calls.agent(p)) for i, p in zip(ids, prompts, strict=True)]
        uuids = self._answer(scope, blocks, b"tool_use", [b"Agent"] * count)[-count:]
        running = [self._child(scope, i, p) for i, p in zip(ids, prompts, strict=True)]
        finished: list[int] = []
        agents = [b""] * count
        while len(finished) < count:
            for n, child in enumerate(running):
                if n not in finished:
                    agent = next(child, None)
                    if agent is None:
                        finished.append(n)
                    else:
                        agents[n] = agent
        for n in finished:
            text = rng.choice(self._texts.thoughts)
            result = (
                b'[{"type":"text","text":"%b"},{"type":"text","text":"agentId: %b\\n<usage>subagent_tokens: 17459</usage>"}]'
                % (text, agents[n])
            )
            structured = (
                b'{"status":"completed","prompt":"%b","agentId":"%b","agentType":"general-purpose","content":[{"type":"text",'
                b'"text":"%b"}],"resolvedModel":"%b","totalDurationMs":18900,"totalTokens":17459,"totalToolUseCount":2,"usage":'
                b'{"input_tokens":10,"cache_creation_input_tokens":164,"cache_read_input_tokens":17280,"output_tokens":5}}'
            ) % (prompts[n], agents[n], text, MODEL)
            if self._stream:
                scope.write(
                    b'{"type":"system","subtype":"task_notification","task_id":"%b","tool_use_id":"%b","status":"completed",'
                    b'"output_file":"","summary":"Look around","usage":{"total_tokens":17459,"tool_uses":2,"duration_ms":18900},'
                    b'"uuid":"%b","session_id":"%b"}\n' % (agents[n], ids[n], self._ids.uuid(), self.session_id)
                )
            self._clock.advance(400)
            self._result(scope, ids[n], result, structured, b"", uuids[n])
            self.truth.by_outcome["ok"] += 1

    def _child(self, scope: Scope, call_id: bytes, prompt: bytes) -> Iterator[bytes]:
        agent = self._ids.agent()
        if self._stream:
            child = Scope(scope.write, parent=b'"%b"' % call_id, agent=agent)
            scope.write(
                b'{"type":"system","subtype":"task_started","task_id":"%b","tool_use_id":"%b","description":"Look around",'
                b'"subagent_type":"general-purpose","task_type":"local_agent","prompt":"%b","uuid":"%b","session_id":"%b"}\n'
                % (agent, call_id, prompt, self._ids.uuid(), self.session_id)
            )
            scope.write(
                b'{"type":"user","message":{"role":"user","content":[{"type":"text","text":"%b"}]},"parent_tool_use_id":"%b",'
                b'"session_id":"%b","uuid":"%b","timestamp":"%b","subagent_type":"general-purpose","task_description":"Look around"}\n'
                % (prompt, call_id, self.session_id, self._ids.uuid(), self._clock.iso())
            )
        else:
            assert self._companion is not None, "sub-agents are drawn only where their files can be opened"
            meta = (
                b'{"agentType":"general-purpose","description":"Look around","toolUseId":"%b","spawnDepth":1}' % call_id
            )
            child = Scope(self._counted(self._companion(self.session_id.decode(), agent.decode(), meta)), agent=agent)
            self._prompt(child, prompt)
        for _ in range(self._rng.randint(2, 9)):
            yield agent
            for _ in self._turn(child, depth=1):
                pass
        self._answer(child, [b'{"type":"text","text":"%b"}' % self._rng.choice(self._texts.prose)], b"end_turn", [])

    # --- begin, compaction, end -------------------------------------------------------------------------------------

    def _prompt(self, scope: Scope, text: bytes) -> None:
        """A prompt on disk."""
        uuid = self._ids.uuid()
        scope.write(
            b'{"parentUuid":%b,%b"promptId":"%b","type":"user","message":{"role":"user","content":"%b"},"uuid":"%b","timestamp":"%b",'
            b'"permissionMode":"bypassPermissions","promptSource":"sdk"%b'
            % (scope.last_uuid, self._side(scope), self._prompt_id, text, uuid, self._clock.iso(), self._tail)
        )
        scope.last_uuid = b'"%b"' % uuid

    def _open(self, scope: Scope) -> None:
        if self._stream:
            scope.write(
                b'{"type":"system","subtype":"init","cwd":"%b","session_id":"%b","tools":["Task","Bash","Edit","Glob","Grep","Read",'
                b'"Skill","TaskUpdate","TodoWrite","WebFetch","Write"],"mcp_servers":[{"name":"tracker","status":"connected"}],'
                b'"model":"%b","permissionMode":"bypassPermissions","slash_commands":["compact","context"],"apiKeySource":"none",'
                b'"claude_code_version":"%b","output_style":"default","agents":["general-purpose"],"skills":["fix-bug"],"plugins":[],'
                b'"uuid":"%b","fast_mode_state":"off"}\n' % (CWD, self.session_id, MODEL, VERSION, self._ids.uuid())
            )
            return
        prompt = self._rng.choice(self._texts.prose)
        stamp = (self._clock.iso(), self.session_id)
        scope.write(
            b'{"type":"queue-operation","operation":"enqueue","timestamp":"%b","sessionId":"%b","content":"%b"}\n'
            % (*stamp, prompt)
        )
        scope.write(b'{"type":"queue-operation","operation":"dequeue","timestamp":"%b","sessionId":"%b"}\n' % stamp)
        self._prompt(scope, prompt)
        uuid = self._ids.uuid()
        scope.write(
            b'{"parentUuid":%b,"isSidechain":false,"attachment":{"type":"skill_listing","content":"%b","skillCount":1,"isInitial":true,'
            b'"names":["fix-bug"]},"type":"attachment","uuid":"%b","timestamp":"%b"%b'
            % (scope.last_uuid, self._rng.choice(self._texts.thoughts), uuid, self._clock.iso(), self._tail)
        )
        scope.last_uuid = b'"%b"' % uuid

    def _compact(self, scope: Scope) -> None:
        """The history is replaced by a summary: boundary, then the summary as an injected user message."""
        before, scope.context = scope.context, 22_000
        self.truth.compactions += 1
        summary = escape("This session is being continued from a previous conversation. ") + self._rng.choice(
            self._texts.thoughts
        )
        boundary, uuid = self._ids.uuid(), self._ids.uuid()
        if self._stream:
            scope.write(
                b'{"type":"system","subtype":"compact_boundary","session_id":"%b","uuid":"%b","compact_metadata":{"trigger":"auto",'
                b'"pre_tokens":%d,"post_tokens":22000,"duration_ms":9000}}\n' % (self.session_id, boundary, before)
            )
            scope.write(
                b'{"type":"user","message":{"role":"user","content":[{"type":"text","text":"%b"}]},"parent_tool_use_id":null,'
                b'"session_id":"%b","uuid":"%b","timestamp":"%b","isSynthetic":true}\n'
                % (summary, self.session_id, uuid, self._clock.iso())
            )
            return
        scope.write(
            b'{"parentUuid":null,"logicalParentUuid":%b,"isSidechain":false,"type":"system","subtype":"compact_boundary","content":'
            b'"Conversation compacted","isMeta":false,"timestamp":"%b","uuid":"%b","level":"info","compactMetadata":{"trigger":"auto",'
            b'"preTokens":%d,"durationMs":9000}%b' % (scope.last_uuid, self._clock.iso(), boundary, before, self._tail)
        )
        scope.write(
            b'{"parentUuid":"%b","isSidechain":false,"promptId":"%b","type":"user","message":{"role":"user","content":"%b"},'
            b'"isVisibleInTranscriptOnly":true,"isCompactSummary":true,"uuid":"%b","timestamp":"%b"%b'
            % (boundary, self._prompt_id, summary, uuid, self._clock.iso(), self._tail)
        )
        scope.last_uuid = b'"%b"' % uuid

    def _close(self, scope: Scope) -> None:
        words = self._rng.choice(self._texts.prose)
        self._answer(scope, [b'{"type":"text","text":"%b"}' % words], b"end_turn", [])
        truth = self.truth
        if not self._stream:
            leaf = scope.last_uuid.strip(b'"')
            scope.write(
                b'{"type":"last-prompt","lastPrompt":"go on","leafUuid":"%b","sessionId":"%b"}\n'
                % (leaf, self.session_id)
            )
            return
        fresh = truth.input_tokens - truth.cached_tokens - truth.cache_write_tokens
        numbers = (fresh, truth.output_tokens, truth.cached_tokens, truth.cache_write_tokens)
        cost = (
            fresh * 3 + truth.output_tokens * 15 + truth.cached_tokens * 0.3 + truth.cache_write_tokens * 3.75
        ) / 1e6
        elapsed = self._clock.now_ms - self._clock.start_ms
        scope.write(
            b'{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"duration_ms":%d,"duration_api_ms":%d,'
            b'"num_turns":%d,"result":"%b","stop_reason":"end_turn","session_id":"%b","total_cost_usd":%.6f,"usage":{"input_tokens":%d,'
            b'"output_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"service_tier":"standard"},"modelUsage":'
            b'{"%b":{"inputTokens":%d,"outputTokens":%d,"cacheReadInputTokens":%d,"cacheCreationInputTokens":%d,"webSearchRequests":0,'
            b'"costUSD":%.6f,"contextWindow":200000,"maxOutputTokens":32000}},"permission_denials":[],"terminal_reason":"completed",'
            b'"fast_mode_state":"off","uuid":"%b"}\n'
            % (
                elapsed, elapsed // 2, sum(truth.by_tool.values()) + 1, words, self.session_id, cost, *numbers, MODEL, *numbers,
                cost, self._ids.uuid(),
            )
        )  # fmt: skip

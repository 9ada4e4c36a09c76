"""A scenario as Mistral Vibe 3.0 prints it (`vibe -p … --output streaming`), and as it keeps it: a checkpoint of the
turns that have ended, and a journal of those since.

Shapes: recordings of the real program. Both are entries of one history. Calls of one answer begin together; the stream
has an entry when it is settled, the journal a call when it begins, too. Calls do not tell their answer; what never
begins (an unknown tool) is told nowhere. What a restart makes of a turn that was killed is not written here.
"""

import json
import uuid
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.mixing import Clock, iso_of
from support.scenarios.scenario import Answer, Call, Prompt, Scenario, Verb, all_answers, changed
from support.scenarios.writer import (
    CWD,
    NOTHING,
    Writer,
    Written,
    json_lines,
    no_broken_answers,
    no_empty_answers,
    no_inner,
    no_tokens,
    no_unpaired,
    not_told,
)

SESSION = "5b1f7c1e-3a40-4a7e-9c57-0d5f0e3c1a01"
VERBS: tuple[Verb, ...] = ("read", "edit", "create", "run", "plan", "mcp", "unknown", "delegate")
APPROVED = {"approvalSource": "bypass", "approvalType": "always", "decision": "execute"}
REFUSED = {"approvalSource": "user", "approvalType": "ask", "decision": "skip"}


def given(call: Call) -> tuple[str, str, dict[str, Any]]:
    """Vibe's own function, its kind, and what the stream says of its arguments; on disk they bear other names."""
    todo = {"id": "1", "content": call.text, "status": "pending", "priority": "high"}
    told: dict[str, tuple[str, str, dict[str, Any]]] = {
        "read": ("file_system.read_file", "file_read", {"filePath": call.target, "offset": None, "limit": 2000}),
        "edit": (
            "file_system.edit",
            "file_edit",
            {"filePath": call.target, "oldString": "a", "newString": call.text, "replaceAll": False},
        ),
        "create": ("file_system.write_file", "file_write", {"filePath": call.target, "content": call.text}),
        "run": ("file_system.bash", "shell", {"command": call.target}),
        "plan": ("vibe.todo", "todo", {"action": "write", "todos": [todo]}),
        "mcp": ("mcp_" + call.target.replace("/", "."), "tool", {"q": call.text}),
    }
    return told.get(call.verb, ("agents.spawn", "tool", {"agent": "helper", "prompt": call.text}))


KEPT = {"filePath": "path", "oldString": "old_string", "newString": "new_string", "replaceAll": "replace_all"}


def child(call: Call) -> str:
    return f"child-{call.number:012x}"


class History:
    """Entries of a session, the first three members as the stream has them; `disk`: as a session keeps them;
    what is not `kept` is told nowhere."""

    def __init__(self, session: str, clock: Clock, disk: bool, kept: bool = True) -> None:
        self.session = session
        self.clock = clock
        self.disk = disk
        self.kept = kept
        self.turn = self.input = ""
        self.spent: list[Answer] = []
        self.status = "in_progress"
        self.log: Callable[[str, dict[str, Any]], None] = lambda op, entry: None
        self.children: list[History] = []
        self.begun_ms = 0

    def entry(
        self, own: str, kind: str, members: dict[str, Any], begun_ms: int, settled: bool = True
    ) -> dict[str, Any]:
        about: dict[str, Any] = {
            "id": own,
            "sessionId": self.session,
            "turnId": self.turn,
            "inputEntryId": self.input or None,
        }
        about |= {"createdAt": begun_ms, "updatedAt": self.clock.now}
        about |= {"generationStatus": "completed" if settled else "in_progress", "relatedEntryId": None, "type": kind}
        return about | members

    def say(self, own: str, kind: str, **members: Any) -> None:
        self.clock.tick(self.kept)
        self.log("append_entry", self.entry(own, kind, members, self.clock.now))

    def prompt(self, text: str) -> None:
        self.turn = "turn-" + uuid.uuid5(uuid.NAMESPACE_OID, f"{self.session} {self.clock.ticks}").hex
        self.input, own, self.status = "", f"user-{self.turn}-1", "in_progress"
        content = [{"type": "text", "text": text}]
        self.begun_ms = self.clock.now
        self.say(own, "message", role="user", content=content, source="turn_start", outcome=None)
        self.input = own

    def answer(self, answer: Answer) -> None:
        if not answer.whole:
            return
        self.spent.append(answer)
        own = str(uuid.uuid5(uuid.NAMESPACE_OID, f"answer {answer.number}"))
        outcome = {"type": "committed"}
        if answer.thinking:
            self.say(f"reasoning-{own}-0", "reasoning", text=answer.thinking, summary=[], outcome=outcome)
        if answer.text:
            content = [{"type": "text", "text": answer.text}]
            said = {"role": "assistant", "content": content, "source": "harness", "outcome": outcome}
            self.say(f"assistant-{own}", "message", **said)
        if not (answer.thinking or answer.text):
            self.spent_more()
        known = [call for call in answer.calls if call.verb != "unknown"]
        for call in known:
            self.clock.tick(self.disk and self.kept)
            self.clock.asked[call.number] = self.clock.now
            self.effect("append_entry", call, {"status": "running", "outputText": ""})
        for call in (call for call in answer.working if call in known):
            if call.inner:
                self.delegate(call)
            if call.outcome != "unpaired":
                self.clock.tick(self.kept)
                self.clock.ended[call.number] = self.clock.now
                self.effect("replace_entry", call, self.state(call))

    def effect(self, op: str, call: Call, state: dict[str, Any]) -> None:
        name, kind, arguments = given(call)
        detail: dict[str, Any] = {"toolName": name, "display": {"summary": name}, "kind": kind, "input": arguments}
        if self.disk:
            detail |= {"kind": "tool", "input": {KEPT.get(key, key): value for key, value in arguments.items()}}
        if call.verb == "delegate" and self.disk and call.inner:
            detail["childSessionId"] = child(call)
        own = "effect-" + str(uuid.uuid5(uuid.NAMESPACE_OID, f"call {call.number}"))
        members = {"title": name, "detail": detail, "state": state}
        settled = op == "replace_entry"
        self.log(op, self.entry(own, "effect", members, self.clock.asked[call.number], settled))

    def state(self, call: Call) -> dict[str, Any]:
        """How a call ended."""
        approval = REFUSED if call.outcome == "denied" else APPROVED
        meta = {"_meta": {"approval": approval}}
        about: dict[str, Any] = {"outputText": "", **approval} | ({} if self.disk else {"durationMs": 0.0})
        if call.outcome == "ok" or call.exit_code:
            text = call.output if call.verb in ("run", "mcp") else ""
            success = self.disk or call.outcome == "ok"
            told: dict[str, Any] = self.output(call)
            if call.verb == "mcp":
                told = {"type": "success", "content": [{"type": "text", "text": call.output}], **meta}
            elif self.disk:
                told = {**meta, "content": [], "structured_content": told, "type": "success"}
            about |= {"status": "completed", "outputText": text, "output": told}
            return about | {"display": {"success": success, "message": given(call)[0]}}
        code = "tool_denied" if call.outcome == "denied" else "mcp_tool_error" if call.verb == "mcp" else "tool_failed"
        error = {"code": code, "message": call.output}
        failure: dict[str, Any] = {"type": "failure", "content": [], **meta, "error": {**error, "retryable": False}}
        about |= {"status": "failed", "output": failure, "error": {**error, "details": None}}
        return about | {"display": {"success": False, "message": call.output}}

    def output(self, call: Call) -> dict[str, Any]:
        if call.verb == "run" and self.disk:
            return {"command": call.target, "returncode": call.exit_code, "stdout": call.output, "stderr": ""}
        if call.verb == "run":
            return {"stdout": call.output, "stderr": "", "output": "", "truncated": False}
        return {"path" if self.disk else "filePath": call.target, "content": call.output}

    def delegate(self, call: Call) -> None:
        agent = Disk(child(call), self.clock, kept=self.disk)
        self.children.append(agent)
        agent.prompt(call.text)
        for answer in call.inner:
            agent.answer(answer)
        if call.inner[-1].final:
            agent.end()

    def end(self) -> None:
        self.status = "completed"

    def spent_more(self) -> None:
        """What an answer without a word changes."""


class Stream(History):
    """Prints what is settled."""

    def __init__(self, session: str, clock: Clock) -> None:
        super().__init__(session, clock, disk=False)
        self.lines: list[Any] = []
        self.log = self.print

    def print(self, op: str, entry: dict[str, Any]) -> None:
        if entry["generationStatus"] == "completed":
            self.lines.append(entry)


class Disk(History):
    """Keeps a journal and makes checkpoints."""

    def __init__(self, session: str, clock: Clock, kept: bool = True) -> None:
        super().__init__(session, clock, disk=True, kept=kept)
        self.journal: list[Any] = []
        self.history: dict[str, Any] = {}
        self.checkpoint = 0
        self.chunks: list[list[Any]] = []
        self.log = self.keep
        self.state_then: dict[str, Any] = self.envelope()

    def keep(self, op: str, entry: dict[str, Any]) -> None:
        entry = dict(sorted(entry.items()))
        self.history[entry["id"]] = entry
        step = {"entry": entry, "op": op} | ({"id": entry["id"]} if op == "replace_entry" else {})
        self.record("projection_delta", {"delta": [step, {"op": "set_envelope", "state": self.envelope()}]})

    def record(self, kind: str, payload: dict[str, Any]) -> None:
        sequence = 2 * len(self.journal) + 1
        record = {"payload": payload, "recovery_journal_record_version": 1, "sequence": sequence, "type": kind}
        self.journal.append(record)

    def envelope(self) -> dict[str, Any]:
        sums = expected.tokens([Answer("", "", (), answer.usage, True) for answer in self.spent])
        used = {"cachedInputTokens": sums["cached"], "inputTokens": sums["input"], "outputTokens": sums["output"]}
        turn: dict[str, Any] = {"id": self.turn, "sessionId": self.session, "startedAt": self.begun_ms}
        turn |= {"status": self.status}
        turn |= {} if self.status == "in_progress" else {"completedAt": self.clock.now, "stopReason": None}
        session = {"id": self.session, "parentSessionId": None, "tokenUsage": used if self.spent else None}
        about = {"format": "harness.public-session-state/v1", "latestTurn": turn if self.turn else None}
        return {**about, "session": {**session, "updatedAt": self.clock.now}}

    def end(self) -> None:
        super().end()
        self.spent_more()

    def spent_more(self) -> None:
        self.clock.tick(self.kept)
        self.record("projection_delta", {"delta": [{"op": "set_envelope", "state": self.envelope()}]})

    def save(self) -> None:
        """Makes a checkpoint of what there is."""
        kept = sum(map(len, self.chunks))
        self.chunks.append(list(self.history.values())[kept:])
        self.checkpoint = len(self.journal)
        self.state_then = self.envelope()

    def files(self) -> dict[str, bytes]:
        """What lies in its folder but `meta.json`; the journal of before the checkpoint is still there."""
        base, number = f"unified/{self.session}", 2 * self.checkpoint
        generation, first = f"{number:016d}", f"journal/{number + 1:016d}.jsonl"
        names = [uuid.uuid5(uuid.NAMESPACE_OID, f"{self.session} {n}").hex * 2 for n in range(len(self.chunks))]
        manifest = {"projection_state": {"chunks": names}, "recovery_journal_segment": {"path": first}}
        state = {"projection_state_version": 1, "session_id": self.session, "snapshot": self.state_then}
        place = f"{base}/generations/{generation}"
        found: dict[str, Any] = {f"{base}/CURRENT": {"generation": generation, "session_id": self.session}}
        found |= {f"{base}/chunks/{n}.json": chunk for n, chunk in zip(names, self.chunks, strict=True)}
        found |= {f"{place}/manifest.json": manifest, f"{place}/projection-state.json": state}
        written = {name: json.dumps(value, ensure_ascii=False).encode() for name, value in found.items()}
        if self.checkpoint:
            written[f"{base}/journal/{1:016d}.jsonl"] = json_lines(self.journal[: self.checkpoint])
        return {**written, f"{base}/{first}": json_lines(self.journal[self.checkpoint :])}


def clock_of(scenario: Scenario) -> Clock:
    """One that is never set back: which answer a call is of, times tell."""
    return Clock(4 * scenario.mixed)


def write_stream(scenario: Scenario) -> Written:
    stream = Stream(SESSION, clock_of(scenario))
    stream.prompt(scenario.prompts[0].text)
    for answer in scenario.answers:
        stream.answer(answer)
    return Written("stream.jsonl", json_lines(stream.lines), clock=stream.clock)


def has_ended(prompt: Prompt) -> bool:
    return bool(prompt.answers) and prompt.answers[-1].final and prompt.answers[-1].whole


def write_session(scenario: Scenario) -> Written:
    clock = clock_of(scenario)
    about: dict[str, Any] = {"session_id": SESSION, "parent_session_id": None, "start_time": clock.tick()}
    disk = Disk(SESSION, clock)
    saved = scenario.mixed % (len(scenario.prompts) + 1)
    for number, prompt in enumerate(scenario.prompts, 1):
        disk.prompt(prompt.text)
        for answer in prompt.answers:
            disk.answer(answer)
        if has_ended(prompt):
            disk.end()
            if number <= saved:
                disk.save()
    about |= {"git_branch": None, "environment": {"working_directory": CWD}, "username": "ada"}
    about |= {"child_sessions": [one.session for one in disk.children], "title": "A session"}
    about |= {"bumped_at": iso_of(disk.begun_ms), "config": {"active_model": "mock", "model_name": "mock-model"}}
    found = disk.files()
    for agent in disk.children:
        found |= agent.files() if isinstance(agent, Disk) else {}
    return Written(f"unified/{SESSION}/meta.json", json.dumps(about).encode() + b"\n", found, clock)


def session_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of all that a session has said, and of its sub-agents."""
    found = list(all_answers(no_broken_answers(written).answers))
    sums = expected.tokens([Answer("", "", (), answer.usage, True) for answer in found])
    return {**sums, "cache_write": None, "reasoning": None} if found else dict(NOTHING)


def by_last_turn(written: Scenario, told: Scenario) -> str:
    return "complete" if has_ended(written.prompts[-1]) else "incomplete"


def silent_with_the_one_before(scenario: Scenario) -> Scenario:
    """An answer without a word behind one without calls is one with it: nothing tells them apart."""

    def joined(answers: tuple[Answer, ...]) -> tuple[Answer, ...]:
        out: list[Answer] = []
        for answer in answers:
            made = tuple(replace(call, inner=joined(call.inner)) for call in answer.calls)
            answer = replace(answer, calls=made)
            if out and not out[-1].calls and not answer.text and not answer.thinking:
                answer = replace(out.pop(), calls=answer.calls)
            out.append(answer)
        return tuple(out)

    prompts = (replace(prompt, answers=joined(prompt.answers)) for prompt in scenario.prompts)
    return replace(scenario, prompts=tuple(prompts))


def by_their_ends(scenario: Scenario) -> Scenario:
    """Calls stand in the order of their ends."""
    return changed(scenario, lambda answer: replace(answer, calls=tuple(answer.results)))


NEVER = not_told(("ok", "error", "denied", "unpaired"), ("unknown",))
TELLING: tuple[Verb, ...] = ("read", "edit", "create", "run", "plan", "mcp", "delegate")
LOSSES = (no_broken_answers, NEVER)
WRITERS = (
    Writer(
        "vibe-stream",
        write_stream,
        VERBS,
        losses=(*LOSSES, no_inner, no_unpaired, by_their_ends, no_empty_answers, silent_with_the_one_before),
        outputs=TELLING,
        tokens=no_tokens,
        status=lambda written, told: "unknown",
        prompts=1,
        mixes=True,
    ),
    Writer(
        "vibe-session",
        write_session,
        VERBS,
        losses=(*LOSSES, no_empty_answers, silent_with_the_one_before),
        outputs=TELLING,
        tokens=session_tokens,
        status=by_last_turn,
        append_only=False,
        mixes=True,
    ),
)

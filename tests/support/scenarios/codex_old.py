"""A scenario as Codex 0.27 printed it (`codex exec --json`), and as it kept it in rollouts without envelopes.

Shapes: recordings of the real program. Calls of an answer run one after another; what a model call took stands behind
all that it brought. A rollout has an answer when all of its calls have ended.
"""

import json
from typing import Any

from msgspec.structs import replace

from support.scenarios.codex import EDITS, SHELL, command, exit_code, sums_of
from support.scenarios.scenario import Answer, Call, Scenario, Verb, changed
from support.scenarios.writer import (
    CWD,
    NOTHING,
    Nameless,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    is_answered,
    json_lines,
    no_empty_answers,
    no_tokens,
)

SESSION = "ef33fd05-cfb7-4c17-a322-566a3334aab2"
EXEC_VERBS: tuple[Verb, ...] = (*SHELL, *EDITS, "plan", "mcp")
ROLLOUT_VERBS: tuple[Verb, ...] = (*SHELL, *EDITS, "plan", "unknown")


class Exec:
    """Prints lines."""

    def __init__(self, prompt: str) -> None:
        about = {"sandbox": "danger-full-access", "reasoning summaries": "auto", "provider": "openai"}
        about |= {"approval": "never", "workdir": CWD, "model": "gpt-5-codex", "reasoning effort": "medium"}
        self.lines: list[Any] = [about, {"prompt": prompt}]
        self.say("task_started", model_context_window=None)

    def say(self, kind: str, **members: Any) -> None:
        self.lines.append({"id": "0", "msg": {"type": kind, **members}})

    def answer(self, answer: Answer) -> None:
        if answer.thinking:
            self.say("agent_reasoning_section_break")
            self.say("agent_reasoning", text=answer.thinking)
        if answer.text:
            self.say("agent_message", message=answer.text)
        for call in answer.calls:
            self.call(call)
        if is_answered(answer):
            sums = sums_of([answer.usage])
            told = {"input_tokens": sums["input"], "cached_input_tokens": sums["cached"]}
            told |= {"output_tokens": sums["output"], "reasoning_output_tokens": sums["reasoning"]}
            self.say("token_count", **told, total_tokens=sums["input"] + sums["output"])

    def call(self, call: Call) -> None:
        own = f"call_{call.number:04d}"
        good, duration = call.outcome == "ok", {"secs": 0, "nanos": 7863851}
        begin: dict[str, Any]
        end: dict[str, Any]
        if call.verb == "plan":
            self.say("plan_update", explanation=None, plan=[{"step": call.text, "status": "pending"}])
            return
        if call.verb in EDITS:
            kind = "patch_apply"
            change = {"add": {"content": "x\n"}} if call.verb == "create" else {
                "update": {"unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": None}
            }  # fmt: skip
            begin = {"auto_approved": True, "changes": {f"{CWD}/{call.target}": change}}
            end = {"stdout": call.output if good else "", "stderr": "" if good else call.output, "success": good}
        elif call.verb == "mcp":
            kind = "mcp_tool_call"
            server, _, tool = call.target.partition("/")
            begin = {"invocation": {"server": server, "tool": tool, "arguments": {"query": call.text}}}
            result: dict[str, Any] = {"content": [{"type": "text", "text": call.output}], "isError": not good}
            end = {**begin, "duration": duration, "result": {"Ok": result}}
        else:
            kind = "exec_command"
            begin = {"command": ["bash", "-lc", command(call)], "cwd": CWD, "parsed_cmd": []}
            end = {"stdout": call.output, "stderr": "", "aggregated_output": call.output}
            end |= {"exit_code": exit_code(call), "duration": duration, "formatted_output": call.output}
        self.say(f"{kind}_begin", call_id=own, **begin)
        if call.outcome != "unpaired":
            self.say(f"{kind}_end", call_id=own, **end)


def write_exec(scenario: Scenario) -> Written:
    stream = Exec(scenario.prompts[0].text)
    for answer in scenario.answers:
        stream.answer(answer)
    return Written("stream.jsonl", json_lines(stream.lines))


class Rollout:
    """Writes the items of one session, and the markers between them."""

    def __init__(self) -> None:
        head: dict[str, Any] = {"id": SESSION, "timestamp": "2026-03-02T09:30:00.000Z", "instructions": None, "git": {}}
        self.lines: list[Any] = [head, {"record_type": "state"}]
        self.said("user", f"<environment_context>\n  <cwd>{CWD}</cwd>\n</environment_context>")

    def said(self, role: str, text: str) -> None:
        kind = "input_text" if role == "user" else "output_text"
        self.lines.append({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

    def answer(self, answer: Answer) -> None:
        if answer.thinking:
            summary = [{"type": "summary_text", "text": answer.thinking}]
            self.lines.append({"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "ENC=="})
        if answer.text:
            self.said("assistant", answer.text)
        for call in answer.calls:
            name, arguments = asked(call)
            own = f"call_{call.number:04d}"
            self.lines.append(
                {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": own}
            )
            self.lines.append({"type": "function_call_output", "call_id": own, "output": output(call)})
        self.lines += [{"record_type": "state"}, {"record_type": "state"}]


def asked(call: Call) -> tuple[str, dict[str, Any]]:
    if call.verb == "plan":
        return "update_plan", {"plan": [{"step": call.text, "status": "pending"}]}
    if call.verb == "unknown":
        return call.target, {"x": call.text}
    if call.verb in SHELL:
        return "shell", {"command": ["bash", "-lc", command(call)]}
    change = f"Add File: {call.target}\n+x" if call.verb == "create" else f"Update File: {call.target}\n@@\n-a\n+b"
    return "shell", {
        "command": ["bash", "-lc", f"apply_patch <<'EOF'\n*** Begin Patch\n*** {change}\n*** End Patch\nEOF\n"]
    }


def output(call: Call) -> str:
    if call.verb == "plan":
        return "Plan updated"
    if call.verb == "unknown":
        return f"unsupported call: {call.target} {call.output}"
    return json.dumps({"output": call.output, "metadata": {"exit_code": exit_code(call), "duration_seconds": 0.0}})


def write_rollout(scenario: Scenario) -> Written:
    rollout = Rollout()
    for prompt in scenario.prompts:
        rollout.lines.append({"record_type": "state"})
        rollout.said("user", prompt.text)
        rollout.lines.append({"record_type": "state"})
        for answer in prompt.answers:
            if is_answered(answer):
                rollout.answer(answer)
    return Written(f"rollout-2026-03-02T09-30-00-{SESSION}.jsonl", json_lines(rollout.lines))


def one_after_another(scenario: Scenario) -> Scenario:
    """A call begins when the one before it has ended."""

    def until_open(answer: Answer) -> Answer:
        opened = [at for at, call in enumerate(answer.calls) if call.outcome == "unpaired"]
        return replace(answer, calls=answer.calls[: opened[0] + 1]) if opened else answer

    return changed(scenario, until_open)


def no_open_answers(scenario: Scenario) -> Scenario:
    """An answer is written when all of its calls have ended."""
    return changed(scenario, lambda answer: answer if is_answered(answer) else None)


def exec_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of each answer whose calls have ended; of what was written to a cache nothing."""
    found = [answer.usage for answer in written.answers if is_answered(answer)]
    return {**sums_of(found), "cache_write": None} if found else dict(NOTHING)


POSSIBLE = (
    counts_as("ok", ("error", "denied", "unpaired"), ("plan",)),
    counts_as("error", ("denied",)),
    counts_as("error", ("ok",), ("unknown",)),
    one_after_another,
)
WRITERS = (
    Writer(
        "codex-exec-old",
        write_exec,
        EXEC_VERBS,
        possible=POSSIBLE,
        losses=(no_empty_answers,),
        outputs=(*SHELL, *EDITS, "mcp"),
        finer=True,
        took=lambda call: 7 if call.verb in (*SHELL, "mcp") else None,
        tokens=exec_tokens,
        status=lambda written, told: "unknown",
        later={"id": "0", "msg": {"type": "later", "text": "later"}},
        prompts=1,
        nameless=Nameless("neither ids nor times"),
    ),
    Writer(
        "codex-rollout-old",
        write_rollout,
        ROLLOUT_VERBS,
        possible=POSSIBLE,
        losses=(no_open_answers, no_empty_answers),
        outputs=tuple(verb for verb in ROLLOUT_VERBS if verb != "plan"),
        finer=True,
        tokens=no_tokens,
        status=by_last_answer,
        nameless=Nameless("neither ids nor times"),
    ),
)

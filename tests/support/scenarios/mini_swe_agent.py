"""A scenario as mini-swe-agent 2.4.6 keeps it (`*.traj.json`), one document.

Shapes: recordings of the real program. Its one tool is the shell, so that it reads and searches with commands; the
results of an answer are written together; the run ends with a command that submits.
"""

import json
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.codex import command
from support.scenarios.scenario import Answer, Call, Outcome, Scenario, Usage, Verb, changed, numbered
from support.scenarios.writer import (
    CWD,
    NOTHING,
    STARTED_MS,
    Writer,
    Written,
    counts_as,
    is_answered,
    no_broken_answers,
    results_together,
)

VERBS: tuple[Verb, ...] = ("read", "search", "find", "list", "run")
NOT_EXECUTED = "action was not executed"


def exit_code(call: Call) -> int:
    return call.exit_code if call.exit_code is not None else int(call.outcome != "ok")


def asked(answer: Answer) -> list[Any]:
    return [
        {"function": {"arguments": json.dumps({"command": command(call)}, ensure_ascii=False), "name": "bash"},
         "id": f"call_{call.number}", "type": "function"}
        for call in answer.calls
    ]  # fmt: skip


def usage(used: Usage) -> dict[str, Any]:
    """As LiteLLM tells it; what was written to a cache it does not tell."""
    return {
        "completion_tokens": used.output,
        "prompt_tokens": used.input,
        "total_tokens": used.input + used.output,
        "completion_tokens_details": {"reasoning_tokens": used.reasoning},
        "prompt_tokens_details": {"audio_tokens": None, "cached_tokens": used.cached},
    }


def assistant(answer: Answer, second: int) -> dict[str, Any]:
    told: dict[str, Any] = {"content": answer.text, "role": "assistant", "tool_calls": asked(answer)}
    told["function_call"] = None
    if answer.thinking:
        told["reasoning_content"] = answer.thinking
    choice = {"finish_reason": "tool_calls", "index": 0, "message": dict(told)}
    response = {"id": f"chatcmpl-{answer.number}", "created": second, "model": "pear-2", "object": "chat.completion"}
    actions = [{"command": command(call), "tool_call_id": f"call_{call.number}"} for call in answer.calls]
    response |= {"choices": [choice], "usage": usage(answer.usage)}
    return {**told, "extra": {"actions": actions, "response": response, "cost": 0.001, "timestamp": second + 0.5}}


def result(call: Call, second: int) -> dict[str, Any]:
    """The command that submits is told not to have been executed."""
    ran = call.target != expected.SUBMIT
    code, output = (exit_code(call), call.output) if ran else (-1, "")
    told = {"returncode": code, "output": output, **({} if ran else {"exception_info": NOT_EXECUTED})}
    extra = {"raw_output": output, "returncode": code, "timestamp": second + 0.5}
    extra["exception_info"] = "" if ran else NOT_EXECUTED
    own = f"call_{call.number}"
    return {"content": json.dumps(told, ensure_ascii=False), "extra": extra, "tool_call_id": own, "role": "tool"}


def write(scenario: Scenario) -> Written:
    second = STARTED_MS // 1000
    messages: list[Any] = [{"role": "system", "content": "You are a helpful assistant."}]
    messages.append({"role": "user", "content": scenario.prompts[0].text})
    done = [answer for answer in scenario.answers if answer.whole]
    for answer in done:
        second += 2
        messages.append(assistant(answer, second))
        if is_answered(answer):
            messages += [result(call, second) for call in answer.calls]
    model = {"model_name": "acme/pear-2", "cost_tracking": "default"}
    config = {"agent": {"step_limit": 0}, "model": model, "environment": {"cwd": CWD, "timeout": 30}}
    info = {"model_stats": {"instance_cost": len(done) / 1000, "api_calls": len(done)}, "config": config}
    about = {"mini_version": "2.4.6", "exit_status": "", "submission": ""}
    if scenario.end == "complete":
        submission = scenario.answers[-1].calls[-1].output
        end = {"exit_status": "Submitted", "submission": submission}
        about |= end
        messages.append({"role": "exit", "content": submission, "extra": end})
    document = {"info": {**info, **about}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    return Written("run.traj.json", json.dumps(document, ensure_ascii=False, indent=2).encode())


def submits_last(scenario: Scenario) -> Scenario:
    """The last answer asks for the command that submits; its result and the end of the run come together."""
    outcome: Outcome = "ok" if scenario.end == "complete" else "unpaired"

    def submitting(answer: Answer) -> Answer:
        if not answer.final:
            return answer
        call = Call("run", expected.SUBMIT, "", outcome, answer.text or "diff", 0, 0)
        return replace(answer, calls=(call,))

    return numbered(changed(scenario, submitting))


def steps_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Those of each answer that came whole; of what was written to a cache nothing."""
    found = [answer for answer in written.answers if answer.whole]
    return {**expected.tokens(found), "cache_write": None} if found else dict(NOTHING)


WRITERS = (
    Writer(
        "mini-swe-agent",
        write,
        VERBS,
        possible=(submits_last, counts_as("error", ("denied",))),
        losses=(no_broken_answers, results_together),
        finer=True,
        tokens=steps_tokens,
        append_only=False,
        prompts=1,
        lines=False,
    ),
)

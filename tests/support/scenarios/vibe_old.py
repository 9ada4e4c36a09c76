"""A scenario as Mistral Vibe 2.14 prints it (`vibe -p … --output streaming`) and keeps it, and as 1.0 keeps it.

Shapes: recordings of the real program. Both are chat messages; results stand in the order of their ends, and say in
words alone that their call failed. 1.0 has one document, and no sub-agents. What a resumed session copies is not
written here.
"""

import json
import uuid
from typing import Any

from msgspec.structs import replace

from support.scenarios import expected
from support.scenarios.mixing import STARTED_MS, iso_of
from support.scenarios.scenario import Answer, Call, Scenario, Verb, all_answers, changed_calls
from support.scenarios.writer import (
    ALL,
    CWD,
    NOTHING,
    Loss,
    Writer,
    Written,
    by_last_answer,
    counts_as,
    json_lines,
    no_broken_answers,
    no_inner,
    no_thinking,
    no_tokens,
    takes,
)

SESSION = "4eb95d71-83d6-43e5-8cfb-95a5b202448c"
PROMPT = "You are Mistral Vibe, a CLI coding agent built by Mistral AI."
VERBS: tuple[Verb, ...] = tuple(verb for verb in ALL if verb not in ("find", "list", "mcp"))
FIRST_VERBS: tuple[Verb, ...] = tuple(verb for verb in VERBS if verb not in ("fetch", "delegate"))
MEMBERS = (
    "images", "injected", "reasoning_content", "reasoning_state", "reasoning_signature", "reasoning_message_id",
    "tool_calls", "name", "tool_call_id", "message_id",
)  # fmt: skip


def given(call: Call, first: bool) -> tuple[str, dict[str, Any]]:
    """Vibe's own tool and its arguments; `first` in 1.0."""
    block = f"<<<<<<< SEARCH\na\n=======\n{call.text}\n>>>>>>> REPLACE"
    todo = {"id": "1", "content": call.text, "status": "pending", "priority": "high"}
    told: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read_file", {"path": call.target}) if first else ("read", {"file_path": call.target}),
        "search": ("grep", {"pattern": call.target, "path": "."}),
        "edit": ("edit", {"file_path": call.target, "old_string": "a", "new_string": call.text}),
        "create": ("write_file", {"path": call.target, "content": call.text}),
        "run": ("bash", {"command": call.target}),
        "plan": ("todo", {"action": "write", "todos": [todo]}),
        "fetch": ("web_fetch", {"url": "https://example.org/" + call.target, "prompt": call.text}),
        "delegate": ("task", {"task": call.text, "agent": "explore"}),
    }
    if first and call.verb == "edit":
        return "search_replace", {"file_path": call.target, "content": block}
    return told.get(call.verb, (call.target, {"x": call.text}))


def output(call: Call, first: bool) -> str:
    """What the model is given; failures and refusals in the program's own words."""
    name = given(call, first)[0]
    if call.outcome == "denied" and call.output:
        return f"<tool_error>Tool '{name}' was denied by hook 'h': {call.output}</tool_error>"
    if call.outcome == "denied":
        return "Tool execution not permitted."
    if call.verb == "unknown":
        return f"<tool_error>{name}: Unknown tool '{name}'</tool_error>"
    if call.verb == "run" and call.exit_code:
        code = f"Return code: {call.exit_code}"
        return f"<tool_error>bash failed: Command failed: '{call.target}'\n{code}\nStderr: {call.output}</tool_error>"
    if call.verb == "delegate":
        return f"response: {call.output}\nturns_used: 2\ncompleted: {call.outcome == 'ok'}"
    if call.outcome == "error":
        return f"<tool_error>{name} failed: {call.output}</tool_error>"
    command = "" if first else f"command: {call.target}\n"
    return {
        "read": f"file_path: {call.target}\ncontent:         1→{call.output}\nnum_lines: 1\nwas_truncated: False",
        "search": f"matches: {call.output}\nmatch_count: 1\nwas_truncated: False",
        "run": f"{command}stdout: {call.output}\n\nstderr: \nreturncode: 0",
        "plan": f"message: {call.output}\ntodos: []\ntotal_count: 1",
    }.get(call.verb, f"message: {call.output}")


def messages(answers: list[Answer], first: bool = False) -> list[dict[str, Any]]:
    """Those of answers, with the members that have a value."""
    out: list[dict[str, Any]] = []
    for answer in answers:
        if not answer.whole:
            continue
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if answer.thinking and not first:
            message["reasoning_content"] = answer.thinking
        asked = [
            {"id": own(call), "function": {"name": name, "arguments": json.dumps(arguments)}, "type": "function"}
            for call in answer.calls
            for name, arguments in (given(call, first),)
        ]
        out.append(message | ({"tool_calls": asked} if asked else {}))
        for call in answer.results:
            back = {"role": "tool", "content": output(call, first), "name": given(call, first)[0]}
            out.append({**back, "tool_call_id": own(call)})
    return out


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def own(call: Call) -> str:
    return f"call{call.number:05d}"


def named(found: list[dict[str, Any]], folder: str) -> list[dict[str, Any]]:
    """With what 2.14 says besides: who wrote a message, and its id, which results have none of."""
    ids = (str(uuid.uuid5(uuid.NAMESPACE_OID, f"{folder} {place}")) for place in range(len(found)))
    return [
        {**message, "injected": False, **({} if message["role"] == "tool" else {"message_id": name})}
        for message, name in zip(found, ids, strict=True)
    ]


def write_stream(scenario: Scenario) -> Written:
    first = [{"role": "system", "content": PROMPT}, user(scenario.prompts[0].text)]
    found = named([*first, *messages(scenario.answers)], "stream")
    return Written("stream.jsonl", json_lines([dict.fromkeys(("role", "content", *MEMBERS)) | one for one in found]))


def meta(session: str, answers: list[Answer], first: bool = False) -> dict[str, Any]:
    spent = [Answer("", "", (), answer.usage, True) for answer in answers if answer.whole]
    sums = expected.tokens(spent)
    stats = {"steps": len(spent), "session_prompt_tokens": sums["input"], "session_completion_tokens": sums["output"]}
    config = {"active_model": "mock", "models": [{"name": "mock-model", "provider": "mockp", "alias": "mock"}]}
    about: dict[str, Any] = {
        "session_id": session,
        "start_time": iso_of(STARTED_MS),
        "end_time": iso_of(STARTED_MS + 9000),
    }
    about |= {} if first else {"parent_session_id": None}
    about |= {"git_branch": "main", "environment": {"working_directory": CWD}, "username": "ada"}
    return {**about, "stats": {**stats, "session_cost": 0.0}, "agent_config" if first else "config": config}


def files(folder: str, session: str, asked: list[dict[str, Any]], answers: list[Answer]) -> dict[str, bytes]:
    """What lies in a session's folder but its sub-agents."""
    about = json.dumps(meta(session, answers), indent=2).encode()
    return {f"{folder}/messages.jsonl": json_lines(named(asked, folder)), f"{folder}/meta.json": about}


def write_session(scenario: Scenario) -> Written:
    folder = f"session_20260302_093000_{SESSION[:8]}"
    found: list[dict[str, Any]] = []
    for prompt in scenario.prompts:
        found += [user(prompt.text), *messages(list(prompt.answers))]
    kept = files(folder, SESSION, found, scenario.answers)
    for call in (call for answer in scenario.answers if answer.whole for call in answer.calls if call.inner):
        agent = str(uuid.UUID(int=0xC0FFEE << 100 | call.number))
        place = f"{folder}/agents/explore_20260302_093001_{call.number:08d}"
        task = f"Scratchpad directory: /tmp/x\n\n{call.text}"
        kept |= files(place, agent, [user(task), *messages(list(call.inner))], list(call.inner))
    main = f"{folder}/messages.jsonl"
    return Written(main, kept.pop(main), kept)


def write_document(scenario: Scenario) -> Written:
    found: list[dict[str, Any]] = [{"role": "system", "content": PROMPT}]
    for prompt in scenario.prompts:
        found += [user(prompt.text), *messages(list(prompt.answers), first=True)]
    whole = {"metadata": meta(SESSION, scenario.answers, first=True), "messages": found}
    data = json.dumps(whole, indent=2, ensure_ascii=False).encode()
    return Written(f"session_20260302_093000_{SESSION[:8]}.json", data)


def session_tokens(written: Scenario, told: Scenario) -> dict[str, int | None]:
    """Sums of a session, and of its sub-agents."""
    found = list(all_answers(no_broken_answers(written).answers))
    sums = expected.tokens([Answer("", "", (), answer.usage, True) for answer in found])
    return {**NOTHING, "input": sums["input"], "output": sums["output"]} if found else dict(NOTHING)


def by_the_user(first: bool) -> Loss:
    """A user who refuses gives no reason; hooks do, which are in 2.14 alone."""

    def silent(call: Call) -> Call:
        return replace(call, output="") if call.outcome == "denied" and (first or call.number % 2) else call

    return lambda scenario: changed_calls(scenario, silent)


POSSIBLE = counts_as("error", ("ok", "denied"), ("unknown",))
TELLING: tuple[Verb, ...] = tuple(verb for verb in VERBS if verb != "unknown")
LATER = {"role": "later", "content": "#", "injected": False, "message_id": "later-#"}
WRITERS = (
    Writer(
        "vibe-stream-old",
        write_stream,
        VERBS,
        possible=(POSSIBLE, by_the_user(False)),
        losses=(no_inner, no_broken_answers),
        outputs=TELLING,
        took=takes(None),
        tokens=no_tokens,
        status=by_last_answer,
        prompts=1,
        later=LATER,
        ended=True,
    ),
    Writer(
        "vibe-session-old",
        write_session,
        VERBS,
        possible=(POSSIBLE, by_the_user(False)),
        losses=(no_broken_answers,),
        outputs=TELLING,
        took=takes(None),
        tokens=session_tokens,
        status=by_last_answer,
        later=LATER,
        ended=True,
    ),
    Writer(
        "vibe-session-old",
        write_document,
        FIRST_VERBS,
        name="vibe-session-old-document",
        possible=(POSSIBLE, by_the_user(True)),
        losses=(no_broken_answers, no_thinking),
        outputs=TELLING,
        took=takes(None),
        tokens=session_tokens,
        status=by_last_answer,
        append_only=False,
        lines=False,
    ),
)

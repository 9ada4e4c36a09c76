"""What METRICS.md says of a scenario, worked out from the scenario alone: figures, sequences, tokens, messages.

None of the project's code takes part. What a dialect cannot say is taken out of the scenario beforehand (`losses.py`).
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from support.scenarios.scenario import Answer, Call, Scenario, all_answers

KINDS = {
    "read": "read", "search": "search", "find": "search", "list": "read", "edit": "write", "create": "write",
    "plan": "plan", "fetch": "search", "mcp": "other", "unknown": "other", "delegate": "plan",
}  # fmt: skip
TOOLS = {
    "read": "Read", "search": "Grep", "find": "Glob", "list": "LS", "edit": "Edit", "create": "Write", "run": "Bash",
    "plan": "TodoWrite", "fetch": "WebFetch", "delegate": "Task",
}  # fmt: skip
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
SHELL = {
    SUBMIT: ("execute", "Bash"),
    "make test": ("execute", "Bash"),
    "cat src/app.py": ("read", "Read"),
    "grep -rn needle src": ("search", "Grep"),
    "ls -la": ("read", "LS"),
    "rm -rf build": ("write", "Bash"),
    "sed -i s/a/b/ src/app.py": ("write", "Bash"),
    "cd /home/ada/orchard && python3 -m unittest -q": ("execute", "Bash"),
    "find . -name '*.py'": ("search", "Glob"),
    "cat a.txt | grep b": ("read", "Read"),
    "echo hi > notes.txt": ("write", "Bash"),
    "X=1 cargo build": ("execute", "Bash"),
    "head -n 5 a.txt; rg needle": ("read", "Read"),
    "rg --files": ("search", "Glob"),
    "cp a.txt b.txt": ("write", "Bash"),
    "mkdir -p out": ("write", "Bash"),
    "echo done": ("execute", "Bash"),
    "npm install && rm -rf dist": ("write", "Bash"),
    'grep "a b" x.txt | head -3': ("search", "Grep"),
    "printf 'ä\\n' | tee log.txt": ("write", "Bash"),
}
"""What each command does, and the finer name that it has where the agent has no tool for it but the shell."""


def kind(call: Call) -> str:
    return SHELL[call.target][0] if call.verb == "run" else KINDS[call.verb]


def tool(call: Call, finer: bool) -> str:
    """The canonical name. `finer`: the agent has no tools of its own for reading and searching. The target of an MCP
    call is its tool alone where the log does not name the server."""
    if call.verb == "run":
        return SHELL[call.target][1] if finer else "Bash"
    if call.verb == "mcp":
        return "mcp__" + call.target.replace("/", "__")
    return call.target if call.verb == "unknown" else TOOLS[call.verb]


def is_edit(call: Call) -> bool:
    return call.verb in ("edit", "create")


def figures(scenario: Scenario, finer: bool = False) -> dict[str, Any]:
    """The members of `tool_use_summary` that a scenario without times decides; sums of streams but the main one are
    sorted, because their names are the format's."""
    main = [call for answer in scenario.answers for call in answer.calls]
    answers = list(all_answers(scenario.answers))
    calls = [call for answer in answers for call in answer.calls]
    edits = [(turn, call) for turn, answer in enumerate(scenario.answers, 1) for call in answer.calls if is_edit(call)]
    good = [turn for turn, call in edits if call.outcome == "ok"]
    mcp = [call for call in calls if call.verb == "mcp"]
    servers = Counter(call.target.partition("/")[0] for call in mcp if "/" in call.target)
    failed = Counter(tool(call, finer) for call in calls if call.outcome in ("error", "denied", "cancelled"))
    by_tool = Counter(tool(call, finer) for call in calls)
    return {
        "turns": len(scenario.answers),
        "total_tool_calls": len(calls),
        "by_tool": dict(by_tool),
        "by_kind": dict(Counter(map(kind, calls))),
        "by_outcome": dict(Counter(call.outcome for call in calls)),
        "by_origin": {"mcp": len(mcp), "system": len(calls) - len(mcp)},
        "by_mcp_server": dict(servers),
        "tool_sequence": [tool(call, finer) for call in main],
        "kind_sequence": [kind(call) for call in main],
        "first_edit_turn": edits[0][0] if edits else None,
        "first_successful_edit_turn": good[0] if good else None,
        "first_edit_tool_index": next((at for at, call in enumerate(main) if is_edit(call)), None),
        "shell_edits": sum(call.verb == "run" and kind(call) == "write" for call in calls),
        "errors": {name: failed[name] for name in by_tool},
        "main": (len(scenario.answers), len(main), len(edits)),
        "others": sorted(stream_sums(call.inner) for call in calls if call.inner),
    }


def durations(
    scenario: Scenario, finer: bool, took: Callable[[Call], int | None]
) -> dict[str, tuple[int | None, bool]]:
    """The milliseconds of each tool's calls, and whether any are told: None where the log tells of none."""
    out: dict[str, tuple[int | None, bool]] = {}
    for answer in all_answers(scenario.answers):
        for call in answer.calls:
            name = tool(call, finer)
            known = took(call) if call.outcome != "unpaired" else None
            total, _ = out.get(name, (None, False))
            total = total if known is None else known + (total or 0)
            out[name] = (total, total is not None)
    return out


def stream_sums(answers: tuple[Answer, ...]) -> tuple[int, int, int]:
    """Turns, calls and edits."""
    found = [call for answer in answers for call in answer.calls]
    return len(answers), len(found), sum(map(is_edit, found))


def tokens(answers: list[Answer]) -> dict[str, int]:
    """The sums of these answers and of the sub-agents that they started."""
    found = [answer.usage for answer in all_answers(answers)]
    return {
        "input": sum(usage.input for usage in found),
        "cached": sum(usage.cached for usage in found),
        "cache_write": sum(usage.written for usage in found),
        "output": sum(usage.output for usage in found),
        "reasoning": sum(usage.reasoning for usage in found),
    }


def messages(scenario: Scenario, finer: bool = False) -> list[dict[str, Any]]:
    """The main stream's messages in order."""
    out: list[dict[str, Any]] = []
    for prompt in scenario.prompts:
        if prompt.text:
            out.append({"role": "user", "text": prompt.text})
        out += [message(answer, finer) for answer in prompt.answers]
    return out


def message(answer: Answer, finer: bool) -> dict[str, Any]:
    found = [(tool(call, finer), kind(call), call.outcome) for call in answer.calls]
    return {"role": "assistant", "text": answer.text, "thinking": answer.thinking, "calls": found}


def inner_messages(scenario: Scenario, finer: bool = False) -> list[list[dict[str, Any]]]:
    """The messages of each sub-agent but what it was asked, one list for each that said or did anything."""
    found = [call.inner for answer in all_answers(scenario.answers) for call in answer.calls if call.inner]
    return [[message(answer, finer) for answer in inner] for inner in found]

"""Counts of calls, outcomes and tokens, straight from an agent's file: a few lines for each format, none of them ours.

Each was written from the format's description and from what is counted (docs/metrics.md), not from a decoder, and
imports nothing of the project. Text that repositories changed letter by letter (commands, paths) is not looked at.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

KINDS = ("input", "cached", "cache_write", "output", "reasoning")
Tokens = dict[str, int | None]
SHELL = ("Bash", "Read", "Grep", "Glob", "LS")
"""What a shell call may be called for an agent that has no tools of its own for these."""
TOOLS = {
    "Bash": "bash powershell shell shell_command run_shell_command execute exec_command local_shell container.exec "
    "run_command execute_bash run_in_terminal",
    "Read": "read read_file view readfile fs_read view_file read_many_files",
    "Write": "write write_file create fs_write newfilecreated write_to_file",
    "Edit": "edit replace strreplace apply_patch applypatch str_replace editedexistingfile edit_file patch",
    "MultiEdit": "multiedit",
    "Delete": "delete filedeleted",
    "LS": "ls list list_directory list_dir listfilestoplevel",
    "Glob": "glob find find_by_name",
    "Grep": "grep grep_search search_file_content searchfiles rg semanticsearch",
    "Task": "task agent invoke_subagent subagent",
    "TodoWrite": "todowrite update_plan updatetodos todo_list write_todos todo_write updatetodolist",
    "WebFetch": "webfetch web_fetch fetch",
    "WebSearch": "websearch google_web_search search_web web_search_call",
    "AskUserQuestion": "question askuserquestion askquestion ask_question ask_user request_user_input",
    "ExitPlanMode": "createplan exitspecmode",
    "Skill": "skill activate_skill",
    "BashOutput": "read_bash",
}
CANONICAL = {native: name for name, natives in TOOLS.items() for native in natives.split()}


class Counted(NamedTuple):
    """Calls by canonical name, outcomes that are not `ok`, tokens (null where the log does not say)."""

    calls: dict[str, int]
    outcomes: dict[str, int]
    tokens: Tokens


Calls = dict[str, tuple[str, str]]
"""Id → canonical name, outcome."""


def canonical(name: str, not_its_own: tuple[str, ...] = ()) -> str:
    """The canonical name; names of other agents' tools (in files that programs made up) stay as they are."""
    return name if name in not_its_own else CANONICAL.get(name.lower(), name)


def patch(text: str) -> str:
    """A patch that only adds files writes them."""
    return "Edit" if re.search(r"\*\*\* (Update|Delete) File", text) else "Write"


def counted(calls: Calls, used: Tokens | None = None, shell: bool = False) -> Counted:
    names = Counter("shell" if shell and name in SHELL else name for name, _ in calls.values())
    failed = Counter(outcome for _, outcome in calls.values() if outcome != "ok")
    return Counted(dict(names), dict(failed), {kind: (used or {}).get(kind) for kind in KINDS})


def at(value: Any, *keys: str) -> Any:
    """What stands below these keys; None where one is missing."""
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value


def each(value: Any, *keys: str) -> list[Any]:
    """The elements of a list below these keys; none where it is missing or something else."""
    found = at(value, *keys)
    return found if isinstance(found, list) else []  # pyright: ignore[reportUnknownVariableType] - decoded JSON


def objects(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file of lines; what a wrapper printed before them, and lines that are broken, left out."""
    found: list[dict[str, Any]] = []
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(cast("dict[str, Any]", value))
    return found


def added(figures: list[Tokens]) -> Tokens | None:
    """The sum of the model calls' figures, null where none of them says."""
    if not figures:
        return None
    return {kind: _sum([one.get(kind) for one in figures], kind in ("input", "output")) for kind in KINDS}


def _sum(values: list[int | None], whole: bool) -> int | None:
    """The sum; of input and output (`whole`), null when a call does not say."""
    known = [value for value in values if value is not None]
    return sum(known) if known and (len(known) == len(values) or not whole) else None


# --- agents that were read before


def acp(path: Path) -> Counted:
    """A call is whatever is announced or reported on (a request for permission alone is none), a plan the todo tool.

    Gemini's ids begin with the tool's name, others have it in the title or say the kind. A diff without an old text is
    a new file.
    """
    calls: Calls = {}
    used: list[Tokens] = []
    names: dict[str, str] = {}
    for row, line in enumerate(objects(path)):
        asked = at(line, "params", "toolCall")
        update: dict[str, Any] = at(line, "params", "update") or asked or {}
        if usage := at(line, "result", "usage"):
            used.append({"input": usage["inputTokens"], "output": usage["outputTokens"]})
        if update.get("sessionUpdate") == "plan":
            calls[f"plan {row}"] = ("TodoWrite", "ok")
        if "toolCallId" not in update:
            continue
        name, text = update["toolCallId"], json.dumps(update)
        kind = {"execute": "Bash", "read": "Read", "edit": "Edit"}.get(update.get("kind") or "", "")
        kind = "Write" if kind == "Edit" and '"oldText": null' in text else kind
        names.setdefault(name, CANONICAL.get(name.rpartition("-")[0]) or kind or canonical(update.get("title") or ""))
        outcome = {"failed": "error", "completed": "ok"}.get(update.get("status") or "", "unpaired")
        if names[name] == "Bash" and re.search(r"exit[ _]code:? [1-9]", text, re.IGNORECASE):
            outcome = "error"
        if not asked:
            calls[name] = (names[name], outcome)
    return counted(calls, added(used))


def codex_old(path: Path) -> Counted:
    """Bare response items: calls by id, the exit code within the output, no tokens."""
    calls: Calls = {}
    for item in objects(path):
        if item.get("type") == "function_call":
            asked = item["arguments"]
            name = patch(asked) if "*** Begin Patch" in asked else canonical(item["name"])
            calls[item["call_id"]] = (name, "unpaired")
        elif item.get("type") == "function_call_output":
            failed = re.search(r'"exit_code":[1-9]', item["output"])
            calls[item["call_id"]] = (calls[item["call_id"]][0], "error" if failed else "ok")
    return counted(calls, shell=True)


def copilot(path: Path) -> Counted:
    calls: Calls = {}
    records: list[Tokens] = []
    answers: list[Tokens] = []
    for line in objects(path):
        data: dict[str, Any] = line.get("data") or {}
        for request in each(data, "toolRequests"):
            calls.setdefault(request["toolCallId"], (canonical(request["name"], ("read_file",)), "unpaired"))
        if line["type"] == "tool.execution_complete":
            text = str(at(data, "result", "content"))
            outcome = "ok" if data["success"] else "denied" if at(data, "error", "code") == "denied" else "error"
            if re.search(r"with exit code [1-9]\d*>$", text):
                outcome = "error"
            name = data["toolCallId"]
            calls[name] = (calls[name][0] if name in calls else "", outcome)
        if line["type"] == "session.shutdown":
            for model in data["modelMetrics"].values():
                usage = model.get("usage")
                if usage:
                    records.append({
                        "input": usage["inputTokens"], "cached": usage["cacheReadTokens"],
                        "cache_write": usage["cacheWriteTokens"], "output": usage["outputTokens"],
                        "reasoning": usage["reasoningTokens"],
                    })  # fmt: skip
        if line["type"] == "assistant.message" and data.get("outputTokens"):
            answers.append({"output": data["outputTokens"]})
    return counted(calls, added(records or answers))


def cursor_stream(path: Path) -> Counted:
    calls: Calls = {}
    used: dict[str, Tokens] = {}  # by request: a log that a wrapper prints twice is one run
    for line in objects(path):
        if line.get("type") == "tool_call":
            ((key, call),) = line["tool_call"].items()
            native: str = key.removesuffix("ToolCall")
            result: dict[str, Any] | None = call.get("result")
            done = "unpaired" if result is None else "ok" if "success" in result else "error"
            done = "ok" if line["subtype"] == "completed" and result is None else done
            calls[line["call_id"]] = (canonical(native), done)
        elif line.get("type") == "result" and "usage" in line:
            usage = line["usage"]
            cached, written = usage["cacheReadTokens"], usage["cacheWriteTokens"]
            used[line["request_id"]] = {"input": usage["inputTokens"] + cached + written, "cached": cached,
                                        "cache_write": written, "output": usage["outputTokens"]}  # fmt: skip
    return counted(calls, added(list(used.values())))


def cursor_transcript(path: Path) -> Counted:
    """Blocks; most calls have neither an id nor a result."""
    calls: Calls = {}
    for line in objects(path):
        for block in each(line, "message", "content"):
            if block["type"] == "tool_use":
                calls[block.get("id") or f"call {len(calls)}"] = (canonical(block["name"]), "unpaired")
            elif block["type"] == "tool_result" and block["tool_use_id"] in calls:
                name = calls[block["tool_use_id"]][0]
                calls[block["tool_use_id"]] = (name, "error" if block.get("is_error") else "ok")
    return counted(calls)


def gemini_chat(path: Path) -> Counted:
    """Messages by id, the last of each."""
    values = [json.loads(path.read_bytes())] if path.suffix == ".json" else objects(path)
    messages: dict[str, dict[str, Any]] = {}
    for value in values:
        for message in each(value, "messages") or each(value, "$set", "messages") or [value]:
            if "id" in message:
                messages[message["id"]] = message
    calls: Calls = {}
    used: list[Tokens] = []
    ends = {"success": "ok", "error": "error", "cancelled": "cancelled"}
    for message in messages.values():
        for call in each(message, "toolCalls"):
            done = ends.get(call.get("status"), "unpaired")
            denied = done == "cancelled" and "User denied" in json.dumps(call["result"])
            calls[call["id"]] = (canonical(call["name"], ("run_command",)), "denied" if denied else done)
        given: dict[str, int] = message.get("tokens") or {}
        if any(given.values()):
            used.append({"input": given.get("input"), "cached": given.get("cached", 0),
                         "output": given["output"] + given.get("thoughts", 0),
                         "reasoning": given.get("thoughts", 0)})  # fmt: skip
    return counted(calls, added(used))


def gemini_stream(path: Path) -> Counted:
    calls: Calls = {}
    used: Tokens | None = None
    for line in objects(path):
        if line["type"] == "tool_use":
            calls[line["tool_id"]] = (canonical(line["tool_name"]), "unpaired")
        elif line["type"] == "tool_result":
            calls[line["tool_id"]] = (calls[line["tool_id"]][0], "ok" if line["status"] == "success" else "error")
        elif line["type"] == "result":
            stats = line["stats"]
            thoughts = stats["total_tokens"] - stats["input_tokens"] - stats["output_tokens"]
            used = {"input": stats["input_tokens"], "cached": stats["cached"], "reasoning": thoughts,
                    "output": stats["output_tokens"] + thoughts}  # fmt: skip
    return counted(calls, used)


def members(value: Any) -> Iterator[dict[str, Any]]:
    """Every object within a value."""
    if isinstance(value, dict):
        inside = cast("dict[str, Any]", value)
        yield inside
        for inner in inside.values():
            yield from members(inner)
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType] - decoded JSON
            yield from members(inner)


def opencode(path: Path) -> Counted:
    """Parts by id, wherever they stand; the figures of finished steps, else those of messages."""
    calls: Calls = {}
    steps: list[Tokens] = []
    answers: list[Tokens] = []
    for value in members(json.loads(path.read_bytes()) if path.suffix == ".json" else objects(path)):
        if value.get("type") == "tool" and "state" in value:
            state, tool = value["state"], value["tool"]
            server, _, rest = tool.partition("_")
            name = f"mcp__{server}__{rest}" if server in ("context7", "exa", "zread") else canonical(tool)
            name = patch(state["input"]["patchText"]) if tool == "apply_patch" else name
            failed = state["status"] == "error" or bool(at(state, "metadata", "exit"))
            done = "error" if failed else "ok" if state["status"] == "completed" else "unpaired"
            calls[value["callID"]] = (name, done)
        if isinstance(value.get("tokens"), dict):
            tokens: dict[str, Any] = value["tokens"]
            read, written = tokens["cache"]["read"], tokens["cache"]["write"]
            figures = steps if value.get("type") == "step-finish" else answers
            figures.append({"input": tokens["input"] + read + written, "cached": read, "cache_write": written,
                            "output": tokens["output"] + tokens["reasoning"],
                            "reasoning": tokens["reasoning"]})  # fmt: skip
    return counted(calls, added(steps or answers))


def pi(path: Path) -> Counted:
    """Messages that ended; every billed answer counts, on an abandoned branch also."""
    calls: Calls = {}
    used: list[Tokens] = []
    for line in objects(path):
        message: Any = line.get("message")
        if line.get("type") not in ("message", "message_end", None) or not isinstance(message, dict):
            continue
        message = cast("dict[str, Any]", message)
        if message.get("role") == "assistant":
            broken = message["stopReason"] in ("error", "aborted")  # its calls are never run
            for block in message["content"]:
                if block["type"] == "toolCall" and "partialJson" not in block:
                    calls[block["id"]] = (canonical(block["name"]), "cancelled" if broken else "unpaired")
            usage = message["usage"]
            read, written = usage["cacheRead"], usage["cacheWrite"]
            if usage["input"] + usage["output"] + read + written:
                used.append({"input": usage["input"] + read + written, "cached": read, "cache_write": written,
                             "output": usage["output"], "reasoning": usage.get("reasoning")})  # fmt: skip
        elif message.get("role") == "toolResult":
            name = calls[message["toolCallId"]][0]
            calls[message["toolCallId"]] = (name, "error" if message["isError"] else "ok")
    return counted(calls, added(used))


def qwen_session(path: Path) -> Counted:
    """`candidatesTokenCount` holds the thoughts: with the prompt it is the total."""
    calls: Calls = {}
    used: list[Tokens] = []
    for line in objects(path):
        for part in each(line, "message", "parts"):
            if call := part.get("functionCall"):
                calls[call["id"]] = (canonical(call["name"]), "unpaired")
            elif answer := part.get("functionResponse"):
                status = at(line, "toolCallResult", "status")
                calls[answer["id"]] = (calls[answer["id"]][0], "ok" if status in ("success", None) else "error")
        if usage := line.get("usageMetadata"):
            used.append({"input": usage["promptTokenCount"], "output": usage["candidatesTokenCount"],
                         "cached": usage.get("cachedContentTokenCount"),
                         "reasoning": usage.get("thoughtsTokenCount")})  # fmt: skip
    return counted(calls, added(used))


def vscode(path: Path) -> Counted:
    document = json.loads(path.read_bytes())
    made = [part for request in document["requests"] for part in each(request, "response")
            if part.get("kind") == "toolInvocationSerialized"]  # fmt: skip
    return counted({part["toolCallId"]: (canonical(part["toolId"]), "ok") for part in made})

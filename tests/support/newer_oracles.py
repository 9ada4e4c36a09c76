"""Counts for the agents that were added later, and for spans; see `support.oracles`."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from support.oracles import Calls, Counted, Tokens, added, at, canonical, counted, each, objects, patch


def amp_stream(path: Path) -> Counted:
    """An answer's usage is that of its call; cached tokens are beside the input."""
    used: list[Tokens] = []
    for line in objects(path):
        if line["type"] == "assistant":
            usage = line["message"]["usage"]
            read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
            used.append({"input": usage["input_tokens"] + read + written, "cached": read, "cache_write": written,
                         "output": usage["output_tokens"]})  # fmt: skip
    return counted(blocks(objects(path)), added(used))


def blocks(messages: list[dict[str, Any]]) -> Calls:
    """Calls of messages with Anthropic's blocks."""
    calls: Calls = {}
    for line in messages:
        for block in each(line.get("message") or line, "content"):
            if block["type"] == "tool_use":
                calls[block.get("id") or f"call {len(calls)}"] = (canonical(block["name"]), "unpaired")
            elif block["type"] == "tool_result":
                name = block.get("tool_use_id") or block["toolUseID"]
                failed = block.get("is_error") or at(block, "run", "status") == "error"
                calls[name] = (calls[name][0], "error" if failed else "ok")
    return calls


def amp_thread(path: Path) -> Counted:
    return counted(blocks(json.loads(path.read_bytes())["messages"]))


def antigravity_stream(path: Path) -> Counted:
    """A step is a call; without output and error, of a kind that the result says was denied, it was denied."""
    steps: dict[int, dict[str, Any]] = {}
    used: list[Tokens] = []
    denied: set[str] = set()
    last: dict[str, Any] = {}
    for line in objects(path):
        step: dict[str, Any] = line.get("step_update") or {}
        if step.get("step_type") == "tool":
            steps[step["step_index"]] = step
        if usage := step.get("usage"):
            used.append(antigravity_tokens(usage))
        if line["event"] == "result":
            denied |= {action["action"] for action in each(line, "result", "denied_actions")}
            last = line["result"]["usage"]
    calls: Calls = {}
    for index, step in steps.items():
        info = step["tool_info"]
        silent = "output" not in info and "error" not in info
        refused = silent and step["tool_name"] == "run_command" and "command" in denied
        failed = step["state"] == "ERROR" or "error" in info
        calls[str(index)] = (canonical(step["tool_name"]), "denied" if refused else "error" if failed else "ok")
    if not used and last["total_tokens"]:  # a stream whose beginning is missing
        used = [antigravity_tokens(last)]
    return counted(calls, added(used))


def antigravity_tokens(usage: dict[str, int]) -> Tokens:
    return {"input": usage["input_tokens"] + usage["cache_read_tokens"], "cached": usage["cache_read_tokens"],
            "output": usage["output_tokens"], "reasoning": usage["thinking_tokens"]}  # fmt: skip


def antigravity_transcript(path: Path) -> Counted:
    """The next results behind an answer are those of its calls, in order."""
    calls: Calls = {}
    waiting: list[str] = []
    for line in objects(path):
        if line["type"] == "PLANNER_RESPONSE":
            for call in each(line, "tool_calls"):
                name = f"{line['step_index']}:{len(calls)}"
                calls[name] = (canonical(call["name"]), "unpaired")
                waiting.append(name)
        elif line["type"] in ("RUN_COMMAND", "INVOKE_SUBAGENT") and waiting:
            failed = line["status"] == "ERROR" or re.search(r"failed with exit code: [1-9]", line["content"])
            name = waiting.pop(0)
            calls[name] = (calls[name][0], "error" if failed else "ok")
    return counted(calls)


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message, by the public rules of the encoding."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
        elif tag & 7 == 2:
            size = number()
            at += size
            yield tag >> 3, data[at - size : at]
        else:
            at += 8 if tag & 7 == 1 else 4


def rows(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        return connection.execute(query).fetchall()


def antigravity_database(path: Path) -> Counted:
    """Field 5 of a step is its metadata: 4 in it the call that it answers, 9 the usage. 20 is an answer, with calls."""
    calls: Calls = {}
    used: list[Tokens] = []
    for kind, status, payload in rows(path, "SELECT step_type, status, step_payload FROM steps ORDER BY idx"):
        step = dict(fields(payload))
        metadata = dict(fields(step.get(5, b"")))
        if kind == 15:
            for number, value in fields(step[20]):
                if number == 7:
                    call = dict(fields(value))
                    calls[call[1].decode()] = (canonical(call[2].decode()), "unpaired")
        elif 4 in metadata:
            name = dict(fields(metadata[4]))[1].decode()
            code = dict(fields(step.get(28, b""))).get(6)
            calls[name] = (calls[name][0], "error" if code or status == 7 else "ok")
        if 9 in metadata:
            usage = dict(fields(metadata[9]))
            cached, written = usage.get(5, 0), usage.get(4, 0)  # the encoding leaves out zeros
            used.append({"input": usage.get(2, 0) + cached + written, "cached": cached, "cache_write": written,
                         "output": usage[3], "reasoning": usage.get(9, 0)})  # fmt: skip
    return counted(calls, added(used))


def cline_task(path: Path) -> Counted:
    """An entry is a call and its result; an error behind it is its failure."""
    calls: Calls = {}
    used: list[Tokens] = []
    last = ""
    for number, entry in enumerate(json.loads(path.read_bytes())):
        kind = entry.get("say") or entry.get("ask")
        if kind in ("tool", "command"):
            last = str(number)
            calls[last] = ("Bash" if kind == "command" else canonical(json.loads(entry["text"])["tool"]), "ok")
        elif kind in ("error", "diff_error") and last:
            calls[last] = (calls[last][0], "error")
        elif kind == "api_req_started":
            request = json.loads(entry["text"])
            read, written = request["cacheReads"], request["cacheWrites"]
            used.append({"input": request["tokensIn"] + read + written, "cached": read, "cache_write": written,
                         "output": request["tokensOut"]})  # fmt: skip
    return counted(calls, added(used))


def crush(path: Path) -> Counted:
    """Parts of messages; the tokens of a session are those of its last call, so there is no total."""
    calls: Calls = {}
    for (text,) in rows(path, "SELECT parts FROM messages ORDER BY created_at, rowid"):
        for part in json.loads(text):
            data = part["data"]
            if part["type"] == "tool_call":
                calls[data["id"]] = (canonical(data["name"]), "unpaired")
            elif part["type"] == "tool_result":
                failed = data["is_error"] or re.search(r"Exit code [1-9]\d*\s*$", data["content"])
                calls[data["tool_call_id"]] = (calls[data["tool_call_id"]][0], "error" if failed else "ok")
    return counted(calls)


def droid_stream(path: Path) -> Counted:
    """A result without an id is that of the oldest open call."""
    calls: Calls = {}
    used: list[Tokens] = []
    lines = objects(path)
    refused = any(line["type"] == "error" for line in lines) and not any(line["type"] == "completion" for line in lines)
    for line in lines:
        if line["type"] == "tool_call":
            name = line["toolName"]
            known = patch(line["parameters"]["input"]) if name == "ApplyPatch" else canonical(name)
            calls[line["id"]] = (known, "unpaired")
        elif line["type"] == "tool_result":
            key = line.get("id") or next(key for key, call in calls.items() if call[1] == "unpaired")
            failed = "denied" if refused and line is _last_result(lines) else "error"
            calls[key] = (calls[key][0], failed if line["isError"] else "ok")
        elif usage := line.get("usage"):
            read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
            used.append({"input": usage["input_tokens"] + read + written, "cached": read, "cache_write": written,
                         "output": usage["output_tokens"]})  # fmt: skip
    return counted(calls, added(used))


def _last_result(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return [line for line in lines if line["type"] == "tool_result"][-1]


def droid_session(path: Path) -> Counted:
    return counted(blocks([line for line in objects(path) if line["type"] == "message"]))


def kiro_session(path: Path) -> Counted:
    """Content parts; a failed shell command is a success with an exit status."""
    calls: Calls = {}
    for line in objects(path) if path.suffix == ".jsonl" else ():
        for part in each(line, "data", "content"):
            data = part["data"]
            if part["kind"] == "toolUse":
                calls[data["toolUseId"]] = (canonical(data["name"]), "unpaired")
            elif part["kind"] == "toolResult":
                failed = data["status"] == "error" or re.search(r'"exit status: [1-9]', json.dumps(data["content"]))
                calls[data["toolUseId"]] = (calls[data["toolUseId"]][0], "error" if failed else "ok")
    return counted(calls)


def kiro_conversation(path: Path) -> Counted:
    """An element's results stand in the next one."""
    calls: Calls = {}
    for element in json.loads(path.read_bytes())["history"]:
        for result in each(element, "user", "content", "ToolUseResults", "tool_use_results"):
            name = result["tool_use_id"]
            calls[name] = (calls[name][0], "ok" if result["status"] == "Success" else "error")
        for use in each(element, "assistant", "ToolUse", "tool_uses"):
            calls[use["id"]] = (canonical(use["name"]), "unpaired")
    return counted(calls)


SWE = {
    "open": "Read", "goto": "Read", "scroll_up": "Read", "scroll_down": "Read", "create": "Write", "edit": "Edit",
    "insert": "Edit", "search_file": "Grep", "search_dir": "Grep", "find_file": "Glob", "submit": "submit",
}  # fmt: skip


def swe_agent(path: Path) -> Counted:
    """A step is a call and its result; there are no exit codes, and tokens of the whole run only."""
    document = json.loads(path.read_bytes())
    steps = document.get("trajectory") or [entry for entry in document["history"] if entry["role"] == "assistant"]
    words = [step["action"].split()[0] for step in steps]
    stats: dict[str, Any] = at(document, "info", "model_stats") or {}
    used: Tokens = {"input": stats.get("tokens_sent") or None, "output": stats.get("tokens_received") or None}
    return counted({str(n): (SWE.get(word, "Bash"), "ok") for n, word in enumerate(words)}, used)


def spans(path: Path) -> Counted:
    """Tool spans and model spans; a model call without figures adds none. ADK has each call in several spans."""
    documents = [json.loads(path.read_bytes())] if path.suffix == ".json" else objects(path)
    calls: Calls = {}
    used: list[Tokens] = []
    cached: int | None = None
    for document in documents:
        for resource in document.get("resourceSpans") or document["batches"]:
            for scope in resource.get("scopeSpans") or resource["instrumentationLibrarySpans"]:
                for span in scope["spans"]:
                    said: dict[str, Any] = {a["key"]: next(iter(a["value"].values()), None) for a in span["attributes"]}
                    operation = said.get("gen_ai.operation.name") or said.get("openinference.span.kind")
                    if operation in ("execute_tool", "TOOL"):
                        name = said.get("gen_ai.tool.name") or said["tool.name"]
                        failed = span["status"].get("code") in (2, "STATUS_CODE_ERROR")
                        calls[span["spanId"]] = (name, "error" if failed else "ok")
                    given = said.get("gen_ai.usage.input_tokens") or said.get("llm.token_count.prompt")
                    made = said.get("gen_ai.usage.output_tokens") or said.get("llm.token_count.completion")
                    if operation in ("chat", "generate_content", "LLM") and given is not None and made is not None:
                        used.append({"input": int(given), "output": int(made)})
                    if (read := said.get("gen_ai.usage.cache_read_input_tokens")) is not None:
                        cached = (cached or 0) + int(read)
    total = added(used)
    return counted(calls, None if total is None else {**total, "cached": cached})

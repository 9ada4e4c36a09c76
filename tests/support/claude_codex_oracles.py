"""Counts for Claude's and Codex's logs; see `support.oracles`."""

import json
import re
from pathlib import Path
from typing import Any, cast

from support.oracles import Calls, Counted, Tokens, added, canonical, counted, each, objects, patch


def claude(path: Path) -> Counted:
    """Blocks by id; an answer (the pieces with one id and one input) is used once, with its largest output.

    What a run's last result says by model is its total; otherwise it says what the main thread wrote. Without either,
    outputs may be placeholders: lower bounds.
    """
    lines = json.loads(path.read_bytes()) if path.suffix == ".json" else objects(path)
    calls: Calls = {}
    answers: dict[Any, Tokens] = {}
    runs: dict[str, Tokens] = {}
    written: dict[Any, int] = {}
    for row, line in enumerate(lines):
        message: Any = line.get("message")
        if line.get("type") == "result" and line.get("modelUsage"):
            runs[line["session_id"]] = added([model_usage(model) for model in line["modelUsage"].values()]) or {}
        elif line.get("type") == "result" and line.get("usage"):
            written[line["session_id"], None] = line["usage"]["output_tokens"]
        if not isinstance(message, dict) or line.get("type") not in ("assistant", "user"):
            continue
        message = cast("dict[str, Any]", message)
        blocks: list[dict[str, Any]] = [block for block in each(message, "content") if isinstance(block, dict)]
        for block in blocks:
            if block["type"] == "tool_use":
                name = block["name"]
                calls.setdefault(block["id"], ("Task" if name == "Agent" else name, "unpaired"))
            elif block["type"] == "tool_result" and block["tool_use_id"] in calls:
                name = calls[block["tool_use_id"]][0]
                calls[block["tool_use_id"]] = (name, "failed" if block.get("is_error") else "ok")
        usage = message.get("usage")
        if usage and message.get("model") != "<synthetic>":
            figures = message_usage(usage)
            key = (line.get("session_id"), line.get("parent_tool_use_id"), message.get("id", row), figures["input"])
            if key not in answers or (figures["output"] or 0) > (answers[key]["output"] or 0):
                answers[key] = figures
    for thread, output in written.items():
        own = [one for key, one in answers.items() if key[:2] == thread]
        if own and output > sum(one["output"] or 0 for one in own):
            for one in own:
                one["output"] = 0
            own[-1]["output"] = output
    return counted(calls, added([*runs.values(), *(one for key, one in answers.items() if key[0] not in runs)]))


def message_usage(usage: dict[str, Any]) -> Tokens:
    read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    return {"input": usage["input_tokens"] + (read or 0) + (written or 0), "cached": read, "cache_write": written,
            "output": usage["output_tokens"]}  # fmt: skip


def model_usage(model: dict[str, Any]) -> Tokens:
    read, written = model["cacheReadInputTokens"], model["cacheCreationInputTokens"]
    return {"input": model["inputTokens"] + read + written, "cached": read, "cache_write": written,
            "output": model["outputTokens"]}  # fmt: skip


def codex_exec(path: Path) -> Counted:
    """Items by id, the last snapshot of each; the figures of a turn are those of the thread so far.

    Each change of the todo list is a call.
    """
    items: dict[str, dict[str, Any]] = {}
    used: Tokens | None = None
    for line in objects(path):
        if line["type"].startswith("item."):
            item = line["item"]
            changed = item["type"] == "todo_list" and line["type"] != "item.completed"
            items[f"{item['id']} {len(items)}" if changed else item["id"]] = item
        elif line["type"] == "turn.completed":
            usage = line["usage"]
            used = {"input": usage["input_tokens"], "cached": usage["cached_input_tokens"],
                    "output": usage["output_tokens"], "reasoning": usage.get("reasoning_output_tokens")}  # fmt: skip
    calls: Calls = {}
    ends = {"completed": "ok", "failed": "error", "declined": "denied", "in_progress": "unpaired"}
    for name, item in items.items():
        done = ends.get(item.get("status", "completed"), "")
        if item["type"] == "command_execution":
            failed = item["exit_code"] not in (0, None)
            calls[name] = ("Bash", "error" if failed else done)
        elif item["type"] == "file_change":
            new = all(change["kind"] == "add" for change in item["changes"])
            calls[name] = ("Write" if new else "Edit", done)
        elif item["type"] == "mcp_tool_call":
            calls[name] = (f"mcp__{item['server']}__{item['tool']}", done)
        elif item["type"] == "web_search":
            calls[name] = ("WebSearch", "ok")
        elif item["type"] == "todo_list" and " " in name:
            calls[name] = ("TodoWrite", "ok")
    return counted(calls, used, shell=True)


FAILED = re.compile(r'"exit_code":[1-9]|\A(?:Chunk.*\n)?(?:Wall.*\n)?(?:Exit code:|Process exited with code) [1-9]')


def codex_rollout(path: Path) -> Counted:
    """Response items by `call_id`; the figures are cumulative, so the last ones are the total unless they restart."""
    calls: Calls = {}
    totals: list[Tokens] = []
    last: dict[str, int] = {}
    ended: set[str] = set()
    for line in objects(path):
        payload: dict[str, Any] = line.get("payload") or {}
        kind = payload.get("type")
        if kind in ("function_call", "custom_tool_call"):
            asked = payload.get("arguments") or payload.get("input") or ""
            native = payload["name"]
            name = patch(asked) if "*** Begin Patch" in asked else canonical(native)
            calls.setdefault(payload["call_id"], (name, "unpaired"))
        elif kind in ("function_call_output", "custom_tool_call_output") and payload["call_id"] in calls:
            output = payload["output"]
            failed = FAILED.search(output if isinstance(output, str) else json.dumps(output))
            calls[payload["call_id"]] = (calls[payload["call_id"]][0], "error" if failed else "ok")
        elif kind == "exec_command_end" and payload["exit_code"]:  # of a command that went on behind its first output
            ended.add(payload["call_id"])
        elif kind == "web_search_call":
            calls[f"search {len(calls)}"] = ("WebSearch", "ok")
        elif kind == "token_count" and payload.get("info"):
            figures = payload["info"]["total_token_usage"]
            if last and figures["total_tokens"] < last["total_tokens"]:
                totals.append(rollout_usage(last))
            last = figures
    if last:
        totals.append(rollout_usage(last))
    calls |= {name: (calls[name][0], "error") for name in ended & calls.keys()}
    return counted(calls, added(totals), shell=True)


def rollout_usage(usage: dict[str, int]) -> Tokens:
    return {"input": usage["input_tokens"], "cached": usage["cached_input_tokens"],
            "cache_write": usage.get("cache_write_input_tokens"), "output": usage["output_tokens"],
            "reasoning": usage["reasoning_output_tokens"]}  # fmt: skip

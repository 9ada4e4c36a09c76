"""A scenario as users of Claude's Agent SDK for Python write it, with `json.dumps(asdict(message))`.

Shapes: claude-agent-sdk 0.2.189, which makes its dataclasses of the lines that Claude Code prints.
"""

from dataclasses import replace
from typing import Any

from support.scenarios import claude
from support.scenarios.scenario import Scenario
from support.scenarios.writer import Nameless, Written, json_lines


def dumped(line: dict[str, Any]) -> dict[str, Any]:
    kind = line["type"]
    if kind == "system":
        return {"subtype": line["subtype"], "data": line}
    if kind == "stream_event":
        return {name: line[name] for name in ("uuid", "session_id", "event", "parent_tool_use_id")}
    if kind == "result":
        own = {name: value for name, value in line.items() if name not in ("type", "modelUsage")}
        return own | {"model_usage": line["modelUsage"], "structured_output": None}
    message = line["message"]
    content = [{name: value for name, value in block.items() if name != "type"} for block in message["content"]]
    if kind == "user":
        own = {"content": content, "uuid": line["uuid"], "parent_tool_use_id": line["parent_tool_use_id"]}
        return own | {"tool_use_result": line.get("tool_use_result"), "origin": None}
    return {
        "content": content, "model": message["model"], "parent_tool_use_id": line["parent_tool_use_id"],
        "error": None, "usage": message["usage"], "message_id": message["id"], "stop_reason": None,
        "session_id": line["session_id"], "uuid": line["uuid"],
    }  # fmt: skip


def write_sdk(scenario: Scenario) -> Written:
    stream = claude.Stream(scenario.mixed)
    for prompt in scenario.prompts:
        stream.prompt(prompt, prompt is scenario.prompts[-1], scenario.end)
    return Written("sdk.jsonl", json_lines([dumped(line) for line in stream.lines]))


(_STREAM,) = claude.WRITERS
WRITERS = (
    replace(
        _STREAM,
        dialect="claude-sdk",
        write=write_sdk,
        nameless=Nameless("pieces of a block are not looked at one by one", lambda record: "event" in record),
    ),
)

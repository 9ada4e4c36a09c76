"""Reads from the text of a tool's output how the call ended, and how outputs are stored.

In: the `output` member of a response item: a string, a list of content parts, an object; a list of byte values in the
oldest streams. Out: the output to keep, the outcome and the exit code; None where the text does not show them.
Source: the dialects of Codex 0.27 to 0.171 (formats.md 4.4). Only beginnings that Codex itself writes are considered.
"""

import re

import msgspec
from msgspec import Raw, Struct

from agentv_stages.model.event import Outcome
from agentv_stages.model.payload import ABSENT, decode_json, has_value, join_strings, text_of, to_raw
from agentv_stages.model.times import whole_ms
from agentv_stages.providers.codex.wire import Item, decode_wrapped, first, parts_of, word

HEAD = 600
_EXIT = re.compile(
    r"\A(?:Chunk ID:[^\n]*\n|Wall time:[^\n]*\n|Output:\n)*(?:Process exited with code|Exit code:) (-?\d+)"
)
_RUNNING = re.compile(r"\A(?:Chunk ID:[^\n]*\n|Wall time:[^\n]*\n)*Process running with session ID")
_ABORTED = re.compile(r"\A(?:Chunk ID:[^\n]*\n|Wall time:[^\n]*\n)*(?:command )?aborted by user")
_DENIED = re.compile(
    r"\A(?:exec|patch|apply_patch|shell|command)[^\n]{0,300}?"
    r"\b(?:rejected|denied|declined) by (?:user|the user|policy|guardian)"
    r"|\A(?:Command|Tool call) blocked by PreToolUse hook"
    r"|\Awriting [^\n]{0,300}?; rejected by user"
    r"|\A(?:approval required by policy|user (?:rejected|cancelled) MCP tool call|rejected by user)"
    r"|\AThis action was rejected due to"
    r"|\A`.{1,500}?` rejected: ",
    re.DOTALL,
)
_BY_POLICY = (b"` rejected: ", b"approval required by policy")
_MCP_REFUSED = re.compile(rb"\buser (?:rejected|cancelled) MCP tool call")
_SCRIPT_ERROR = re.compile(rb'"Script error:\\n((?:[^"\\]|\\.)*+)"', re.DOTALL)
_ERROR = re.compile(
    r"\A(?:unsupported (?:custom tool )?call: |failed to parse (?:function|exec|apply_patch)|"
    r"apply_patch verification failed|exec_command failed|execution error|"
    r"(?:write_stdin|view_image|tool call|MCP tool call) (?:failed|error)|failed in sandbox|sandbox error|"
    r"unknown (?:session id|agent_type) |invalid agent id |"
    r"command timed out|unable to locate |Failed to (?:apply patch|create unified exec)|Fatal error|collab \w+ failed)"
)
_COMMAND = b'"Command: '
_SCRIPT_RUNS = "Script running with cell ID"
_FIRST_LETTERS = frozenset("COPTWEacepsufwvmtirMUF`")  # first letters of the texts that the expressions match
_FIRST_JSON_LETTERS = frozenset(letter.encode() for letter in _FIRST_LETTERS | {"S", "\\", '"'})  # as in JSON
_FIRST_PART = re.compile(rb'\[\{"type":"\w+","text":("(?:[^"\\]++|\\.)*+")[,}]', re.S)
_EXIT_JSON = re.compile(
    rb'"(?:(?:Chunk ID|Wall time):(?:[^\\"]|\\[^n])*+\\n|Output:\\n)*+(?:Process exited with code|Exit code:) (-?\d+)'
)
_decode_str = msgspec.json.Decoder(str).decode


class Verdict(Struct, frozen=True, gc=False):
    """`running`: the output is only a first part; the process or script still runs."""

    output: Raw | None
    outcome: Outcome | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    running: bool = False


SILENT = Verdict(None)


def judge(output: Raw) -> Verdict:
    """Reads an output of any dialect."""
    if not has_value(output):
        return SILENT
    whole = len(output) <= 4 * HEAD
    data = bytes(output) if whole else bytes(memoryview(output)[: 4 * HEAD])
    head = data[:1]
    if head == b'"':
        if data[1:2] == b"{":
            return _wrapped(text_of(output)) or Verdict(output)
        found = _EXIT_JSON.match(data)  # as `_EXIT`, on the text as it appears in JSON
        if found is not None and found.end() < HEAD:
            code = int(found[1])
            return Verdict(output, "error" if code else "ok", code)
        if data[1:2] not in _FIRST_JSON_LETTERS:
            return Verdict(output)
        if data.startswith(_COMMAND):  # 0.115 puts the command, of any length, before the text that others begin with
            printed = text_of(output)
            return judge_text(printed[printed.find("\nChunk ID: ") + 1 :], output)
        return judge_text(text_of(data) if whole else _beginning(data, output), output)
    if head == b"[":
        if data[1:2].isdigit():
            value = decode_json(output)
            text = bytes(value).decode("utf-8", "replace") if is_bytes(value) else ""
            return judge_text(text, to_raw(text) if text else output)
        part = _FIRST_PART.match(data)
        if part is not None:
            if part[1][1:2] not in _FIRST_JSON_LETTERS:
                return Verdict(output)
            try:
                return judge_text(_decode_str(part[1]), output)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                pass  # lone surrogates
        parts = parts_of(output)
        return judge_text(beginning(parts[0].text) if parts and first(parts[0].text) == b'"' else "", output)
    if head == b"{":
        verdict = _wrapped(bytes(output).decode("utf-8", "replace"))
        if verdict is not None:
            return verdict
    return Verdict(output)


def beginning(output: Raw) -> str:
    """The first lines of a JSON string, or all of it if it is short. An output can be a megabyte long."""
    if len(output) > 4 * HEAD:
        return _beginning(bytes(memoryview(output)[: 4 * HEAD]), output)
    return str(decode_json(output))


def _beginning(head: bytes, output: Raw) -> str:
    """As `beginning`, for a long output that starts with `head`."""
    line = head.rfind(b"\\n")
    if line > 0 and head[line - 1 : line] != b"\\":
        return str(decode_json(head[:line] + b'"'))
    return str(decode_json(output))


def judge_text(text: str, output: Raw) -> Verdict:
    """As `judge`, for an output whose (first) text is known."""
    if text.startswith("Script "):
        if text.startswith(_SCRIPT_RUNS):
            return Verdict(output, running=True)
        if text.startswith("Script failed"):
            thrown = _SCRIPT_ERROR.search(output)  # the output that the failed call would have returned
            refused = thrown is not None and _denied(text_of(b'"%b"' % thrown[1])[:HEAD], output)
            return Verdict(output, "denied" if refused else "error")
        return Verdict(output, "ok") if text.startswith("Script completed") else Verdict(output)
    if text[:1] not in _FIRST_LETTERS:
        return Verdict(output)
    head = text[:HEAD]
    found = _EXIT.match(head)
    if found is not None:
        code = int(found[1])
        return Verdict(output, "error" if code else "ok", code)
    if _RUNNING.match(head):
        return Verdict(output, running=True)
    if _ABORTED.match(head):
        return Verdict(output, "cancelled")
    if _denied(head, output):
        return Verdict(output, "denied")
    if _ERROR.match(head):
        return Verdict(output, "error")
    return Verdict(output)


def _denied(head: str, output: Raw) -> bool:
    """Whether the text that begins with `head` says that a call was refused: in its first words, or as the reason why a
    command could not be started.
    """
    if _DENIED.match(head):
        return True
    failure = bytes(output) if head.startswith("exec_command failed") else b""
    return b'"Rejected(' in failure and any(reason in failure for reason in _BY_POLICY)


def _wrapped(text: str) -> Verdict | None:
    """Reads `{"output": …, "metadata": {"exit_code": …}}`; None for other JSON, which is an output like any text."""
    try:
        value = decode_wrapped(text)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    if value.metadata is None and value.success is None:
        return None
    code = value.metadata.exit_code if value.metadata is not None else None
    seconds = value.metadata.duration_seconds if value.metadata is not None else None
    outcome: Outcome | None = None
    if code is not None:
        outcome = "error" if code else "ok"
    elif value.success is not None:
        outcome = "ok" if value.success else "error"
    output = value.output if has_value(value.output) else to_raw(text)
    return Verdict(output, outcome, code, None if seconds is None else whole_ms(seconds * 1000))


def is_bytes(value: object) -> bool:
    """A list of byte values, as old versions write output."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, int) and 0 <= v < 256 for v in value)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType] - decoded JSON


STATUS: dict[str, Outcome] = {"completed": "ok", "failed": "error", "declined": "denied", "errored": "error"}
_STATUS_JSON: dict[bytes, Outcome] = {f'"{status}"'.encode(): outcome for status, outcome in STATUS.items()}


def outcome_of(item: Item) -> Outcome | None:
    """The outcome by an item's status and exit code."""
    outcome = _STATUS_JSON.get(bytes(item.status)) or STATUS.get(word(item.status))
    if outcome != "denied" and item.exit_code is not None:
        return "error" if item.exit_code else "ok"
    if outcome == "error" and (is_refusal(item.error) or is_refusal(item.result)):
        return "denied"
    return outcome


def is_refusal(answer: Raw) -> bool:
    """Whether Codex itself answered an MCP call, because the call was not allowed."""
    return len(answer) < HEAD and _MCP_REFUSED.search(answer) is not None


class _McpResult(Struct, rename={"ok": "Ok", "error": "Err"}, gc=False):
    ok: Raw = ABSENT
    error: Raw = ABSENT


class _McpOutput(Struct, gc=False):
    isError: bool | None = None


_mcp_result = msgspec.json.Decoder(_McpResult).decode
_mcp_output = msgspec.json.Decoder(_McpOutput).decode


def mcp_result(raw: Raw) -> tuple[Raw, bool]:
    """The result of an MCP call, without the `Ok` or `Err` around it, and whether the call failed."""
    try:
        result = _mcp_result(raw)
        if has_value(result.error):
            return result.error, True
        return (result.ok, bool(_mcp_output(result.ok).isError)) if has_value(result.ok) else (raw, False)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return raw, False  # of another shape


def dynamic_output(parts: Raw) -> Raw:
    """The output of a client's own tool: its text, or all parts if some are none."""
    texts = [part.text for part in parts_of(parts)]
    return join_strings(texts) if texts and all(first(text) == b'"' for text in texts) else parts

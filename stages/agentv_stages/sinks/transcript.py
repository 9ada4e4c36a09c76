"""Transcript rows: completed messages to JSON lines of schema `agentv.transcript.v1` (AgentV's shape C).

Payloads (texts, tool inputs, outputs) are spliced in as in the log. What agentv-stream adds is in
`metadata.agentv_stream`. The first row has a gap of blanks, into which the totals of the session, and how it ended, are
written at the end, because readers take them from there; an output that cannot seek gets them in its last row.
Source of the row's form: AgentV 4.42 `TranscriptJsonLine`.
"""

import re
from typing import Any

import msgspec
from msgspec import Raw, Struct

from agentv_stages.figures.result import PARTIAL, Observer
from agentv_stages.model.event import ToolCall
from agentv_stages.model.message import Message, PairedCall, call_names
from agentv_stages.model.payload import EMPTY_STRING, NULL, join_array, printable_path, to_raw
from agentv_stages.model.times import iso_bytes
from agentv_stages.model.tokens import Tokens

SCHEMA = "agentv.transcript.v1"
GAP = 1024
LONGEST_REASON = 400  # bytes of JSON; a longer one is left out, so that the rest fits into the gap
_HEAD = b'{"schema_version":"agentv.transcript.v1",'
GAP_END = len(_HEAD) + GAP
"""The first row's totals end here, in bytes: what stands before may change until the session has ended."""
_CAPTURE = b',"capture":{"content":"full","redaction_level":"%b"},"source":'
_STATUS = {"ok": b"ok", "error": b"error", "denied": b"error", "cancelled": b"error", "unpaired": b"unknown"}
_encode = msgspec.json.Encoder().encode
_COMMAND = re.compile(rb'\s*\{\s*"(?:command|cmd|script)"')  # an input that shows the command of a shell call
_check_blocks = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_names: dict[str, bytes] = {}
_MOST_NAMES = 512


class Identity(Struct):
    """The facts about its session in every row. `test_id` and `target` group the rows for AgentV."""

    test_id: str
    target: str
    provider: str
    session_id: str
    format: str
    kind: str = "imported_transcript"
    path: str | None = None
    model: str | None = None
    started_ms: int | None = None
    git_branch: str | None = None
    cwd: str | None = None
    version: str | None = None
    redaction_level: str = "none"

    @classmethod
    def of(
        cls,
        observer: Observer,
        *,
        test_id: str,
        target: str,
        session_id: str,
        path: str | None,
        started_ms: int | None,
    ) -> "Identity":
        """An identity from the facts of a session's first records."""
        opening, dialect = observer.facts.opening, observer.dialect
        return cls(
            test_id=test_id,
            target=target,
            provider=observer.provider.name,
            session_id=session_id,
            format=dialect.name,
            kind="agentv_run" if dialect.live else "imported_transcript",
            path=printable_path(path) if path is not None else None,
            model=opening.model,
            started_ms=started_ms,
            git_branch=opening.git_branch,
            cwd=opening.cwd,
            version=opening.version,
            redaction_level=PARTIAL if observer.redacted else "none",
        )

    def source(self) -> bytes:
        """The row's `source` object."""
        value = {
            "kind": self.kind,
            "provider": self.provider,
            "session_id": self.session_id,
            "path": self.path,
            "format": self.format,
            "model": self.model,
            "timestamp": iso_bytes(self.started_ms).decode() if self.started_ms is not None else None,
            "git_branch": self.git_branch,
            "cwd": self.cwd,
            "version": self.version,
        }
        return _encode({key: item for key, item in value.items() if item is not None})


class TranscriptRows:
    """Renders messages. One object per transcript; `rows` counts the rendered rows."""

    def __init__(self, identity: Identity, *, gap: bool = True) -> None:
        self.rows = 0
        self._gap = gap
        self._group = b'"test_id":%b,"target":%b,"message_index":' % (
            _encode(identity.test_id),
            _encode(identity.target),
        )
        self._tail = _CAPTURE % identity.redaction_level.encode() + identity.source() + b"}\n"

    def render(self, messages: list[Message]) -> bytes:
        """One line per message."""
        return b"".join([self.row(message) for message in messages])

    def row(self, message: Message, closing: bytes = b"") -> bytes:
        """One line. `closing`: members to put in front, as `closing_members` makes them, with a trailing comma."""
        parts: list[Any] = [_HEAD]
        if closing:
            parts.append(closing)
        elif self.rows == 0 and self._gap:
            parts.append(b" " * GAP)
        self.rows += 1
        role = message.role
        parts.append(b'%b%d,"role":"%b"' % (self._group, message.index, role.encode()))
        content = message.content
        if len(content) == 1:
            body = bytes(content[0])
            parts += (b',"content":', body if body[:1] == b'"' else text_or_blocks(content[0]))
        elif content:
            _blocks(content, parts)
        elif role == "assistant":
            parts.append(b',"content":""')
        calls = message.calls
        facts: list[bytes] = []
        if role == "tool":  # a late result: its call is in a row emitted earlier
            facts = [_call(paired, paired.call.call_id, []) for paired in calls]
        elif calls:
            before = b',"tool_calls":['
            names = call_names([paired.call.call_id for paired in calls])
            for name, paired in zip(names, calls, strict=True):
                parts.append(before)
                facts.append(_call(paired, name, parts))
                before = b","
            parts.append(b"]")
        started = message.source.time_ms
        if started is not None:
            ended = message.end_ms
            if ended is not None and ended >= started:
                times = (iso_bytes(started), iso_bytes(ended), ended - started)
                parts.append(b',"start_time":"%b","end_time":"%b","duration_ms":%d' % times)
            else:
                parts += (b',"start_time":"', iso_bytes(started), b'"')
        usage = message.usage
        if usage is not None and (usage.input is not None or usage.output is not None):
            output = usage.output if usage.output_final else None
            parts.append(_usage(usage.input, output, usage.cached, usage.reasoning))
        _metadata(message, facts, parts)
        parts.append(self._tail)
        return valid_utf8(b"".join(parts))


def _blocks(content: list[Raw], parts: list[Any]) -> None:
    """Appends several content blocks: texts as AgentV writes them, lists of blocks flattened, others as they are."""
    parts.append(b',"content":[')
    for i, block in enumerate(content):
        body = bytes(text_or_blocks(block))
        comma = b"," if i else b""
        if body[:1] == b'"':
            parts += (comma, b'{"type":"text","text":', body, b"}")
        elif len(body) > 2:
            parts += (comma, body[1:-1])
        else:
            parts += (comma, b'{"type":"text","text":""}')
    parts.append(b"]")


def text_or_blocks(content: Raw) -> Raw:
    """A valid `content`: a string or a list of objects as it is; anything else in the nearest valid form."""
    first = bytes(content)[:1]
    if first == b'"':
        return content
    if first == b"{":
        return join_array((content,))
    if first != b"[":
        return EMPTY_STRING if content == NULL else to_raw(bytes(content).decode("utf-8", "replace"))
    try:
        _check_blocks(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return join_array(map(_block, _decode_list(content)))
    return content


def _block(item: Raw) -> Raw:
    if bytes(item)[:1] == b"{":
        return item
    text = item if bytes(item)[:1] == b'"' else to_raw(bytes(item).decode("utf-8", "replace"))
    return Raw(b'{"type":"text","text":%b}' % bytes(text))


def _usage(prompt: int | None, output: int | None, cached: int | None, reasoning: int | None) -> bytes:
    known = [(b"input", prompt), (b"output", output), (b"cached", cached), (b"reasoning", reasoning)]
    return b',"token_usage":{%b}' % b",".join(b'"%b":%d' % (name, value) for name, value in known if value is not None)


def _name(text: str) -> bytes:
    """A short name as JSON, cached."""
    known = _names.get(text)
    if known is None:
        if len(_names) >= _MOST_NAMES:
            _names.clear()
        known = _names[text] = _encode(text)
    return known


def _call(paired: PairedCall, name: str, parts: list[Any]) -> bytes:
    """Appends the call to `parts`; returns what agentv-stream adds about it, as a member called `name`."""
    call, result = paired.call, paired.result
    call_id = _encode(call.call_id)
    parts += (b'{"tool":', _name(call.tool or call.name), b',"input":', call.input_json, b',"id":', call_id)
    begun = call.source.time_ms
    if begun is not None:
        parts += (b',"start_time":"', iso_bytes(begun), b'"')
    facts = b'%b:{"name":%b,"kind":"%b","origin":"%b","outcome":"' % (
        call_id if name == call.call_id else _encode(name),
        _name(call.name),
        call.kind.encode(),
        call.origin.encode(),
    )
    if result is None or result.outcome == "unpaired":
        parts.append(b',"status":"unknown"}')
        facts += b'unpaired"'
    else:
        outcome = result.outcome or "ok"
        facts += b'%b"' % outcome.encode()
        if result.output_json is not None:
            parts += (b',"output":', result.output_json)
        parts += (b',"status":"', _STATUS[outcome], b'"')
        ended, took = result.source.time_ms, result.duration_ms
        if took is not None:  # a call that a later record cancelled has no end of its own
            if ended is not None and begun is not None and ended >= begun:
                parts += (b',"end_time":"', iso_bytes(ended), b'"')
            parts.append(b',"duration_ms":%d' % took)
        parts.append(b"}")
        if result.exit_code is not None:
            facts += b',"exit_code":%d' % result.exit_code
    if call.server is not None:
        facts += b',"server":%b' % _name(call.server)
    if call.files:
        facts += b',"files":%b' % _encode(call.files)
    command = call.command
    if command is not None and not shows_command(call):
        facts += b',"command":%b' % _encode(command)
    return facts + b"}"


def shows_command(call: ToolCall) -> bool:
    """Whether a reader of a shell call finds its text in the input, by the canonical name."""
    return call.tool == "Bash" and _COMMAND.match(call.input_json) is not None


def _metadata(message: Message, facts: list[bytes], parts: list[Any]) -> None:
    """Appends what agentv-stream adds about the row."""
    parts += (b',"metadata":{"agentv_stream":{"stream":', _name(message.source.stream))
    if message.turn is not None:
        parts.append(b',"turn":%d' % message.turn)
    if message.message_id:
        parts += (b',"message_id":', _encode(message.message_id))
    if message.model is not None:
        parts += (b',"model":', _name(message.model))
    if message.injected or message.synthetic or message.retracted or message.late:
        for flag in ("injected", "synthetic", "retracted", "late"):
            if getattr(message, flag):
                parts.append(b',"%b":true' % flag.encode())
    thinking = message.thinking
    if thinking:
        before = b',"thinking":['
        for text in thinking:
            parts += (before, text)
            before = b","
        parts.append(b"]")
    if facts:
        parent = message.calls[0].call.parent_call
        if parent is not None:
            parts += (b',"parent_call":', _encode(parent))
        if message.role == "assistant" and (order := message.order):
            parts += (b',"order":', _encode(order))
        parts += (b',"calls":{', b",".join(facts), b"}")
    parts.append(b"}}")


def valid_utf8(row: bytes) -> bytes:
    """The bytes as valid UTF-8: payloads are spliced in unchecked, and a log can contain broken bytes."""
    if row.isascii():
        return row
    try:
        row.decode()
    except UnicodeDecodeError:
        return row.decode("utf-8", "replace").encode()
    return row


def closing_members(observer: Observer) -> bytes:
    """The members that the end of a session adds to a row: its totals (`"transcript_…":…`) and how it ended, with a
    trailing comma.

    Calls without a result are marked in their rows; to derive the status, readers count them as in docs/metrics.md,
    unless it is `certain`.
    """
    totals = observer.totals
    members = totals_members(totals.tokens(), totals.cost_usd, totals.duration_ms)
    end: dict[str, Any] = {"status": observer.status(open_calls=0)}
    if end["status"] == "complete" and observer.status(open_calls=1) == "complete":
        end["certain"] = True
    reason = observer.reason
    if reason is not None and len(_encode(reason)) <= LONGEST_REASON:
        end["reason"] = reason
    first_ms = totals.state.first_ms
    if first_ms is not None and first_ms != observer.facts.started_ms:  # the clock was set back
        end["first_time"] = iso_bytes(first_ms).decode()
    tokens = totals.tokens()
    more = {"cache_write": tokens.cache_write, "cache_write_1h": tokens.cache_write_1h}
    more["output_at_least"] = tokens.output if tokens.unsure else None
    known = {name: value for name, value in more.items() if value is not None}
    if known:
        end["tokens"] = known
    members["agentv_stream"] = end
    return _encode(members)[1:-1] + b","


def totals_members(tokens: Tokens, cost_usd: float | None, duration_ms: int | None) -> dict[str, Any]:
    """The totals of a session as members of a row; unknown ones are absent."""
    members: dict[str, Any] = {}
    if tokens.known():
        usage: dict[str, int] = {}
        for name, value in (
            ("input", tokens.input),
            ("output", None if tokens.unsure else tokens.output),
            ("cached", tokens.cached),
            ("reasoning", tokens.reasoning),
        ):
            if value is not None:
                usage[name] = value
        if usage:
            members["transcript_token_usage"] = usage
    if duration_ms is not None:
        members["transcript_duration_ms"] = duration_ms
    members["transcript_cost_usd"] = cost_usd
    return members


def patch(members: bytes) -> tuple[int, bytes] | None:
    """Offset and bytes to write into a finished transcript; None where the members do not fit into the gap."""
    if len(members) > GAP:
        return None
    return len(_HEAD), members.rjust(GAP)

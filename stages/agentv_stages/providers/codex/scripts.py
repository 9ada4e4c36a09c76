"""Code mode: reads from the text of an `exec` script which calls it will make.

The calls that a script makes are counted from the log's items. Some calls leave no item: a patch that does not apply, a
command that still runs when the script yields, a command that the sandbox stopped. If the text of such a script names
exactly one tool, the script counts as that call.
Source: Codex 0.169 to 0.171, `custom_tool_call` named `exec`, input `const r = await tools.exec_command({…});`.
"""

import json
import re
from typing import Any

from msgspec import Raw, Struct, field

from agentv_stages.model.event import Source
from agentv_stages.model.payload import decode_json, text_of, to_raw

_TOOL = re.compile(r"\btools\s*\.\s*([A-Za-z_]\w*)\s*\(")
_COMMAND = re.compile(r"""\bcmd["']?\s*:\s*('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")""")
_YIELD = re.compile(r"""\byield_time_ms["']?\s*:\s*(\d+)""")
_WALL = re.compile(r"Wall time (\d+(?:\.\d+)?) seconds")
_YIELD_MS = 10_000  # where the script does not say
_PATCH = "*** Begin Patch"
_read = json.JSONDecoder(strict=False).raw_decode
_MOST = 262_144


class Script(Struct, gc=False):
    """A script that may still make calls. `made_calls`: it made one, so it is not a call itself. `counted`: it was
    emitted as a call. `last_ms` is when its last call ended, or when it began. `over` is the row of its last output, if
    any.
    """

    call_id: str
    input: Raw
    message_id: str
    source: Source
    model: str | None = None
    made_calls: bool = field(default=False, name="made")
    counted: bool = False
    last_ms: int | None = None
    over: int = 0


def maker(scripts: list[Script], did: str) -> Script | None:
    """The script whose text contains `did`, the mark of a call; of several, the first that has made no call yet."""
    quoted = json.dumps(did)[1:-1]
    found: Script | None = None
    for script in scripts if did else ():
        text = decode_json(script.input)
        if isinstance(text, str) and (did in text or quoted in text):
            if not script.made_calls and not script.counted:
                return script
            found = found or script
    return found


def named_call(script: Raw) -> tuple[str, Raw]:
    """Name and input of the only tool that a script's text names; `exec` and the script itself otherwise."""
    text = decode_json(script)
    if not isinstance(text, str) or len(text) > _MOST:
        return "exec", script
    found = _only_tool(text)
    if found is None:
        return "exec", script
    name = found[1]
    if name == "apply_patch":
        return name, to_raw(_patch(text))
    arguments = _arguments(text, found.end())
    if arguments is None and name == "exec_command":
        command = _COMMAND.search(text)
        if command is not None:
            arguments = {"cmd": _literal(command[1])}
    return name, script if arguments is None else to_raw(arguments)


def stopped(name: str, script: Raw, output: str) -> bool:
    """Whether the only call of a script that completed cannot have ended well, because the log has no item of it.

    A command without an item still runs if it was given up after its yield time; before that, the sandbox stopped it.
    `output`: the first lines of the script's output.
    """
    if name != "exec_command":
        return name == "apply_patch"
    yielded, wall = _YIELD.search(text_of(script)), _WALL.search(output[:200])
    limit_ms = int(yielded[1]) if yielded is not None and len(yielded[1]) < 10 else _YIELD_MS
    return wall is not None and float(wall[1]) * 1000 < limit_ms


def _only_tool(text: str) -> re.Match[str] | None:
    """The only call of a tool in a script; None if there are several. The expression alone would try every letter."""
    only: re.Match[str] | None = None
    at = text.find("tools")
    while at >= 0:
        found = _TOOL.match(text, at)
        if found is not None:
            if only is not None:
                return None
            only = found
        at = text.find("tools", at + 5)
    return only


def _arguments(text: str, at: int) -> Any:
    """The argument of the call that begins at `at`, if it is plain JSON."""
    try:
        value, _ = _read(text, at)
    except (ValueError, RecursionError):
        return None
    return value


def _patch(text: str) -> str:
    """The patch in a script: the string literal that holds it, or the whole script if there is none."""
    begin = text.find(_PATCH)
    quote = text.rfind('"', 0, begin) if begin >= 0 else -1
    if quote >= 0:
        try:
            value, _ = _read(text, quote)
        except ValueError:
            return text
        return value if isinstance(value, str) and _PATCH in value else text
    tick = text.rfind("`", 0, begin) if begin >= 0 else -1
    end = text.find("`", begin)
    return text[tick + 1 : end] if 0 <= tick < end else text


def _literal(quoted: str) -> str:
    """A JavaScript string literal as text; of its escapes only those of JSON are kept."""
    inner = quoted[1:-1].replace("\\'", "'")
    if quoted[0] == "'":
        inner = re.sub(r'(?<!\\)"', '\\\\"', inner)
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        return inner

"""Outputs that Claude Code keeps beside a session. In: a result that only names the file. Out: the whole output.

An output of more than 50,000 characters (of a shell: about 30,000) is written to `<session>/tool-results/<name>`. The
log has the path and the first 2 KB instead. The path is not followed: only its last part is used.
Source: Claude Code 2.1.51 to 2.1.332.
"""

import re
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw

from agentv_stages.model.payload import text_of, to_raw
from agentv_stages.providers.claude.wire import Block

MARK = b"<persisted-output>"
_NAMED = re.compile(r"\s*<persisted-output>.{0,200}?saved to: ([^\n]{1,4096})", re.DOTALL)
_BLOCKS = msgspec.json.Decoder(list[Raw])


def put_back(content: Sequence[Block], kept: Callable[[str], bytes]) -> None:
    """Replaces the notes in results by the outputs that they name, as far as these can be read."""
    for block in content:
        if block.type == "tool_result" and block.content:
            found = _NAMED.match(text_of(block.content))
            if found is not None:
                data = kept(re.split(r"[/\\]", found[1].strip())[-1])
                if data:
                    block.content = _payload(data)


def _payload(data: bytes) -> Raw:
    """An output as JSON: a list of content blocks as it is, everything else as text."""
    try:
        _BLOCKS.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return to_raw(data.decode("utf-8", "replace"))
    return to_raw(msgspec.json.decode(data))

"""Shapes of model servers that several agents' logs have: only the fields that are used; payloads stay raw.

Source: the Anthropic Messages API (Claude Code, Grok Build, Qwen Code, Cline) and OpenAI's chat completions (Kimi Code,
Continue, mini-swe-agent, Mistral Vibe).
"""

from msgspec import Raw, Struct

from agentv_stages.model.payload import ABSENT


class Block(Struct, gc=False):
    """A content block of any kind: text, thinking, a call (`tool_use`) or a result (`tool_result`)."""

    type: str = ""
    text: Raw = ABSENT
    thinking: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None


class Function(Struct, gc=False):
    """Name and arguments of a call; `arguments` is a string that holds JSON, or null."""

    name: str | None = None
    arguments: Raw = ABSENT


class AskedCall(Struct, gc=False):
    """A tool call in the message of an assistant."""

    id: str | None = None
    function: Function | None = None

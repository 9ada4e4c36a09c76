"""The places of deltas in a record: patterns over bytes; group 1 is a piece of text, the inside of a JSON string."""

DELTA_TEXT = rb'\s*"((?:[^"\\]|\\.)*)"'
"""A JSON string."""

MESSAGES_DELTA = rb'"type":\s*"content_block_delta".{0,120}?"(?:text|thinking|partial_json)":' + DELTA_TEXT
"""Stream events of Anthropic's Messages API, as Claude Code, Qwen Code and Grok Build print them."""

ACP_DELTA = rb'"sessionUpdate":\s*"(?:agent_message|agent_thought|user_message)_chunk".{0,300}?"text":' + DELTA_TEXT
"""Updates of the Agent Client Protocol."""

"""Wire shapes of OpenHands: its events and the state of a conversation; only the fields that are used.

Source: OpenHands CLI 1.16.0, openhands-sdk 1.16.1, 1.21.0, 1.58.2.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.event import EMPTY_OBJECT
from agentv_stages.model.payload import ABSENT, EMPTY_STRING
from agentv_stages.model.times import Time


class AskedCall(Struct, gc=False):
    """The call as the model made it; `arguments` is JSON in a string, including the SDK's additional arguments
    (`security_risk`, `summary`).
    """

    arguments: Raw = EMPTY_OBJECT


class Action(Struct, gc=False):
    """The SDK's own form of a call."""

    kind: str | None = None


class Observation(Struct, gc=False):
    """A tool's result. `exit_code` -1: the command still runs. `timeout`: it was stopped at its time limit."""

    kind: str | None = None
    content: Raw = ABSENT
    is_error: bool = False
    exit_code: int | None = None
    timeout: bool = False


class Message(Struct, gc=False):
    """`content` is a list of blocks; `thinking_blocks` are Anthropic's, `responses_reasoning_item` is OpenAI's."""

    content: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    thinking_blocks: Raw = ABSENT
    responses_reasoning_item: Raw = ABSENT


class Block(Struct, gc=False):
    """A piece of content: `text` or `image`."""

    type: str | None = None


class Thinking(Struct, gc=False):
    thinking: Raw = EMPTY_STRING


class ReasoningItem(Struct, gc=False):
    """Pieces of text."""

    summary: list[str] | None = None
    content: list[str] | None = None


class Event(Struct, gc=False):
    """One event of any kind. `timestamp` is local time without its zone; `llm_response_id` names the model's answer."""

    kind: str | None = None
    id: str | None = None
    timestamp: Time = None
    source: str | None = None
    llm_message: Message | None = None
    llm_response_id: str | None = None
    extended_content: Raw = ABSENT
    sender: str | None = None
    thought: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    thinking_blocks: Raw = ABSENT
    responses_reasoning_item: Raw = ABSENT
    action: Action | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_call: AskedCall | None = None
    observation: Observation | None = None
    rejection_reason: Raw = ABSENT
    error: Raw = ABSENT
    code: str | None = None
    detail: str | None = None
    system_prompt: Raw = ABSENT
    summary: str | None = None
    hook_event_type: str | None = None
    success: bool = True
    blocked: bool = False
    reason: str | None = None


class Counts(Struct, gc=False):
    """Tokens of one model call, or of all. `prompt_tokens` includes cached and cache-written ones."""

    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    response_id: str = ""


class Metrics(Struct, gc=False):
    """One use of a model (`agent`, `condenser`, `task:…`), from the conversation's beginning. Cost in US dollars."""

    accumulated_cost: float | None = None
    accumulated_token_usage: Counts | None = None
    token_usages: list[Counts] = []


class Stats(Struct, gc=False):
    usage_to_metrics: dict[str, Metrics] = {}


class Llm(Struct, gc=False):
    model: str | None = None


class Agent(Struct, gc=False):
    llm: Llm | None = None


class Workspace(Struct, gc=False):
    working_dir: str | None = None


class Conversation(Struct, gc=False):
    """`base_state.json`, rewritten after each step."""

    id: str | None = None
    agent: Agent | None = None
    workspace: Workspace | None = None
    execution_status: str | None = None
    stats: Stats | None = None


decode_event = Decoder(Event).decode
decode_conversation = Decoder(Conversation).decode
decode_block = Decoder(Block).decode
decode_thinking = Decoder(Thinking).decode
decode_reasoning = Decoder(ReasoningItem).decode

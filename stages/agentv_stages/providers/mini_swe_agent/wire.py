"""Wire shapes of mini-swe-agent's trajectories: only the fields that are used; payloads stay raw.

Source: mini-swe-agent 1.1.0 to 2.4.6, `*.traj.json`; LiteLLM's chat completions and Responses in them.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.shapes import AskedCall as AskedCall
from agentv_stages.model.shapes import Function as Function


class ModelStats(Struct, gc=False):
    """Statistics of the whole run. `api_calls` includes failed model calls."""

    instance_cost: float | None = None
    api_calls: int | None = None


class AgentConfig(Struct, gc=False):
    """`action_regex` is the expression with which 1.16 and later 1.x find the command in an answer."""

    action_regex: str | None = None


class ModelConfig(Struct, gc=False):
    model_name: str | None = None


class EnvironmentConfig(Struct, gc=False):
    """`cwd` is empty if the commands ran in the folder where the agent was started."""

    cwd: str | None = None


class Config(Struct, gc=False):
    agent: AgentConfig | None = None
    model: ModelConfig | None = None
    environment: EnvironmentConfig | None = None


class Info(Struct, gc=False):
    """`submission` is the error's text if 1.x ended with one."""

    model_stats: ModelStats | None = None
    config: Config | None = None
    mini_version: str | None = None
    exit_status: str | None = None
    submission: str | None = None


class Document(Struct, gc=False):
    """`instance_id` is the instance of a benchmark."""

    info: Info | None = None
    messages: list[Raw] | None = None
    trajectory_format: str | None = None
    instance_id: str | int | None = None


class Details(Struct, gc=False):
    """Details of the prompt's and of the answer's tokens, for any API."""

    cached_tokens: int | None = None
    cache_creation_tokens: int | None = None
    reasoning_tokens: int | None = None


class Usage(Struct, gc=False):
    """Tokens of one answer: chat completions name them `prompt` and `completion`, Responses `input` and `output`."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: Details | None = None
    output_tokens_details: Details | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class Spoken(Struct, gc=False):
    """The content of an answer in a chat completion; OpenRouter calls its reasoning `reasoning`."""

    content: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    reasoning: Raw = ABSENT
    tool_calls: list[AskedCall] | None = None


class Choice(Struct, gc=False):
    message: Spoken | None = None


class Item(Struct, gc=False):
    """A piece of a Responses answer: a message, a reasoning, a `function_call`."""

    type: str | None = None
    content: Raw = ABSENT
    summary: Raw = ABSENT
    call_id: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT


class Response(Struct, gc=False):
    """The model's whole answer as the server sent it. Times in epoch seconds."""

    model: str | None = None
    created: float | None = None
    created_at: float | None = None
    usage: Usage | None = None
    choices: Raw = ABSENT
    output: Raw = ABSENT


class Action(Struct, gc=False):
    """A command that the agent took from an answer."""

    command: Raw = ABSENT
    tool_call_id: str | None = None


class Extra(Struct, gc=False):
    """Facts that the agent keeps beside a message and does not send. `timestamp` in epoch seconds, `cost` in US
    dollars.

    `response` is a text if it could not be encoded. `exception_info` is empty if nothing was raised.
    """

    actions: list[Action] | None = None
    response: Response | str | None = None
    cost: float | None = None
    timestamp: float | None = None
    raw_output: Raw = ABSENT
    returncode: int | None = None
    exception_info: str | None = None
    interrupt_type: str | None = None
    model_response: Raw = ABSENT
    exit_status: str | None = None
    submission: Raw = ABSENT
    exception_str: str | None = None


class Message(Struct, gc=False):
    """A message of any role; with the Responses API an answer is the `response` object itself, `output` its items."""

    role: str | None = None
    type: str | None = None
    object: str | None = None
    content: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    reasoning: Raw = ABSENT
    tool_calls: list[AskedCall] | None = None
    tool_call_id: str | None = None
    call_id: str | None = None
    output: Raw = ABSENT
    model: str | None = None
    created_at: float | None = None
    usage: Usage | None = None
    timestamp: float | None = None
    extra: Extra | None = None


decode_document = Decoder(Document).decode
decode_message = Decoder(Message).decode
decode_choice = Decoder(Choice).decode
decode_item = Decoder(Item).decode

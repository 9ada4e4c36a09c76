"""Wire shapes of Continue's sessions and of the output of `cn`: only the fields that are used; payloads stay raw.

Source: Continue CLI 1.5.47, recorded runs and the source in its package (`session.ts`, `ChatHistoryService.ts`).
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.shapes import AskedCall as AskedCall
from agentv_stages.model.shapes import Function as Function


class Output(Struct, gc=False):
    content: Raw = ABSENT


class CallState(Struct, gc=False):
    """A call and what became of it."""

    toolCallId: str | None = None
    toolCall: AskedCall | None = None
    status: str | None = None
    output: list[Output] | None = None


class Command(Struct, gc=False):
    command: str


class PromptDetails(Struct, gc=False):
    """Only Continue's adapters for Anthropic and for the AI SDK write `cache_read_tokens` and `cache_write_tokens`."""

    cached_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


class CompletionDetails(Struct, gc=False):
    reasoning_tokens: int | None = None


class Usage(Struct, gc=False):
    """Tokens of one answer. With Anthropic's API `prompt_tokens` excludes tokens read from and written to caches."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None
    model: str | None = None


class Message(Struct, gc=False):
    """`content` is a text or a list of parts."""

    role: str = ""
    content: Raw = ABSENT
    toolCalls: list[AskedCall] | None = None
    toolCallId: str | None = None
    usage: Usage | None = None


class ContextItem(Struct, gc=False):
    """A file or other text that the user attached to a prompt."""

    content: Raw = ABSENT


class Item(Struct, gc=False):
    """An element of a session's history. `conversationSummary`: it stands for all before it."""

    message: Message | None = None
    contextItems: list[ContextItem] | None = None
    toolCallStates: list[CallState] | None = None
    conversationSummary: Raw = ABSENT


class TotalDetails(Struct, gc=False):
    """Of calls with `cache_read_tokens` only."""

    cachedTokens: int | None = None
    cacheWriteTokens: int | None = None


class Total(Struct, gc=False):
    """All model calls of a session, sub-agents' and compactions' included. Cost in US dollars."""

    totalCost: float | None = None
    promptTokens: int | None = None
    completionTokens: int | None = None
    promptTokensDetails: TotalDetails | None = None


class Session(Struct, gc=False):
    sessionId: str | None = None
    title: str | None = None
    workspaceDirectory: str | None = None
    history: list[Raw] | None = None
    chatModelTitle: str | None = None
    usage: Total | None = None


class Document(Session, gc=False):
    """A session's file, or what `/export` writes: an object with the session in it."""

    session: Session | None = None


class Part(Struct, gc=False):
    """A part of a message's content."""

    type: str = ""
    text: Raw = ABSENT


class Line(Struct, gc=False):
    """A line of `cn -p --format json`: the answer, or a notice."""

    response: Raw = ABSENT
    status: str | None = None
    message: str | None = None


decode_document = Decoder(Document).decode
decode_item = Decoder(Item).decode
decode_command = Decoder(Command).decode
decode_part = Decoder(Part).decode
decode_line = Decoder(Line).decode

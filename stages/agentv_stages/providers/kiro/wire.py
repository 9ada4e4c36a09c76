"""Wire shapes of Kiro CLI's sessions and of Amazon Q CLI's conversations: only the fields that are used.

Source: Kiro CLI 2.5.1 to 2.x, sessions of June to August 2026; Amazon Q CLI, published source of April 2026.
"""

from msgspec import Raw, Struct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.model.times import Time


class Meta(Struct, gc=False):
    timestamp: float | None = None


class Part(Struct, gc=False):
    """A part of a message: `data` is a text, or the object that the kind names."""

    kind: str = ""
    data: Raw = ABSENT


class ToolUse(Struct, gc=False):
    toolUseId: str | None = None
    name: str | None = None
    input: Raw = ABSENT


class ToolResultData(Struct, gc=False):
    toolUseId: str | None = None
    content: list[Part] | None = None
    status: str | None = None


class Thinking(Struct, gc=False):
    text: Raw = ABSENT


class Ended(Struct, gc=False):
    """How the program saw a call end: an object with a name and contents, or the name."""

    result: Raw = ABSENT


class Data(Struct, gc=False):
    message_id: str | None = None
    content: list[Part] | None = None
    meta: Meta | None = None
    results: dict[str, Ended] | None = None


class Duration(Struct, gc=False):
    secs: float = 0
    nanos: float = 0


class Turn(Struct, gc=False):
    result: Raw = ABSENT
    message_ids: list[str] | None = None
    turn_duration: Duration | None = None
    end_reason: str | None = None
    end_timestamp: Time = None


class Metadata(Struct, gc=False):
    user_turn_metadatas: list[Turn] | None = None


class ModelInfo(Struct, gc=False):
    model_id: str | None = None


class ModelState(Struct, gc=False):
    model_info: ModelInfo | None = None


class SessionState(Struct, gc=False):
    conversation_metadata: Metadata | None = None
    rts_model_state: ModelState | None = None


class Line(Struct, gc=False):
    """A line of a session, or the document beside it."""

    version: str | None = None
    kind: str = ""
    data: Data | None = None
    session_id: str | None = None
    cwd: str | None = None
    created_at: Time = None
    title: str | None = None
    parent_session_id: str | None = None
    session_state: SessionState | None = None


class ExitStatus(Struct, gc=False):
    exit_status: str | int | None = None


class Env(Struct, gc=False):
    current_working_directory: str | None = None


class EnvContext(Struct, gc=False):
    env_state: Env | None = None


class Returned(Struct, gc=False):
    """A result in a conversation; the content is a list of `{Text: …}` and `{Json: …}`."""

    tool_use_id: str | None = None
    content: list[dict[str, Raw]] | None = None
    status: str | None = None


class Inputs(Struct, gc=False):
    prompt: Raw = ABSENT
    tool_use_results: list[Returned] | None = None


class UserContent(Struct, gc=False):
    Prompt: Inputs | None = None
    ToolUseResults: Inputs | None = None
    CancelledToolUses: Inputs | None = None


class User(Struct, gc=False):
    content: UserContent | None = None
    env_context: EnvContext | None = None
    timestamp: Time = None


class Use(Struct, gc=False):
    id: str | None = None
    name: str | None = None
    args: Raw = ABSENT


class Reply(Struct, gc=False):
    message_id: str | None = None
    content: Raw = ABSENT
    tool_uses: list[Use] | None = None


class Assistant(Struct, gc=False):
    Response: Reply | None = None
    ToolUse: Reply | None = None


class RequestMetadata(Struct, gc=False):
    request_start_timestamp_ms: float | None = None
    stream_end_timestamp_ms: float | None = None
    model_id: str | None = None


class Exchange(Struct, gc=False):
    """An element of a history: an input and the answer to it."""

    user: User | None = None
    assistant: Assistant | None = None
    request_metadata: RequestMetadata | None = None


class Conversation(Struct, gc=False):
    """A whole conversation, or a row of the store: its facts, or one element of its history."""

    conversation_id: str | None = None
    history: list[Raw] | None = None
    session: "StoredFacts | None" = None
    message: Raw = ABSENT


class StoredFacts(Struct, gc=False):
    id: str | None = None
    directory: str | None = None


decode_line = Decoder(Line).decode
decode_text = Decoder(str).decode
decode_tool_use = Decoder(ToolUse).decode
decode_result = Decoder(ToolResultData).decode
decode_thinking = Decoder(Thinking).decode
decode_exit = Decoder(ExitStatus).decode
decode_conversation = Decoder(Conversation).decode
decode_exchange = Decoder(Exchange).decode

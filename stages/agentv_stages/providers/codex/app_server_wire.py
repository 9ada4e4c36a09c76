"""Wire shapes of `codex app-server`, in camelCase: only the fields that are used; payloads stay raw.

msgspec renames a Struct's own fields but not inherited ones, so the snake_case Structs of `wire` cannot be reused here.
Source: as in `app_server_catalogue`.
"""

from typing import Union

from msgspec import Raw, Struct, defstruct
from msgspec.json import Decoder

from agentv_stages.model.payload import ABSENT
from agentv_stages.providers.codex.app_server_catalogue import OFTEN_QUIET, OFTEN_TOLD, PIECE


class AppItem(Struct, gc=False, rename="camel"):
    """A thread item in camelCase."""

    type: str = ""
    id: str = ""
    text: Raw = ABSENT
    content: Raw = ABSENT
    summary: Raw = ABSENT
    command: Raw = ABSENT
    source: Raw = ABSENT
    aggregated_output: Raw = ABSENT
    exit_code: int | None = None
    duration_ms: Raw = ABSENT
    status: Raw = ABSENT
    changes: Raw = ABSENT
    server: str | None = None
    tool: str | None = None
    arguments: Raw = ABSENT
    result: Raw = ABSENT
    content_items: Raw = ABSENT
    error: Raw = ABSENT
    prompt: Raw = ABSENT
    receiver_thread_ids: list[str] | None = None
    agents_states: Raw = ABSENT
    query: Raw = ABSENT
    action: Raw = ABSENT
    path: Raw = ABSENT
    items: Raw = ABSENT
    kind: Raw = ABSENT
    agent_thread_id: str | None = None
    agent_path: str | None = None


class AppTokens(Struct, gc=False, rename="camel"):
    total_tokens: int | None = None
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_output_tokens: int | None = None


class AppUsage(Struct, gc=False, rename="camel"):
    total: AppTokens | None = None
    last: AppTokens | None = None
    model_context_window: int | None = None


class AppTurn(Struct, gc=False, rename="camel"):
    id: str | None = None
    status: str | None = None
    error: Raw = ABSENT
    duration_ms: float | None = None


class AppThread(Struct, gc=False, rename="camel"):
    id: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    name: str | None = None
    model: str | None = None
    parent_thread_id: str | None = None
    forked_from_id: str | None = None


class Params(Struct, gc=False, rename="camel"):
    """The parameters of any notification, or the result of a reply."""

    thread_id: str | None = None
    item: AppItem | None = None
    item_id: str | None = None
    delta: Raw = ABSENT
    started_at_ms: int | None = None
    completed_at_ms: int | None = None
    token_usage: AppUsage | None = None
    turn: AppTurn | None = None
    thread: AppThread | None = None
    model: str | None = None
    message: Raw = ABSENT
    reason: Raw = ABSENT
    error: Raw = ABSENT
    will_retry: bool | None = None
    summary: Raw = ABSENT
    turn_id: str | None = None
    before_turn_id: str | None = None
    explanation: Raw = ABSENT
    plan: Raw = ABSENT


class Delta(Struct, gc=False, rename="camel"):
    """A piece of a text."""

    thread_id: str | None = None
    item_id: str | None = None
    delta: Raw = ABSENT


class AppLine(Struct, gc=False):
    """`params` are decoded only for the methods whose content is used; for most lines the name is enough."""

    id: Raw = ABSENT
    method: str = ""
    type: Raw = ABSENT
    params: Raw = ABSENT
    result: Params | None = None
    error: Raw = ABSENT


class ToldLine(Struct, gc=False, tag_field="method"):
    """A frequent notification whose content is used; msgspec finds its Struct by the method, in one pass."""

    params: Params | None = None


class PieceLine(Struct, gc=False, tag_field="method", tag=PIECE):
    params: Delta | None = None


METHODS: dict[type, str] = {
    defstruct("Line", [], bases=(ToldLine,), tag_field="method", tag=name, gc=False): name for name in OFTEN_TOLD
}
METHODS[PieceLine] = PIECE
"""The method that each line's Struct stands for."""
QUIET_LINES: dict[type, str] = {
    defstruct("Quiet", [], tag_field="method", tag=name, gc=False): name for name in OFTEN_QUIET
}
"""The same for frequent notifications without useful content: their members are not even read."""
_often: Decoder[ToldLine | PieceLine] = Decoder(Union[(*METHODS, *QUIET_LINES)])
decode_often = _often.decode  # notifications with frequent methods; `QUIET_LINES` are to be sorted out by their class
decode_line = Decoder(AppLine).decode
decode_params = Decoder(Params).decode
decode_delta = Decoder(Delta).decode
decode_parts = Decoder(list[Raw]).decode

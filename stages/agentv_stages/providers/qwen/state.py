"""The state of the decoder of Qwen Code's sessions between lines; its size does not grow with the session."""

from msgspec import Struct, field

from agentv_stages.model.repeats import Repeats
from agentv_stages.model.scripts import Script
from agentv_stages.providers.qwen.telemetry import Ended, Tokens

KEEP = 4096


class SessionState(Struct):
    """The state between lines.

    `messages`: ids of the last messages, for a rewind. `calls`: open call -> name and checksum of its arguments.
    `ended`: the same name and checksum -> what telemetry reported. `failed`: an API error that nothing has followed.
    `answered`: the last run of main-thread answers in telemetry: its last row, their prompt's id and their tokens.
    `counted`: the model of the last answer with tokens; an answer of that model without tokens was broken off.
    `attempt`: the last answer, until a prompt or a result follows it: its id, its prompt's tokens, and whether it has
    calls. `prompts`: record that a prompt follows -> the prompt's id, for a rewind. `command_text`: see `prompts.emit`.
    """

    info: tuple[str | None, ...] = (None, None, None, None)
    model: str | None = None
    window: int | None = None
    failed: str | None = None
    failed_row: int = 0
    failed_offset: int = 0
    last_id: str = ""
    last_parts: int = 0
    messages: list[str] = []
    calls: dict[str, str] = {}
    ended: dict[str, list[Ended]] = {}
    scripts: dict[str, Script] = {}
    answered: tuple[int, str | None, list[Tokens]] | None = None
    counted: str | None = None
    attempt: tuple[str, int | None, bool] | None = None
    prompts: dict[str, str] = {}
    command_text: str | None = field(default=None, name="asked")
    repeats: Repeats = field(default_factory=Repeats, name="told")

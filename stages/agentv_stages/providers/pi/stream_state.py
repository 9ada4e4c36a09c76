"""The state of the decoder of Pi's standard output between lines."""

from msgspec import Struct, field

from agentv_stages.model.batch import Record
from agentv_stages.model.repeats import Repeats
from agentv_stages.model.scripts import Script
from agentv_stages.providers.pi.growing import GrownBlock


class StreamState(Struct):
    """`open`: calls without a result, by id. `repeats`: answers and prompts emitted, by time.
    `partial`: the newest update of the answer being written.
    `growing`: its blocks so far, if updates carry pieces. `scripts`: those that have not ended.
    `held_end`: a run ended with an error, at `held_row`, that Pi may still retry.
    """

    session_id: str | None = None
    model: str | None = None
    stop: str | None = None
    error: str | None = None
    open: dict[str, bool] = {}
    repeats: Repeats = field(default_factory=Repeats, name="told")
    message_id: str = ""
    partial: Record | None = None
    growing: dict[int, GrownBlock] = {}
    scripts: dict[str, Script] = {}
    held_end: bool = False
    held_row: int = 0
    held_offset: int = 0

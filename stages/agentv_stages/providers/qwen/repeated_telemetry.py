"""Telemetry that repeats the main thread: its extra facts about calls and answers are kept until these need them."""

from zlib import crc32

from msgspec import Raw
from msgspec.structs import replace

from agentv_stages.model.batch import Batch
from agentv_stages.model.event import EMPTY_OBJECT, Source
from agentv_stages.model.recent import remember
from agentv_stages.providers.qwen.parts import model_call
from agentv_stages.providers.qwen.state import KEEP, SessionState
from agentv_stages.providers.qwen.telemetry import Ended, agent_of, tokens_of
from agentv_stages.providers.qwen.wire import UiEvent

CODE_MODE = "code_mode"
MOST_IN_A_ROW = 16  # model calls of one compression


def repeats(event: UiEvent, row: int, state: SessionState) -> bool:
    """Whether an event only repeats the thread; its extra facts are then kept."""
    if event.error_message is not None:
        return False
    if agent_of(event) is not None and (event.function_name or event.input_token_count is not None):
        return False
    if event.source == CODE_MODE and event.parent_call_id in state.scripts:
        return False
    if event.function_name is not None:
        _keep_end(event, event.function_name, state)
    elif event.input_token_count is not None:
        _keep_answer(event, row, state)
    return True


def call_key(name: str, arguments: Raw) -> str:
    """The key that telemetry and the thread share for a call: its name, and a checksum of its arguments."""
    return f"{name}:{crc32(bytes(arguments)):x}"


def take_end(key: str, state: SessionState) -> Ended | None:
    """How the oldest call with that key ended; None if telemetry has not reported it."""
    waiting = state.ended.get(key)
    if not waiting:
        return None
    first = waiting.pop(0)
    if not waiting:
        del state.ended[key]
    return first


def tell_compression(source: Source, state: SessionState, batch: Batch) -> None:
    """Emits the model calls that a compression made: telemetry reports them right before it (0.24 makes two)."""
    answered = state.answered
    if answered is None or answered[0] != source.row - 1:
        return
    for i, tokens in enumerate(answered[2]):
        at = f"-{i}" if i else ""
        usage = model_call(source, f"{source.base_id}{at}", state.model, *tokens)
        batch.events.append(replace(usage, part=f"-usage{at}"))


def _keep_end(event: UiEvent, name: str, state: SessionState) -> None:
    ended = Ended.of(event)
    key = call_key(name, event.function_args or EMPTY_OBJECT)
    waiting = state.ended.get(key)
    if waiting is None:
        remember(state.ended, key, [ended], KEEP)
    elif len(waiting) < KEEP:
        waiting.append(ended)


def _keep_answer(event: UiEvent, row: int, state: SessionState) -> None:
    before = state.answered
    if before is None or (before[0], before[1]) != (row - 1, event.prompt_id) or len(before[2]) >= MOST_IN_A_ROW:
        state.answered = row, event.prompt_id, [tokens_of(event)]
    else:
        state.answered = row, event.prompt_id, [*before[2], tokens_of(event)]

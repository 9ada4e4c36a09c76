"""The saved form of a session's chain: in cursors, and where another process continues.

In: the snapshots of the stages. Out: one JSON object, and back.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from agentv_stages.chain.consolidate import ConsolidateState
from agentv_stages.chain.pair import PairState
from agentv_stages.figures.counters import Statistics
from agentv_stages.figures.dated import DatedState
from agentv_stages.figures.facts import Facts
from agentv_stages.figures.result import Counters, Observer
from agentv_stages.figures.totals import TotalsState
from agentv_stages.model.event import ToolResult, call_key
from agentv_stages.model.message import Message
from agentv_stages.model.payload import NULL
from agentv_stages.model.stage import Stateful

encode = msgspec.json.Encoder().encode


class SavedResult(Struct):
    """A tool result as saved: msgspec does not read back `Raw | None`, so the output is stored separately."""

    result: ToolResult
    output: Raw = NULL
    index: int = 0  # of its message
    place: int = 0  # among the message's calls

    @classmethod
    def of(cls, result: ToolResult, index: int = 0, place: int = 0) -> "SavedResult":
        """The saved form of a result."""
        if result.output_json is None:
            return cls(result, NULL, index, place)
        # A list, to distinguish an output that is the JSON value null from no output.
        return cls(replace(result, output_json=None), Raw(b"[" + result.output_json + b"]"), index, place)

    def back(self) -> ToolResult:
        """The result that was saved."""
        output = bytes(self.output)
        return self.result if output == b"null" else replace(self.result, output_json=Raw(output[1:-1]))


class SavedMessages(Struct):
    """Messages as saved, their results apart."""

    messages: list[Message] = []
    results: list[SavedResult] = []

    @classmethod
    def of(cls, messages: Iterable[Message]) -> "SavedMessages":
        """The saved form of messages."""
        results: list[SavedResult] = []
        return cls([_without_results(message, results) for message in messages], results)

    def back(self) -> list[Message]:
        """The messages that were saved."""
        _give_back(self.messages, self.results)
        return self.messages


class ChainState(Struct):
    """The state of all stages between two records. `decoders` is by file. `cases` are those of what checks the session,
    `records` and `stages` those of the caller's stages, null for one without state."""

    pair: PairState
    messages: ConsolidateState
    facts: Facts
    early: list[SavedResult]
    results: list[SavedResult]
    end_result: Raw
    statistics: Statistics
    totals: TotalsState
    counters: Counters
    decoders: dict[str, Raw] = {}
    cases: list[Raw] = []
    specs: str = ""
    records: list[Raw] = []
    stages: list[Raw] = []
    dated: DatedState | None = None


decode = msgspec.json.Decoder(ChainState).decode


def state_of(pair: PairState, messages: ConsolidateState, observer: Observer) -> ChainState:
    """The state of the stages after the decoder. What the snapshots hold is not changed."""
    facts = observer.facts
    early = [SavedResult.of(result) for result in pair.early.values()]
    if early:
        pair = replace(pair, early={})
    results: list[SavedResult] = []
    messages.current = {stream: _without_results(m, results) for stream, m in messages.current.items()}
    messages.waiting = {index: _without_results(m, results) for index, m in messages.waiting.items()}
    end_result = NULL
    if facts.end is not None and facts.end.result_json is not None:
        end_result = facts.end.result_json
        facts = replace(facts, end=replace(facts.end, result_json=None))
    return ChainState(
        pair,
        messages,
        facts,
        early,
        results,
        end_result,
        observer.stats.snapshot(),
        observer.totals.snapshot(),
        observer.counters,
        dated=observer.dated.snapshot() if observer.dated is not None else None,
    )


def joined_again(state: ChainState) -> ChainState:
    """A state that was read back, with the results where they were."""
    state.pair.early = {call_key(kept.result): kept.back() for kept in state.early}
    _give_back((*state.messages.current.values(), *state.messages.waiting.values()), state.results)
    end = state.facts.end
    if end is not None and bytes(state.end_result) != b"null":
        state.facts.end = replace(end, result_json=state.end_result)
    return state


def restore_observer(observer: Observer, state: ChainState) -> None:
    """Gives an observer the saved facts and figures."""
    observer.facts_observer.facts = state.facts
    observer.stats.restore(state.statistics)
    observer.totals.restore(state.totals)
    observer.counters = state.counters
    if observer.dated is not None and state.dated is not None:
        observer.dated.restore(state.dated)


def saved_stages(stages: Sequence[object]) -> list[Raw]:
    """The states of stages, or of outputs: null for one without state."""
    return [Raw(encode(stage.snapshot())) if isinstance(stage, Stateful) else NULL for stage in stages]


def restore_stages(stages: Sequence[object], states: Sequence[Raw]) -> None:
    """Raises: KeyError if the stages are not those that were saved."""
    if len(stages) != len(states):
        raise KeyError("the session was saved with other stages")
    for stage, state in zip(stages, states, strict=True):
        if isinstance(stage, Stateful):
            stage.restore(msgspec.json.decode(state, type=type(stage.snapshot())))


def _give_back(messages: Iterable[Message], results: list[SavedResult]) -> None:
    by_index = {message.index: message for message in messages}
    for kept in results:
        by_index[kept.index].calls[kept.place].result = kept.back()


def _without_results(message: Message, results: list[SavedResult]) -> Message:
    """The message as saved; its results are added to `results`."""
    if not any(paired.result is not None for paired in message.calls):
        return message
    for place, paired in enumerate(message.calls):
        if paired.result is not None:
            results.append(SavedResult.of(paired.result, message.index, place))
    return replace(message, calls=[replace(paired, result=None) for paired in message.calls])

"""The stages of a followed session as one object whose whole state can be saved and restored.

In: batches of records, each of one of the session's files. Out: the same batches with events and messages. `flushed`
returns what a flush would, but works on a copy, so that the session can continue to grow.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from agentv_stages.chain.consolidate import Consolidate, ConsolidateState
from agentv_stages.chain.decode import Decode
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair, PairState
from agentv_stages.figures.counters import Statistics
from agentv_stages.figures.facts import Facts
from agentv_stages.figures.result import Counters, Observer
from agentv_stages.figures.totals import TotalsState
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import ToolResult, call_key
from agentv_stages.model.message import Message, PairedCall
from agentv_stages.model.payload import NULL
from agentv_stages.model.provider import DecodeContext, Dialect, Provider
from agentv_stages.trajectory import Case, CaseState

MakeCases: TypeAlias = Callable[[], list[Case]]


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


class ChainState(Struct):
    """The state of all stages between two records. `decoders` is by file."""

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
    cases: list[CaseState] = []
    specs: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ChainState).decode


class FollowChain:
    """Decode, normalize, pair, consolidate, observe; synchronous."""

    def __init__(
        self,
        provider: Provider,
        dialect: Dialect,
        watch: tuple[str, ...] = (),
        make_cases: MakeCases = list[Case],
        specs: str = "",
    ) -> None:
        self.provider = provider
        self.make_cases = make_cases
        self.specs = specs  # identifies the cases; a state saved with others does not fit
        self.cases = make_cases()
        self.dialect = dialect
        self.watch = watch
        self.normalize = Normalize(provider.tools)
        self.pair = Pair()
        self.consolidate = Consolidate()
        self.observer = Observer(provider, dialect, watch)
        self.decoders: dict[str, Decode] = {}
        self.ended = False  # made by `flushed`: it is behind the end, and takes nothing more
        self._further: dict[str, tuple[str, DecodeContext]] = {}  # further file: the first one of its log

    def open(self, file: str, context: DecodeContext) -> None:
        """Begins a file, or continues one of that name."""
        if file not in self.decoders:
            self.decoders[file] = Decode(self.dialect, context)

    def join(self, file: str, first: str, context: DecodeContext) -> None:
        """Adds a file that continues the log begun by `first`; it uses the same decoder."""
        self._further[file] = first, context
        self._further.setdefault(first, (first, self.decoders[first].context))

    def rename(self, old: str, new: str) -> None:
        """A file has a new path; its decoder continues."""
        decode = self.decoders.pop(old, None)
        if decode is not None:
            self.decoders[new] = decode
        for file, (first, context) in list(self._further.items()):
            if old in (file, first):
                del self._further[file]
                self._further[new if file == old else file] = new if first == old else first, context

    def _decoder(self, file: str) -> Decode:
        if file not in self._further:
            return self.decoders[file]
        first, context = self._further[file]
        decode = self.decoders[first]
        if decode.context is not context:
            decode = self.decoders[first] = decode.go_on_in(context)
        return decode

    def push(self, batch: Batch) -> Batch:
        """Enriches and observes the batch."""
        self._decoder(batch.file).push(batch)
        return self._through(batch)

    def _through(self, batch: Batch) -> Batch:
        self.normalize.push(batch)
        self.pair.push(batch)
        self.consolidate.push(batch)
        self.observer.observe(batch)
        for case in self.cases:
            case.on_batch(batch)
        return batch

    def snapshot(self) -> bytes:
        """The state as JSON."""
        observer = self.observer
        pair, messages, facts = self.pair.snapshot(), self.consolidate.snapshot(), observer.facts
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
        state = ChainState(
            pair,
            messages,
            facts,
            early,
            results,
            end_result,
            observer.stats.snapshot(),
            observer.totals.snapshot(),
            observer.counters,
            {file: Raw(decode.save()) for file, decode in self.decoders.items()},
            [case.snapshot() for case in self.cases],
            self.specs,
        )
        return _encode(state)

    def restore(self, data: bytes, contexts: dict[str, DecodeContext]) -> None:
        """Restores a state. Raises: msgspec.MsgspecError, KeyError when it is of another version or of other specs."""
        state = _decode(data)
        if state.specs != self.specs:
            raise KeyError("the specs have changed")
        state.pair.early = {call_key(kept.result): kept.back() for kept in state.early}
        self.pair.restore(state.pair)
        waiting = {m.index: m for m in (*state.messages.current.values(), *state.messages.waiting.values())}
        for kept in state.results:
            waiting[kept.index].calls[kept.place].result = kept.back()
        end = state.facts.end
        if end is not None and bytes(state.end_result) != b"null":
            state.facts.end = replace(end, result_json=state.end_result)
        self.consolidate.restore(state.messages)
        observer = self.observer
        observer.facts_observer.facts = state.facts
        observer.stats.restore(state.statistics)
        observer.totals.restore(state.totals)
        observer.counters = state.counters
        for case, saved in zip(self.cases, state.cases, strict=True):
            case.restore(saved)
        for file, raw in state.decoders.items():
            decode = Decode(self.dialect, contexts.get(file) or DecodeContext(file))
            decode.load(bytes(raw))
            self.decoders[file] = decode

    def flushed(self, unfinished: list[Batch]) -> tuple[list[Batch], "FollowChain"]:
        """What would follow if the input ended here, and the chain in the state it would then have.

        `unfinished` holds the last lines without a line end, one batch per file.
        """
        copy = FollowChain(self.provider, self.dialect, self.watch, self.make_cases, self.specs)
        copy.restore(self.snapshot(), {file: decode.context for file, decode in self.decoders.items()})
        copy._further = self._further
        out: list[Batch] = []
        for batch in unfinished:
            out.append(copy.push(batch))
        for decode in copy.decoders.values():
            out += [copy._through(batch) for batch in decode.flush()]
        for batch in copy.pair.flush():
            copy.consolidate.push(batch)
            copy.observer.observe(batch)
            for case in copy.cases:
                case.on_batch(batch)
            out.append(batch)
        for case in copy.cases:
            case.flush()
        for batch in copy.consolidate.flush():
            copy.observer.observe(batch)
            out.append(batch)
        copy.ended = True
        return out, copy


def _without_results(message: Message, results: list[SavedResult]) -> Message:
    """The message as saved; its results are added to `results`."""
    if not any(paired.result is not None for paired in message.calls):
        return message
    for place, paired in enumerate(message.calls):
        if paired.result is not None:
            results.append(SavedResult.of(paired.result, message.index, place))
    return replace(message, calls=[PairedCall(paired.call) for paired in message.calls])

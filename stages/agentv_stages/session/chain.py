"""The stages of one session as one object: decode, normalize, pair, consolidate, the caller's stages, observe.

In: batches of records. Out: the same batches with events and messages, observed. The whole state can be saved, restored
and forked; `stages` are its parts, for callers that run each as a task.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Raw

from agentv_stages.chain.consolidate import Consolidate, ConsolidateState
from agentv_stages.chain.normalize import Normalize
from agentv_stages.chain.pair import Pair
from agentv_stages.figures.result import Observer
from agentv_stages.model.batch import Batch
from agentv_stages.model.provider import DecodeContext, Dialect, Provider
from agentv_stages.model.stage import Stage
from agentv_stages.session import saved
from agentv_stages.session.inputs import DecodeInputs
from agentv_stages.session.parts import NONE, BatchStage, Parts

if TYPE_CHECKING:  # importing the evaluators takes 80 ms, and most sessions are not checked
    from agentv_stages.trajectory import Case

MakeCases: TypeAlias = "Callable[[], list[Case]]"


class Watcher(Protocol):
    """Sees every batch after `Consolidate` and before the sinks: a check, a live view."""

    def observe(self, batch: Batch) -> None:
        """Takes the next batch."""
        ...


class SessionChain:
    """See the module. Files are as in `DecodeInputs`; without `messages` nothing is consolidated.

    `parts` are the caller's stages, `records` those of them that were made to transform the session's records: they
    run ahead of detection and so ahead of this object, which only saves their state. `make_cases` makes what checks the
    session while it is read; `specs` identifies these cases, and a state that was saved with others does not fit. With
    `dated` the observer dates figures.
    """

    def __init__(
        self,
        provider: Provider,
        dialect: Dialect,
        watch: str | tuple[str, ...] = (),
        *,
        file: str = "",
        contexts: dict[str, DecodeContext] | None = None,
        growing: bool = False,
        messages: bool = True,
        parts: Parts = NONE,
        records: list[BatchStage] | None = None,
        stages: Sequence[BatchStage] = (),
        make_cases: MakeCases = list,
        specs: str = "",
        dated: bool = False,
    ) -> None:
        self.provider, self.dialect, self.watch = provider, dialect, watch
        self.make_cases, self.specs, self.parts = make_cases, specs, parts
        self.records = parts.make_records() if records is None else records
        self.own: list[Stage[Any, Any]] = [*parts.make_stages(), *stages]
        redact = parts.redactor.redact if parts.redactor is not None else None
        self.decode = DecodeInputs(dialect, file, contexts, growing=growing, redactor=parts.redactor)
        self.normalize = Normalize(provider.tools)
        self.pair = Pair()
        self.consolidate = Consolidate(redact) if messages or self.own else None
        self.observer = Observer(provider, dialect, watch, redacted=parts.redactor is not None, dated=dated)
        self.cases = make_cases()
        self.watchers: list[Watcher] = []
        self.batches = 0  # how many were observed
        self.ended = False  # flushed: nothing more may be pushed

    @property
    def stages(self) -> list[Stage[Any, Any]]:
        """All stages in order, for callers that run each on its own."""
        consolidate = [self.consolidate] if self.consolidate is not None else []
        return [self.decode, self.normalize, self.pair, *consolidate, *self.own, _Observe(self)]

    def push(self, batch: Batch) -> list[Batch]:
        """Takes the records of one read; returns the batches that they lead to, observed."""
        return [out for decoded in self.front(batch) for out in self.back(decoded)]

    def front(self, batch: Batch) -> tuple[Batch, ...]:
        """The first half, which needs little state: decoded and normalised batches."""
        out = self.decode.push(batch)
        for decoded in out:
            self.normalize.push(decoded)
        return out

    def back(self, batch: Batch) -> Sequence[Batch]:
        """The second half, for normalised batches in their order."""
        self.pair.push(batch)
        return self._behind_pair(batch)

    def _behind_pair(self, batch: Batch) -> Sequence[Batch]:
        if self.consolidate is not None:
            self.consolidate.push(batch)
        return self._observed(self.own, (batch,))

    def _observed(self, own: Sequence[Stage[Any, Any]], batches: Iterable[Batch]) -> Sequence[Batch]:
        for stage in own:
            batches = [out for batch in batches for out in stage.push(batch)]
        done = tuple(batches)
        for batch in done:
            self.observe(batch)
        return done

    def observe(self, batch: Batch) -> None:
        """Counts a batch that has passed all stages, and shows it to the cases and the watchers."""
        self.observer.observe(batch)
        if self.cases:
            original = self.parts.original(batch)
            for case in self.cases:
                case.on_batch(original)
        for watcher in self.watchers:
            watcher.observe(batch)
        self.batches += 1

    def flush(self) -> list[Batch]:
        """Ends the input: returns the held batches, observed."""
        self.ended = True
        out: list[Batch] = []
        for batch in self.decode.flush():
            self.normalize.push(batch)
            out += self.back(batch)
        for batch in self.pair.flush():
            out += self._behind_pair(batch)
        if self.consolidate is not None:
            out += self._observed(self.own, self.consolidate.flush())
        for i, stage in enumerate(self.own):
            out += self._observed(self.own[i + 1 :], stage.flush())
        for case in self.cases:
            case.flush()
        return out

    def snapshot(self) -> bytes:
        """The state as JSON. If the session is redacted, it has no secret either."""
        return self._state(self.parts.hidden(saved.saved_stages(self.cases)))

    def _state(self, cases: list[Raw]) -> bytes:
        messages = self.consolidate.snapshot() if self.consolidate is not None else ConsolidateState()
        state = saved.state_of(self.pair.snapshot(), messages, self.observer)
        state.decoders = self.decode.snapshot().decoders
        state.cases, state.specs = cases, self.specs
        state.records, state.stages = saved.saved_stages(self.records), saved.saved_stages(self.own)
        return saved.encode(state)

    def restore(self, data: bytes) -> None:
        """Restores a state. Raises: msgspec.MsgspecError, KeyError when it is of another version, or was saved with
        other specs or stages."""
        state = saved.decode(data)
        if state.specs != self.specs:
            raise KeyError("the specs have changed")
        saved.joined_again(state)
        self.pair.restore(state.pair)
        if self.consolidate is not None:
            self.consolidate.restore(state.messages)
        saved.restore_observer(self.observer, state)
        saved.restore_stages(self.cases, state.cases)
        saved.restore_stages(self.records, state.records)
        saved.restore_stages(self.own, state.stages)
        self.decode.restore({"decoders": state.decoders})

    def fork(self) -> "SessionChain":
        """A copy, to try what would follow; `watchers` do not see that."""
        copy = SessionChain(
            self.provider,
            self.dialect,
            self.watch,
            growing=True,
            messages=self.consolidate is not None,
            parts=self.parts,
            make_cases=self.make_cases,
            specs=self.specs,
            dated=self.observer.dated is not None,
        )
        copy.decode = self.decode.fork()
        copy.restore(self._state(saved.saved_stages(self.cases)))
        return copy


class _Observe:
    """The stage in which a session's batches are observed."""

    def __init__(self, chain: SessionChain) -> None:
        self._chain = chain

    def push(self, batch: Batch, /) -> tuple[Batch]:
        self._chain.observe(batch)
        return (batch,)

    def flush(self) -> tuple[Batch, ...]:
        return ()

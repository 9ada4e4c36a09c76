"""The tokens of model calls, added up by stream and model; each call, identified by its key, counts once."""

from collections.abc import Collection

from msgspec import Struct

from agentv_stages.model.event import Source, TokenUsage
from agentv_stages.model.recent import Recent
from agentv_stages.model.tokens import Tokens, better, is_unsure

MOST_SUMS = 1_000  # sums that are kept by stream and model; those of later sub-agents are added up under one name
MOST_PLACES = 1_024
ALL = ""  # stands for all streams where a stream's name is expected
OTHER_STREAMS = "(other)"


class StreamModel(Struct):
    """The sum of one model's calls on one stream."""

    stream: str
    model: str | None
    tokens: Tokens


class CallSums:
    """`window` is how many calls are remembered, to recognise repetitions: of them the better one counts."""

    def __init__(self, window: int) -> None:
        self.rows: list[StreamModel] = []
        self._calls = Recent[TokenUsage](window // 2)
        self._sums: dict[tuple[str, str | None], Tokens] = {}
        self._places: dict[str, Source] = {}
        self._stale: dict[str, None] = {}  # streams with calls since `_streams` was brought up to date
        self._streams: dict[str, Tokens] = {}  # the sum of each stream's calls
        self._models: dict[str, list[Tokens]] = {}  # each stream's sums, one a model
        self._all = Tokens()  # the sum of `_streams`
        self._changed: dict[str, None] | None = None  # streams since `begin`; None: any

    def take(self, usage: TokenUsage) -> tuple[TokenUsage | None, TokenUsage]:
        """Takes a record's figures for a call; returns the figures that counted for this call before, and those of
        now.
        """
        known = self._calls.get(usage.key)
        if known is not None:
            if _differ_in_output_only(known, usage):
                return known, self._with_output(known, usage)
            self._sum(known).add(known, -1)
            usage = better(known, usage)
        self._calls.put(usage.key, usage)
        self._sum(usage).add(usage)
        return known, usage

    def _with_output(self, known: TokenUsage, usage: TokenUsage) -> TokenUsage:
        """As `take`, where at most the output differs."""
        if known.output_final == usage.output_final:
            kept = usage if (usage.output or 0) > (known.output or 0) else known
        else:
            kept = usage if usage.output_final else known
        self._calls.put(usage.key, kept)
        if kept is usage:
            tokens = self._sum(known)
            tokens.output = (tokens.output or 0) + (usage.output or 0) - (known.output or 0)
            tokens.unsure += is_unsure(usage) - is_unsure(known)
        return kept

    def of(self, stream: str) -> Tokens:
        """The sum of a stream's calls so far, or of all streams' (`ALL`)."""
        streams = self.streams()
        calls = self._all if stream == ALL else streams.get(stream)
        return calls.copy() if calls is not None else Tokens()

    def streams(self) -> dict[str, Tokens]:
        """The sum of the calls of each stream, not to be changed."""
        for stream in self._stale:
            calls = Tokens()
            for tokens in self._models[stream]:
                calls.add(tokens)
            before = self._streams.get(stream)
            if before is not None:
                self._all.add(before, -1)
            self._all.add(calls)
            self._streams[stream] = calls
            self.touch(stream)
        self._stale = {}
        return self._streams

    def touch(self, stream: str) -> None:
        """Something else about a stream has changed."""
        if self._changed is not None:
            self._changed[stream] = None

    def changed(self) -> Collection[str] | None:
        """The streams that have changed since `begin`; None where it is not known."""
        self.streams()
        return self._changed

    def begin(self) -> None:
        """From now on, `changed` notes the streams anew."""
        self._changed = {}

    def _sum(self, usage: TokenUsage) -> Tokens:
        key = (usage.source.stream, usage.model)
        tokens = self._sums.get(key)
        if tokens is None and len(self._sums) >= MOST_SUMS:
            key = (OTHER_STREAMS, usage.model)
            tokens = self._sums.get(key)
            if tokens is None and len(self._sums) >= 2 * MOST_SUMS:  # too many models as well
                key = (OTHER_STREAMS, None)
                tokens = self._sums.get(key)
        if tokens is None:
            tokens = self._sums[key] = Tokens()
            self.rows.append(StreamModel(*key, tokens))
            self._models.setdefault(key[0], []).append(tokens)
        self._stale[key[0]] = None
        return tokens

    def _kept(self, usage: TokenUsage) -> TokenUsage:
        """The remembered part of a call: its figures and its stream, but not its place in the file."""
        stream = usage.source.stream
        place = self._places.get(stream)
        if place is None:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            place = self._places[stream] = Source("", 0, 0, 0, None, stream)
        return TokenUsage(
            place,
            "",
            usage.key,
            "call",
            usage.model,
            usage.input,
            usage.cached,
            usage.cache_write,
            usage.cache_write_1h,
            usage.output,
            usage.reasoning,
            usage.output_final,
            False,
            usage.cost_usd,
            of_subagent=usage.of_subagent,
            web_searches=usage.web_searches,
        )

    def remembered(self) -> dict[str, TokenUsage]:
        """The remembered calls, which with `rows` are the state."""
        return {key: self._kept(usage) for key, usage in self._calls.items().items()}

    def restore(self, rows: list[StreamModel], calls: dict[str, TokenUsage]) -> None:
        self.rows = rows
        self._calls.load(calls)
        self._sums = {(row.stream, row.model): row.tokens for row in rows}
        self._streams, self._models, self._all, self._changed = {}, {}, Tokens(), None
        for row in rows:
            self._models.setdefault(row.stream, []).append(row.tokens)
        self._stale = dict.fromkeys(self._models)


def _differ_in_output_only(known: TokenUsage, usage: TokenUsage) -> bool:
    """Whether two records of a call are alike but for the output, as the lines of a message are."""
    return (
        known.input == usage.input
        and known.output is not None
        and usage.output is not None
        and known.cached == usage.cached
        and known.cache_write == usage.cache_write
        and known.cache_write_1h == usage.cache_write_1h
        and known.reasoning == usage.reasoning
        and known.model == usage.model
        and known.cost_usd == usage.cost_usd
        and known.web_searches == usage.web_searches
        and known.of_subagent == usage.of_subagent
        and known.source.stream == usage.source.stream
    )

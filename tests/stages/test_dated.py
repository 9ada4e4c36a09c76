"""Dated figures: by quarter of an hour and model, and in all exactly the figures of the session."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentv_stages.chain.pair import Pair
from agentv_stages.figures.dated import SLOT_MS, DatedState, Span
from agentv_stages.figures.result import Observer
from agentv_stages.figures.totals import TotalsState
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AnyEvent, Outcome, SessionInfo, TokenUsage
from agentv_stages.model.tokens import FIELDS, pico
from agentv_stages.providers import get_provider
from agentv_stream.errors import AgentvStreamError
from agentv_stream.sources.files import read_pieces
from agentv_stream.summary import SessionReader
from support.events import at, batch, call, end, result

FIXTURES = Path(__file__).parents[1] / "fixtures"
LOGS = sorted(
    path
    for path in (*FIXTURES.rglob("*"), *FIXTURES.parents[1].glob("examples/*"))
    if path.suffix in (".json", ".jsonl")
)
MIDNIGHT = 20_000 * 86_400_000
MODELS = ("big", "small", None)


def observer_of(events: Sequence[AnyEvent], cuts: Sequence[int] = ()) -> Observer:
    provider = get_provider("claude")
    observer, pairs = Observer(provider, provider.dialects[0], dated=True), Pair()
    bounds = sorted({0, *cuts, len(events)})
    for begin, stop in pairwise(bounds):
        part = batch(*events[begin:stop])
        pairs.push(part)
        observer.observe(part)
    return observer


def spans_of(observer: Observer) -> list[Span]:
    assert observer.dated is not None
    return observer.dated.spans(observer.facts)


def check_sums(observer: Observer) -> None:
    """The spans add up to the session, and none of them is below 0 unless the session is."""
    spans, totals = spans_of(observer), observer.totals
    whole = totals.tokens()
    for name in (*FIELDS, "unsure", "web_searches"):
        assert sum(getattr(span.tokens, name) or 0 for span in spans) == (getattr(whole, name) or 0), name
    cost = totals.cost_usd
    assert sum(span.tokens.cost_pico or 0 for span in spans) == (0 if cost is None else pico(cost))
    assert sum(span.turns for span in spans) == observer.stats.turns
    assert sum(span.model_calls for span in spans) == totals.state.model_calls
    cells = [cell for span in spans for cell in span.tools]
    known = observer.stats.figures.cells
    assert sum(cell.calls for cell in cells) == sum(cell.calls for cell in known)
    for outcome in ("ok", "error", "denied", "cancelled"):
        assert sum(cell.outcomes.get(outcome, 0) for cell in cells) == sum(cell.outcomes[outcome] for cell in known)
    assert sum(cell.durations.total for cell in cells) == sum(cell.durations.total for cell in known)
    for name in (
        *FIELDS,
        "unsure",
        "web_searches",
    ):  # a corrected call after a made-up total may make a session less than nothing
        if (getattr(whole, name) or 0) >= 0:
            assert all((getattr(span.tokens, name) or 0) >= 0 for span in spans), name


def test_every_recording_adds_up() -> None:
    read = 0
    for path in LOGS:
        try:
            reader = SessionReader(read_pieces(path), str(path), dated=True)
            for _ in reader.batches():
                pass
        except AgentvStreamError:
            continue
        check_sums(reader.observer)
        read += 1
    assert read > 40


def test_a_session_over_midnight_is_split_over_its_days() -> None:
    before, after = MIDNIGHT - 60_000, MIDNIGHT + 60_000
    observer = observer_of(
        [
            SessionInfo(at(0, before), "", "s", model="big"),
            call(1, "a", "Bash", "m1", kind="execute", time_ms=before),
            TokenUsage(at(1, before), "u", "m1", model="big", input=100, output=10),
            result(2, "a", "error", time_ms=after),
            call(3, "b", "Read", "m2", kind="read", time_ms=after),
            TokenUsage(at(3, after), "u", "m2", model="small", input=7, output=1),
            TokenUsage(at(4, after), "u", "m1", model="big", input=100, output=90),
        ]
    )
    first, *rest = spans_of(observer)
    assert (first.slot, first.model, first.turns, first.tokens.input, first.tokens.output) == (
        MIDNIGHT // SLOT_MS - 1, "big", 1, 100, 90,
    )  # fmt: skip
    assert [(cell.tool, cell.calls, cell.outcomes) for cell in first.tools] == [("Bash", 1, {"error": 1})]
    assert {(span.slot, span.model) for span in rest} == {(MIDNIGHT // SLOT_MS, "small"), (MIDNIGHT // SLOT_MS, "big")}
    assert sum(span.tokens.output or 0 for span in rest) == 1


def test_what_only_totals_say_is_dated_by_them() -> None:
    """Two runs in one log, a day apart: each one's cost belongs to its own day."""
    day = 96
    events: list[AnyEvent] = [SessionInfo(at(0, MIDNIGHT), "", "s", model="big")]
    for run in (0, 1):
        now = MIDNIGHT + run * day * SLOT_MS
        events += [
            TokenUsage(at(1 + 9 * run, now), "u", f"m{run}", model="big", input=50, output=1, output_final=False),
            TokenUsage(at(2 + 9 * run, now + SLOT_MS), "t", "", scope="segment", input=50, output=40 + run),
            end(3 + 9 * run, cost_usd=1.0 + 2 * run),
        ]
    spans = {span.slot: span.tokens for span in spans_of(observer_of(events)) if span.slot is not None}
    first = MIDNIGHT // SLOT_MS
    assert spans[first + 1].cost_pico == 10**12
    assert spans[first + day + 1].cost_pico == 2 * 10**12
    assert (spans[first + 1].output or 0) + (spans[first].output or 0) == 40
    assert sum(tokens.input or 0 for tokens in spans.values()) == 100
    check_sums(observer_of(events))


def test_each_model_has_the_cost_that_the_agent_names() -> None:
    """The costs of the models add up to the total, but for binary rounding; nothing is left for an unknown model."""
    costs = {"big": 0.3, "small": 0.1 + 1e-12}
    lines: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "s", "model": "big", "tools": [], "cwd": "/w"},
        *(
            {
                "type": "assistant",
                "session_id": "s",
                "message": {
                    "id": f"m-{model}",
                    "model": model,
                    "content": [{"type": "text", "text": "x"}],
                    "usage": {"input_tokens": 100, "output_tokens": 1},
                },
            }
            for model in costs
        ),
        {
            "type": "result",
            "subtype": "success",
            "session_id": "s",
            "is_error": False,
            "total_cost_usd": 0.4,
            "modelUsage": {
                model: {"inputTokens": 100, "outputTokens": 40, "costUSD": cost} for model, cost in costs.items()
            },
        },
    ]
    log = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    reader = SessionReader([log], "log.jsonl", dated=True)
    for _ in reader.batches():
        pass
    by_model: dict[str | None, int] = {}
    for span in spans_of(reader.observer):
        by_model[span.model] = by_model.get(span.model, 0) + (span.tokens.cost_pico or 0)
        assert not span.tokens.unsure
    assert by_model == {"big": 3 * 10**11 - 1, "small": 10**11 + 1}
    check_sums(reader.observer)


PATIENT = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])  # with other work
TIMES = st.none() | st.integers(0, 400).map(lambda quarter: MIDNIGHT + quarter * SLOT_MS // 3)
OUTCOMES: tuple[Outcome | None, ...] = ("ok", "error", None)
COUNTS = st.none() | st.integers(0, 50)


@st.composite
def histories(draw: st.DrawFn) -> list[AnyEvent]:
    """Calls, results, usages (repeated ones, placeholders), totals and ends, of several streams and models."""
    events: list[AnyEvent] = []
    opened: list[str] = []
    for row in range(draw(st.integers(1, 16))):
        stream = draw(st.sampled_from(("main", "main", "sidechain:a")))
        time_ms, model = draw(TIMES), draw(st.sampled_from(MODELS))
        where = at(row, time_ms, stream)
        kind = draw(st.sampled_from(("info", "call", "result", "usage", "usage", "share", "segment", "session", "end")))
        counts: dict[str, Any] = {
            name: draw(COUNTS) for name in ("input", "cached", "output", "reasoning", "web_searches")
        }
        if kind == "info":
            events.append(SessionInfo(where, "", "s", model=model, another=draw(st.booleans())))
        elif kind == "call":
            opened.append(f"c{row}")
            tool = draw(st.sampled_from(("Read", "Bash")))
            message = draw(st.sampled_from(("m1", "m2", "m3")))
            events.append(call(row, f"c{row}", tool, message, stream=stream, time_ms=time_ms, model=model))
        elif kind == "result" and opened:
            outcome: Outcome | None = draw(st.sampled_from(OUTCOMES))
            events.append(result(row, draw(st.sampled_from(opened)), outcome, stream=stream, time_ms=time_ms))
        elif kind == "usage":
            key, final = draw(st.sampled_from(("k1", "k2", "k3", f"k{row}"))), draw(st.booleans())
            cost = draw(st.sampled_from((None, 0.5)))
            events.append(TokenUsage(where, "u", key, "call", model, output_final=final, cost_usd=cost, **counts))
        elif kind == "share":
            events.append(TokenUsage(where, "u", "", "share", model or "big", **counts))
        elif kind in ("segment", "session"):
            covers, later = draw(st.booleans()), draw(st.booleans())
            events.append(
                TokenUsage(where, "u", "", kind, covers_streams=covers, covers_later=later, **counts)  # type: ignore[arg-type]  # the two words
            )
        elif kind == "end":
            events.append(end(row, cost_usd=draw(st.sampled_from((None, 1.0, 2.5)))))
    return events


@PATIENT
@given(histories())
def test_whatever_a_log_says_the_spans_add_up_to_the_session(events: list[AnyEvent]) -> None:
    check_sums(observer_of(events))


@PATIENT
@given(histories(), st.lists(st.integers(0, 16), max_size=4))
def test_spans_do_not_depend_on_how_the_input_is_cut(events: list[AnyEvent], cuts: list[int]) -> None:
    bounds = [cut for cut in cuts if cut < len(events)]
    assert spans_of(observer_of(events, bounds)) == spans_of(observer_of(events))


@PATIENT
@given(histories(), st.integers(0, 16))
def test_the_state_goes_from_process_to_process(events: list[AnyEvent], place: int) -> None:
    whole, first = observer_of(events), observer_of(events[:place])
    provider = get_provider("claude")
    second = Observer(provider, provider.dialects[0], dated=True)
    assert first.dated is not None and second.dated is not None
    second.facts_observer.restore(first.facts_observer.snapshot())
    second.stats.restore(first.stats.snapshot())
    saved = msgspec.json.decode(msgspec.json.encode(first.totals.snapshot()), type=TotalsState)
    second.totals.restore(saved)
    second.dated.restore(msgspec.json.decode(msgspec.json.encode(first.dated.snapshot()), type=DatedState))
    rest, pairs = batch(*events[place:]), Pair()
    before = batch(*events[:place])
    pairs.push(before)
    pairs.push(rest)
    second.observe(rest)
    assert spans_of(second) == spans_of(whole)


def test_nothing_is_dated_unless_somebody_wants_it() -> None:
    provider = get_provider("claude")
    observer = Observer(provider, provider.dialects[0])
    observer.observe(Batch())
    totals = observer.totals
    assert [observer.dated, observer.stats.begun, totals.counted, totals.on_total] == [None] * 4


@pytest.mark.parametrize("name", ["MOST_SPANS", "MOST_CELLS"])
def test_a_log_cannot_claim_any_number_of_spans(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"agentv_stages.figures.dated.{name}", 5)
    events: list[AnyEvent] = []
    for n in range(40):
        now = MIDNIGHT + n * SLOT_MS
        events += [
            call(3 * n, f"c{n}", f"tool{n}", f"m{n}", time_ms=now, model=f"model{n}"),
            TokenUsage(at(3 * n + 1, now), "u", f"m{n}", model=f"model{n}", input=n, output=1),
            result(3 * n + 2, f"c{n}", time_ms=now),
        ]
    observer = observer_of(events)
    check_sums(observer)
    assert observer.dated is not None
    if name == "MOST_SPANS":
        assert len(observer.dated.state.spans) <= 6
    else:
        assert len({cell.tool for span in observer.dated.state.spans for cell in span.tools}) <= 6

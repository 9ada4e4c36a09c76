"""Memory that does not grow with the session: many sub-agents leave nothing behind but figures."""

from msgspec import Raw

from agentv_stages.chain.consolidate import MOST_STREAMS, Consolidate
from agentv_stages.chain.pair import MOST_OPEN
from agentv_stages.figures.call_sums import MOST_SUMS
from agentv_stages.figures.result import MOST_NAMES, Observer
from agentv_stages.figures.totals import Totals
from agentv_stages.model.batch import Batch
from agentv_stages.model.event import AssistantText, Source, TokenUsage, ToolCall, ToolResult
from agentv_stages.providers.claude import PROVIDER
from agentv_stages.sinks.event_lines import EventLines

AGENTS = 3 * MOST_SUMS


def answer(n: int) -> Batch:
    source = Source("f", n, n * 10, 10, None, f"sidechain:{n}")
    usage = TokenUsage(source, "", f"m{n}", "call", "model", 10, output=1)
    return Batch("f", events=[AssistantText(source, "", f"m{n}", Raw(b'"text"')), usage])


def test_the_last_messages_of_sub_agents_that_ended_leave() -> None:
    stage = Consolidate()
    left = 0
    for n in range(AGENTS):
        (batch,) = stage.push(answer(n))
        left += len(batch.messages)
    assert left >= AGENTS - MOST_STREAMS
    left += sum(len(batch.messages) for batch in stage.flush())
    assert left == AGENTS


def test_the_tokens_of_models_without_end_stay_exact() -> None:
    totals = Totals()
    for n in range(AGENTS):
        usage = TokenUsage(Source("f", n, n, 1), "", f"m{n}", "call", f"model {n}", 10, output=1, output_final=False)
        totals.observe(Batch("f", events=[usage]))
    for n in range(AGENTS - 500, AGENTS):  # the last ones again, with what they really gave
        usage = TokenUsage(Source("f", n, n, 1), "", f"m{n}", "call", f"model {n}", 10, output=5)
        totals.observe(Batch("f", events=[usage]))
    tokens = totals.tokens()
    assert (tokens.input, tokens.output) == (10 * AGENTS, AGENTS + 4 * 500)
    assert len(totals.snapshot().sums) <= 2 * MOST_SUMS + 1


def test_calls_that_get_no_result_do_not_stay_with_the_ids_of_events() -> None:
    lines = EventLines("session")
    for n in range(MOST_OPEN + 5):
        lines.value(ToolCall(Source("f", n, n, 1), "", "m", f"c{n}", "Bash", Raw(b"{}")))
    assert len(lines.snapshot().calls) == MOST_OPEN
    late = lines.value(ToolResult(Source("f", MOST_OPEN + 5, 0, 1), "", f"c{MOST_OPEN + 4}"))
    assert late["content"]["tool_call_id"] == late["parent_id"]


def test_names_of_unknown_records_are_bounded() -> None:
    dialect = PROVIDER.dialects[0]
    observer = Observer(PROVIDER, dialect)
    for n in range(AGENTS):
        observer.observe(Batch("f", unknown={f"type {n}": 1}, ignored={f"x{n}" * 1_000: 1}))
    assert len(observer.counters.unknown) == MOST_NAMES + 1
    assert observer.counters.unknown["(other)"] == AGENTS - MOST_NAMES
    assert observer.counters.ignored == {"(other)": AGENTS}


def test_the_tokens_of_many_sub_agents_stay_exact() -> None:
    totals = Totals()
    for n in range(AGENTS):
        totals.observe(answer(n))
    tokens = totals.tokens()
    assert (tokens.input, tokens.output) == (10 * AGENTS, AGENTS)
    assert len(totals.by_stream()) <= MOST_SUMS + 1

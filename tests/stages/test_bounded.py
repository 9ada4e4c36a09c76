"""Memory that does not grow with the session: many sub-agents leave nothing behind but figures."""

from msgspec import Raw

from agentv_stages.batch import Batch
from agentv_stages.consolidate import MOST_STREAMS, Consolidate
from agentv_stages.event import AssistantText, Source, TokenUsage
from agentv_stages.totals import MOST_SUMS, Totals

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


def test_the_tokens_of_many_sub_agents_stay_exact() -> None:
    totals = Totals()
    for n in range(AGENTS):
        totals.observe(answer(n))
    tokens = totals.tokens()
    assert (tokens.input, tokens.output) == (10 * AGENTS, AGENTS)
    assert len(totals.by_stream()) <= MOST_SUMS + 1

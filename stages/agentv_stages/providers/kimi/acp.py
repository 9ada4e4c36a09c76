"""Kimi Code's habits over ACP. Source: recordings of 0.31 to 2.1."""

from msgspec import Raw

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.event import Outcome
from agentv_stages.providers.kimi.results import agent_named, failure
from agentv_stages.providers.kimi.tools import ROWS


def failed(output: Raw, marked: bool) -> tuple[Outcome, int | None]:
    return failure(bytes(output))


def child(output: Raw, raw: Raw) -> str | None:
    """The sub-agent, which its result names."""
    return agent_named(bytes(output))


HABITS = AcpHabits(
    marks=("kimi",),
    writes_visibly=True,
    hides_agents=True,
    searches=frozenset(row.native for row in ROWS if row.kind == "search"),
    failure=failed,
    child=child,
)

"""The habits (`Provider.acp`) of the agent that a connection names, or those of all agents if it names none."""

from functools import cache

from agentv_stages.model.acp import AcpHabits
from agentv_stages.model.provider import Provider
from agentv_stages.providers import NAMES, get_provider, plugins

OWN = "acp"


@cache
def speakers() -> tuple[Provider, ...]:
    """The providers whose agents speak the protocol."""
    known = [get_provider(name) for name in NAMES if name != OWN]
    return tuple(provider for provider in (*known, *plugins().values()) if provider.acp is not None)


@cache
def habits_of(agent: str) -> AcpHabits:
    """The habits of a provider's agent; for "" those by which any agent's calls may be named."""
    known = {provider.name: provider.acp for provider in speakers() if provider.acp is not None}
    found = known.get(agent)
    if found is not None:
        return found
    in_id = next((habits for habits in known.values() if habits.name_in_id is not None), AcpHabits())
    in_words = next((habits for habits in known.values() if habits.name_in_words is not None), AcpHabits())
    return AcpHabits(
        name_in_id=in_id.name_in_id,
        part_in_id=in_id.part_in_id,
        name_in_words=in_words.name_in_words,
        shows_arguments=True,
    )


def agent_of(name: str | None, auth: tuple[str, ...] = ()) -> str:
    """Which agent speaks: from `agentInfo.name`, or from the login methods that it offers."""
    for text in (name or "", *auth):
        low = text.lower()
        for provider in speakers():
            if provider.acp is not None and any(mark in low for mark in provider.acp.marks):
                return provider.name
    return ""

"""Looks up a provider by its name or an alias; the one place where an unknown name is refused."""

from typing import overload

from agentv_stages.model.provider import Provider
from agentv_stages.providers import NAMES, all_providers, get_provider
from agentv_stream.errors import UsageError


@overload
def named_provider(name: str) -> Provider: ...
@overload
def named_provider(name: str | None) -> Provider | None: ...
def named_provider(name: str | None) -> Provider | None:
    """The provider; None for no name (it is then detected from the content). Raises: UsageError for an unknown name."""
    if name is None:
        return None
    try:
        return get_provider(name)
    except KeyError:
        from agentv_stream.nearest import suggestion

        known = {alias for provider in all_providers() for alias in (provider.name, *provider.aliases)}
        near = suggestion(str(name), known, otherwise=NAMES)
        raise UsageError(f"no provider is called {name!r}{near}") from None

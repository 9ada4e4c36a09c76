"""A provider is found by its name and its aliases; a name that nobody has is an error of usage."""

import pytest

from agentv_stages.providers import all_providers
from agentv_stream.discovery.discover import only
from agentv_stream.discovery.places import find_roots
from agentv_stream.errors import UsageError
from agentv_stream.names import named_provider


def test_providers_are_named_by_themselves_and_their_aliases() -> None:
    for provider in all_providers():
        for name in (provider.name, *provider.aliases):
            assert named_provider(name) is provider
    assert named_provider(None) is None


def test_an_unknown_name_is_an_error_of_usage_wherever_it_is_given() -> None:
    with pytest.raises(UsageError, match="no provider is called 'nobody'"):
        named_provider("nobody")
    with pytest.raises(UsageError, match="no provider is called 'nobody'"):
        only("nobody")
    with pytest.raises(UsageError, match="no provider is called 'nobody'"):
        find_roots(provider="nobody")


def test_the_nearest_name_is_offered_else_all_names_are() -> None:
    with pytest.raises(UsageError, match="'claud'; did you mean 'claude'"):
        named_provider("claud")
    with pytest.raises(UsageError, match="'Codex'; did you mean 'codex'"):
        named_provider("Codex")
    with pytest.raises(UsageError, match="there are: claude, codex, copilot, gemini"):
        named_provider("xyzzy")

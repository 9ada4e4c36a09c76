"""The built-in providers against the rules of the conformance kit that need no log of their own."""

from pathlib import Path

import pytest

from agentv_stages.model.provider import Provider
from agentv_stages.providers import NAMES, get_provider
from agentv_stages.session.detect import rank
from agentv_stream.testing.conformance import check_facts, fixtures
from agentv_stream.testing.laws import head_of, record_log

BUILT_IN = [get_provider(name) for name in NAMES]
OF_ANY_AGENT = ("acp", "generic")
FAMILY = {("oh-my-pi", "pi"), ("acp", "copilot"), ("grok", "acp")}
"""A folder of logs, and the provider that reads some of them: agents with a format in common."""


def test_the_kit_has_logs_of_nearly_every_provider() -> None:
    without = {provider.name for provider in BUILT_IN} - {name for name, _ in fixtures()}
    assert without == {"codex", "gemini", "qwen", "vscode", "generic"}  # recordings, or written by tests


@pytest.mark.parametrize("provider", [p for p in BUILT_IN if p.name not in OF_ANY_AGENT], ids=lambda p: p.name)
def test_a_built_in_provider_keeps_the_rules(provider: Provider) -> None:
    check_facts(provider)


@pytest.mark.parametrize(("name", "path"), list(fixtures()), ids=lambda value: getattr(value, "name", value))
def test_a_log_of_the_kit_is_that_of_its_provider(name: str, path: Path) -> None:
    for _, provider, _ in rank(list(head_of(record_log(path.read_bytes()))))[:1]:
        assert provider.name == name or (name, provider.name) in FAMILY

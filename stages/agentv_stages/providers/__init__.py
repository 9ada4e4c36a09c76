"""The providers, one package each; imported when asked for, because making their decoders takes time.

The order is that of detection: the commoner first. A new provider adds its name here or comes as a plug-in
(entry point group `agentv_stream.providers`), which touches nothing.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from keyword import iskeyword

from agentv_stages.model.provider import Dialect, Provider
from agentv_stages.providers.log_roots import LOG_ROOTS

NAMES = (
    *("claude", "codex", "copilot", "gemini", "antigravity", "qwen", "oh-my-pi", "openclaw", "pi", "kilo", "opencode"),
    *("crush", "droid", "kiro", "goose", "amp", "cursor", "kimi", "cline", "continue", "grok", "mini-swe-agent"),
    *("swe-agent", "openhands", "vibe", "langchain", "openai-agents", "acp", "vscode", "otlp", "generic"),
)
GROUP = "agentv_stream.providers"


@cache
def plugins() -> dict[str, Provider]:
    """Providers that other distributions bring, by name. What cannot be used of one is left out with a warning."""
    from agentv_stages.providers.plugin_loading import load_plugins

    return load_plugins(GROUP, NAMES)


def package_of(name: str) -> str:
    """The package of a provider of ours, whose name may be a keyword of Python."""
    package = name.replace("-", "_")
    return f"{package}_" if iskeyword(package) else package


@cache
def get_provider(name: str) -> Provider:
    """The provider called `name`, or whose alias `name` is (AgentV's kinds: `claude-cli`, `copilot-events`…).

    Raises: KeyError for a name that no provider has.
    """
    if name in NAMES:
        provider = import_module(f"agentv_stages.providers.{package_of(name)}").PROVIDER
        assert isinstance(provider, Provider)
        return provider
    for candidate in (*map(get_provider, NAMES), *plugins().values()):
        if name == candidate.name or name in candidate.aliases:
            return candidate
    raise KeyError(name)


@cache
def store_owner(name: str, version: str | None = None) -> tuple[Provider, Dialect]:
    """Whose session it is in a database of that provider, and its dialect. Several agents may share the form of the
    database; then the version that wrote the session decides.
    """
    owner = get_provider(name)
    if owner.owns_store is not None:
        owner = next(p for p in store_providers() if p.owns_store is not None and p.owns_store(version))
    return owner, next(dialect for dialect in owner.dialects if dialect.stored)


def store_providers() -> Iterator[Provider]:
    """Every provider, those with databases among their roots first: the others are imported when they are reached."""
    first = [name for name in NAMES if any(root.database for root in LOG_ROOTS.get(name, ()))]
    for name in (*first, *(name for name in NAMES if name not in first)):
        yield get_provider(name)
    yield from plugins().values()


def all_providers() -> list[Provider]:
    """Every provider, in the order of detection, plug-ins last."""
    return [*map(get_provider, NAMES), *plugins().values()]

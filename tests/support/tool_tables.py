"""The tables of tools of all providers."""

from agentv_stages.providers import NAMES, get_provider

TABLES = {name: get_provider(name).tools for name in NAMES}

"""The tables of tools of all providers, without their decoders."""

from importlib import import_module

from agentv_stages.model.tools import ToolTable
from agentv_stages.providers import NAMES, package_of


def _table(name: str) -> ToolTable:
    table = import_module(f"agentv_stages.providers.{package_of(name)}.tools").TABLE
    assert isinstance(table, ToolTable)
    return table


TABLES = {name: _table(name) for name in NAMES}

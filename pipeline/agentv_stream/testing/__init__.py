"""The pytest plugin (fixtures `agent` and `trajectory`, specs as tests), and the conformance kit for providers.

Nothing is imported until it is used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentv_stream.testing.agent import Agent
    from agentv_stream.testing.conformance import ProviderTests
    from agentv_stream.testing.expectation import Expectation, Used
    from agentv_stream.testing.laws import (
        check_hostile,
        check_laws,
        check_memory,
        check_odd_shapes,
        record_log,
        record_values,
    )
    from agentv_stream.testing.trajectory import Trajectory

__all__ = [
    "Agent",
    "Expectation",
    "ProviderTests",
    "Trajectory",
    "Used",
    "check_hostile",
    "check_laws",
    "check_memory",
    "check_odd_shapes",
    "record_log",
    "record_values",
]
_MODULES = {
    "Used": "expectation",
    "ProviderTests": "conformance",
    **dict.fromkeys(
        ("check_hostile", "check_laws", "check_memory", "check_odd_shapes", "record_log", "record_values"), "laws"
    ),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES.get(name, name.lower())}"), name)

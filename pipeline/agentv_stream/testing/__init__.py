"""The pytest plugin: fixtures `agent` and `trajectory`, and specs as tests. Nothing is imported until it is used."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentv_stream.testing.agent import Agent
    from agentv_stream.testing.expectation import Expectation, Used
    from agentv_stream.testing.trajectory import Trajectory

__all__ = ["Agent", "Expectation", "Trajectory", "Used"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{'expectation' if name == 'Used' else name.lower()}"), name)

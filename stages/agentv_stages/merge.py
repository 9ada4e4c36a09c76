"""The old place of `agentv_stages.figures.merge`."""

from agentv_stages.figures.merge import *  # noqa: F403

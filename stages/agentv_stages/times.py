"""The old place of `agentv_stages.model.times`."""

from agentv_stages.model.times import *  # noqa: F403

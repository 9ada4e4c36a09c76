"""The old place of `agentv_stages.model.event`."""

from agentv_stages.model.event import *  # noqa: F403

"""The old place of `agentv_stages.model.tools`."""

from agentv_stages.model.tools import *  # noqa: F403

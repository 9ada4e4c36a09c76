"""The old place of `agentv_stages.model.provider`."""

from agentv_stages.model.provider import *  # noqa: F403

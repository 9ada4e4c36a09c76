"""The old place of `agentv_stages.model.batch`."""

from agentv_stages.model.batch import *  # noqa: F403

"""The Agent Client Protocol: recordings of its messages, whichever agent speaks."""

from agentv_stages.model.provider import Dialect, Provider
from agentv_stages.providers.acp.detect import detect
from agentv_stages.providers.acp.session import AcpDecoder
from agentv_stages.providers.acp.tools import TABLE

LOSSES = (
    "times, unless the recorder added them",
    "native tool names, if the agent does not give them (titles, kinds and arguments decide)",
    "whether a text or a plan is repeated",
    "the prompt, unless the client's messages were recorded",
    "Gemini: arguments, output and exit codes of most calls; calls of unknown tools",
    "tokens of a prompt that was not answered to its end",
    "Gemini: sub-agents; the tokens of thoughts, and which tokens were cached",
    "OpenCode, Kilo: tokens of all steps but the last, so all of a prompt with calls; sub-agents",
    "Qwen from 0.24: what sub-agents in the background do, and their tokens",
    "Copilot: which text is a sub-agent's (the calls around it decide); that a prompt failed (its text decides)",
)

PROVIDER = Provider(
    name="acp",
    title="Agent Client Protocol",
    dialects=(Dialect("acp", detect, AcpDecoder, live=True, has_end=True, losses=LOSSES, has_prompt=False),),
    tools=TABLE,
)

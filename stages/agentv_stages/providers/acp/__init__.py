"""The Agent Client Protocol: recordings of its messages, whichever agent speaks."""

from agentv_stages.provider import Dialect, Provider
from agentv_stages.providers.acp.detect import detect
from agentv_stages.providers.acp.session import AcpDecoder
from agentv_stages.providers.acp.tools import TABLE

LOSSES = (
    "no times, unless the recorder added them",
    "tool names are taken from titles, kinds and arguments where the agent does not tell them",
    "whether a text or a plan is repeated",
    "the prompt is known only where the client's messages were recorded",
    "Gemini: no arguments, output and exit codes of most calls, none of unknown tools",
    "tokens of a prompt that was not answered to its end",
    "Gemini: no sub-agents, thoughts are not in the output tokens, the cached part is not told",
    "OpenCode, Kilo: tokens of the last step only, so none of a prompt with calls; no sub-agents",
    "Qwen from 0.24: what sub-agents in the background do, and their tokens",
    "Copilot: text of sub-agents is not marked; the calls around it tell it apart; an error ends as a good prompt",
)

PROVIDER = Provider(
    name="acp",
    title="Agent Client Protocol",
    dialects=(Dialect("acp", detect, AcpDecoder, live=True, has_end=True, losses=LOSSES, has_prompt=False),),
    tools=TABLE,
)

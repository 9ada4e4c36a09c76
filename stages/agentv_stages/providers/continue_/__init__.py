"""Continue: what its command line `cn` prints, and the sessions that it and Continue's editor extension keep.

The package's name has an underscore because `continue` is a keyword of Python. Source: Continue CLI 1.5.47.
"""

from agentv_stages.model.provider import PROMPT, About, Dialect, LogRoot, Provider, Start
from agentv_stages.providers.continue_.detect import detect_output, detect_session
from agentv_stages.providers.continue_.output import LOSSES as OUTPUT_LOSSES
from agentv_stages.providers.continue_.output import OutputDecoder
from agentv_stages.providers.continue_.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.continue_.session import SessionDecoder
from agentv_stages.providers.continue_.tools import TABLE

PROVIDER = Provider(
    name="continue",
    title="Continue",
    dialects=(
        Dialect(
            "continue-output",
            detect_output,
            OutputDecoder,
            True,
            True,
            OUTPUT_LOSSES,
            False,
            answer_only=True,
            about=About(
                made_by="cn -p --format json PROMPT",
                versions="1.5.47",
                end="the only printed answer; an error",
            ),
        ),
        Dialect(
            "continue-session",
            detect_session,
            SessionDecoder,
            False,
            False,
            SESSION_LOSSES,
            about=About(
                made_by="every session; of `cn -p` those that ended well; `/export`",
                versions="1.5.47",
                end="none; complete when the last answer asks for no tool",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(("cn", "-p", PROMPT, "--format", "json")),
    aliases=("continue-cli", "cn"),
    roots=(LogRoot("~/.continue/sessions", "CONTINUE_GLOBAL_DIR", "sessions", ("*.json",)),),
)

"""OpenHands (PyPI `openhands`, `openhands-sdk`): the stream of its CLI, its conversations on disk.

Source: CLI 1.14.0 and 1.16.0, SDK 1.16.1 to 1.58.2. Trajectories of before 1.0 (`openhands-ai`) are another format.
"""

from agentv_stages.model.provider import PROMPT, About, Dialect, LogRoot, Provider, Start
from agentv_stages.providers.openhands.acp import HABITS
from agentv_stages.providers.openhands.companions import companions
from agentv_stages.providers.openhands.detect import is_session, is_stream
from agentv_stages.providers.openhands.session import LOSSES as SESSION_LOSSES
from agentv_stages.providers.openhands.session import SessionDecoder
from agentv_stages.providers.openhands.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.openhands.stream import StreamDecoder
from agentv_stages.providers.openhands.tools import TABLE

_EVENTS = ("*/events/event-00000-*.json",)

PROVIDER = Provider(
    name="openhands",
    title="OpenHands",
    dialects=(
        Dialect(
            "openhands-stream",
            is_stream,
            StreamDecoder,
            True,
            True,
            STREAM_LOSSES,
            about=About(
                made_by="openhands --headless --json -t TASK",
                versions="1.10.0, 1.14.0, 1.16.0",
                end="an answer without a call, the call of `finish`; an error of the conversation",
            ),
        ),
        Dialect(
            "openhands-session",
            is_session,
            SessionDecoder,
            False,
            True,
            SESSION_LOSSES,
            about=About(
                made_by="every session: a folder with a file for each event",
                versions="CLI 1.10.0 to 1.16.0; SDK 1.16.1, 1.21.0, 1.58.2",
                end="as `openhands-stream`; of a run that was paused or stuck the state says it",
            ),
        ),
    ),
    tools=TABLE,
    acp=HABITS,
    start=Start(
        ("openhands", "--headless", "--json", "-t", PROMPT),
        None,
        kinds=("openhands",),
        prompt_options=frozenset(("-t", "--task")),
    ),
    roots=(
        LogRoot("~/.openhands/conversations", "OPENHANDS_CONVERSATIONS_DIR", "", _EVENTS),
        LogRoot("~/.openhands/conversations", "OPENHANDS_PERSISTENCE_DIR", "conversations", _EVENTS),
    ),
    companions=companions,
)

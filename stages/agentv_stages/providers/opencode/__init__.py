"""OpenCode: the stream of `run --format json`, exported sessions, rows of its stores."""

from agentv_stages.provider import Dialect, LogRoot, Provider
from agentv_stages.providers.opencode.children import companions
from agentv_stages.providers.opencode.detect import detect_export, detect_rows, detect_stream
from agentv_stages.providers.opencode.export import ExportDecoder
from agentv_stages.providers.opencode.stream import StreamDecoder
from agentv_stages.providers.opencode.tools import TABLE

_STORED_LOSSES = (
    "tokens of answers that broke off",
    "outputs that OpenCode cut (the whole is in a file that metadata.outputPath names)",
    "the arguments of a call to a tool that does not exist",
    "the model calls that made titles",
)

PROVIDER = Provider(
    name="opencode",
    title="OpenCode",
    dialects=(
        Dialect(
            "opencode-stream",
            detect_stream,
            StreamDecoder,
            live=True,
            has_end=True,
            losses=(
                "what child sessions do (their calls, texts and tokens); only the task call is printed",
                "prompts, the model, the working directory, the agent's version",
                "calls that had not ended, texts that were not finished",
                *_STORED_LOSSES,
            ),
            has_prompt=False,
        ),
        Dialect(
            "opencode-export",
            detect_export,
            ExportDecoder,
            live=False,
            has_end=False,
            losses=(*_STORED_LOSSES, "what was undone before another prompt"),
        ),
        Dialect("opencode-rows", detect_rows, ExportDecoder, live=False, has_end=False, losses=_STORED_LOSSES),
    ),
    tools=TABLE,
    roots=(LogRoot("~/.local/share/opencode", "XDG_DATA_HOME", "opencode", ("opencode*.db",), database=True),),
    companions=companions,
)

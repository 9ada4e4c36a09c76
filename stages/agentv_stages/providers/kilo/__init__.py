"""Kilo: a fork of OpenCode with the same formats. OpenCode's decoders; its own detection and tools."""

from dataclasses import replace

from agentv_stages.model.provider import PROMPT, About, LogRoot, Provider, Start
from agentv_stages.providers.kilo.detect import detect_export, detect_rows, detect_stream, is_kilo
from agentv_stages.providers.kilo.tools import TABLE
from agentv_stages.providers.opencode import EXPORT, ROWS, STREAM
from agentv_stages.providers.opencode.acp import habits
from agentv_stages.providers.opencode.children import companions

_END = "none; complete when the last answer's `finish` is final"

PROVIDER = Provider(
    name="kilo",
    title="Kilo",
    dialects=(
        replace(
            STREAM,
            name="kilo-stream",
            detect=detect_stream,
            about=About("kilo run --format json PROMPT", "7.7.2, 7.7.9", "`step_finish` with the reason `stop`"),
        ),
        replace(
            EXPORT,
            name="kilo-export",
            detect=detect_export,
            about=About("kilo export SESSION", "7.0.33, 7.7.2, 7.7.9", _END, places=()),
        ),
        replace(
            ROWS,
            name="kilo-rows",
            detect=detect_rows,
            about=About("agentv-stream consume kilo.db --session SESSION", "7.0.33, 7.7.2, 7.7.9", _END),
        ),
    ),
    tools=TABLE,
    acp=habits("kilo", TABLE),
    start=Start(("kilo", "run", "--format", "json", PROMPT), kinds=("kilo",)),
    owns_store=is_kilo,
    aliases=("kilocode", "kilo-cli"),
    roots=(LogRoot("~/.local/share/kilo", "XDG_DATA_HOME", "kilo", ("kilo*.db",), database=True),),
    companions=companions,
)

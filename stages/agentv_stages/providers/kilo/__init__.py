"""Kilo: a fork of OpenCode with the same formats. OpenCode's decoders; its own detection and tools."""

from dataclasses import replace

from agentv_stages.model.provider import LogRoot, Provider
from agentv_stages.providers.kilo.detect import detect_export, detect_rows, detect_stream
from agentv_stages.providers.kilo.tools import TABLE
from agentv_stages.providers.opencode import EXPORT, ROWS, STREAM
from agentv_stages.providers.opencode.children import companions

PROVIDER = Provider(
    name="kilo",
    title="Kilo",
    dialects=(
        replace(STREAM, name="kilo-stream", detect=detect_stream),
        replace(EXPORT, name="kilo-export", detect=detect_export),
        replace(ROWS, name="kilo-rows", detect=detect_rows),
    ),
    tools=TABLE,
    aliases=("kilocode", "kilo-cli"),
    roots=(LogRoot("~/.local/share/kilo", "XDG_DATA_HOME", "kilo", ("kilo*.db",), database=True),),
    companions=companions,
)

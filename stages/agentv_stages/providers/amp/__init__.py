"""Amp: the stream of `amp -x … --stream-json`, and threads on disk.

Source: one stream of April 2026, threads of August 2026, documentation.
"""

from collections.abc import Mapping
from typing import Any

from agentv_stages.model.provider import PROMPT, About, Dialect, Head, LogRoot, Provider, Start
from agentv_stages.providers.amp.stream import LOSSES as STREAM_LOSSES
from agentv_stages.providers.amp.stream import StreamDecoder
from agentv_stages.providers.amp.thread import LOSSES as THREAD_LOSSES
from agentv_stages.providers.amp.thread import ThreadDecoder
from agentv_stages.providers.amp.tools import TABLE

_KINDS = ("system", "user", "assistant", "result")


def _is_id(value: object) -> bool:
    return isinstance(value, str) and value.startswith("T-")


def is_stream(head: Head) -> float:
    return float(any(map(_is_line, head)))


def _is_line(line: Mapping[str, Any]) -> bool:
    """A line like Claude's with the id of a thread, and without an id of its own."""
    return line.get("type") in _KINDS and _is_id(line.get("session_id")) and "uuid" not in line


def is_thread(head: Head) -> float:
    return float(any(_is_id(line.get("id")) and isinstance(line.get("messages"), list) for line in head))


PROVIDER = Provider(
    name="amp",
    title="Amp",
    dialects=(
        Dialect(
            "amp-stream",
            is_stream,
            StreamDecoder,
            live=True,
            has_end=True,
            losses=STREAM_LOSSES,
            about=About("amp -x PROMPT --stream-json", "of April 2026 (one run)", "`result`"),
        ),
        Dialect(
            "amp-thread",
            is_thread,
            ThreadDecoder,
            live=False,
            has_end=False,
            losses=THREAD_LOSSES,
            about=About(
                "every thread, up to early 2026; amp threads export THREAD (unverified)",
                "of August 2026 (short ones)",
                "none; complete when the last answer asks for no tool",
            ),
        ),
    ),
    tools=TABLE,
    start=Start(
        ("amp", "-x", PROMPT, "--stream-json"), None, kinds=("amp",), prompt_options=frozenset(("-x", "--execute"))
    ),
    roots=(
        LogRoot("~/.local/share/amp/threads", "AMP_DATA_DIR", "threads", ("T-*.json",)),
        LogRoot("~/.local/share/amp/threads", "XDG_DATA_HOME", "amp/threads", ("T-*.json",)),
    ),
)

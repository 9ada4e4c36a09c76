"""Texts made to be slow: what reads them takes time in proportion to their length."""

import time
from collections.abc import Callable

import pytest

from agentv_stages.model.event import Source
from agentv_stages.model.patch import read_patch
from agentv_stages.providers.claude.blocks import slash_command
from agentv_stages.providers.gemini import part_in_id
from agentv_stages.providers.gemini.tools import tool_name
from support.vscode_chats import only, tool

SOURCE = Source("log", 0, 0, 0)
N = 100_000


@pytest.mark.parametrize(
    "reads",
    [
        lambda: read_patch("*** Add File: a" + " " * N + "b"),
        lambda: read_patch("--- " + "a" * N + "\n"),
        lambda: slash_command(SOURCE, "", "<command-name>/a</command-name>" + "<command-args>" * N),
        lambda: tool_name("a", "a" + " " * N + "b MCP Server)"),
        lambda: part_in_id("_" * N * 5),
        lambda: only(tool("c", pastTenseMessage={"value": "](file://" * N})),
    ],
    ids=["patch-header", "unified-diff", "slash-command", "mcp-display-name", "gemini-call-id", "vscode-link"],
)
def test_a_text_made_to_be_slow_is_not(reads: Callable[[], object]) -> None:
    begun = time.process_time()
    reads()
    assert time.process_time() - begun < 2

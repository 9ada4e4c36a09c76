"""Prompts on agents' command lines: found where they are plain, never guessed."""

import pytest

from agentv_stream.running.prompt import prompt_of


@pytest.mark.parametrize(
    ("command", "prompt"),
    [
        ("claude -p FIX --output-format stream-json --verbose", "FIX"),
        ("/usr/bin/claude --print FIX", "FIX"),
        ("claude --output-format stream-json -p FIX", "FIX"),
        ("claude -p --output-format stream-json FIX", "FIX"),
        ("codex exec --json FIX", "FIX"),
        ("codex exec -m gpt FIX", "FIX"),
        ("gemini --prompt=FIX", "FIX"),
        ("npx -y codex exec FIX", "FIX"),
        ("opencode run --format json FIX", "FIX"),
        ("claude -p --model opus", None),
        ("python agent.py -p FIX", None),
        ("claude", None),
        ("timeout 60 nice -n 5 claude -p FIX", "FIX"),
        ("env A=1 B=2 codex exec FIX", "FIX"),
        ("npx @anthropic-ai/claude -p FIX", "FIX"),
        ("node /x/gemini.js -p FIX", "FIX"),
        ("cursor-agent -p FIX --output-format stream-json", "FIX"),
        ("cline --json FIX", "FIX"),
        ("cline --json --auto-approve true", None),
        ("cn -p --format json FIX", "FIX"),
        ("cn --format json -p --auto FIX", "FIX"),
        ("cn -p FIX --format json", "FIX"),
        ("cn -p --resume --format json", None),
        ("kilo run --format json FIX", "FIX"),
        ("omp --mode json -p FIX", "FIX"),
        ("kimi -p FIX --output-format stream-json", "FIX"),
        ("grok -p FIX --output-format streaming-json", "FIX"),
        ("grok --single FIX", "FIX"),
        ("openhands --headless --json -t FIX", "FIX"),
        ("openhands --task=FIX --headless", "FIX"),
        ("openhands acp", None),
        ("vibe -p FIX --output streaming", "FIX"),
        ("codex exec --json --sandbox read-only", None),
        ("codex exec", None),
        ("opencode run", None),
        ("npx", None),
        ("", None),
    ],
)
def test_the_prompt_is_taken_from_the_command_line_where_it_is_plain(command: str, prompt: str | None) -> None:
    assert prompt_of(command.split()) == prompt

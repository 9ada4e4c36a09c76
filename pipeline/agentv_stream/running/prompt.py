"""Finds the prompt on an agent's command line: a list of words in, the prompt out, None if it is not clear.

Source: the command lines of Claude Code 2.1, Codex 0.169, Copilot 1.0, Gemini 0.61, Pi 0.73, OpenCode 1.18, Qwen 0.15,
Cline 3.0, Continue 1.5, Kimi Code 2.1, Kilo 7.7, Grok Build 1.0, oh-my-pi 18.2, OpenHands 1.16, Mistral Vibe 3.0.
"""

from collections.abc import Sequence
from pathlib import Path

from agentv_stages.providers import all_providers

RUNNERS = frozenset(("npx", "bunx", "pnpx", "uvx", "env", "timeout", "nice", "node"))
PROMPT_OPTIONS = frozenset(("-p", "--print", "--prompt", "--single", "-i", "--prompt-interactive"))
SUBCOMMANDS = frozenset(("exec", "e", "run"))
SWITCHES = frozenset(
    (
        "--json",
        "--verbose",
        "--yolo",
        "-y",
        "--full-auto",
        "--skip-git-repo-check",
        "--dangerously-skip-permissions",
        "--dangerously-bypass-approvals-and-sandbox",
        "--include-partial-messages",
        "--allow-all-tools",
        "--allow-all",
        "--auto",
        "--readonly",
        "--silent",
        "--continue",
        "-c",
        "--debug",
        "-d",
        "--no-session",
        "--force",
        "-f",
        "--",
        "-p",
        "--print",
    )
)
"""Options without a value; the word after any other option is taken for its value."""


def prompt_of(command: Sequence[str]) -> str | None:
    """The prompt, for agents whose command line is known."""
    words = list(command)
    while words and Path(words[0]).name in RUNNERS:
        words = words[1:]
        while words and (words[0].startswith("-") or "=" in words[0] or words[0].isdigit()):
            words = words[1:]
    agent = Path(words[0]).name.split("@")[0].removesuffix(".js") if words else ""
    start = next((p.start for p in all_providers() if p.start is not None and p.start.program == agent), None)
    if start is None:
        return None
    rest, options = words[1:], start.prompt_options or PROMPT_OPTIONS
    for i, word in enumerate(rest):
        name, equals, value = word.partition("=")
        if equals and name in options and name in ("--prompt", "--print", "--single", "--task"):
            return value
        if word in options and i + 1 < len(rest) and not rest[i + 1].startswith("-"):
            return rest[i + 1]
    return None if start.prompt_options else _last_word(rest)


def _last_word(rest: list[str]) -> str | None:
    """The last word that is neither an option nor an option's value."""
    if rest and rest[0] in SUBCOMMANDS:
        rest = rest[1:]
    if not rest or rest[-1].startswith("-"):
        return None
    if len(rest) > 1 and rest[-2].startswith("-") and rest[-2] not in SWITCHES and "=" not in rest[-2]:
        return None
    return rest[-1]

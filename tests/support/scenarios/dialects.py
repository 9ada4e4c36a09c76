"""All writers of scenarios."""

from support.scenarios import (
    acp,
    claude,
    cline,
    codex,
    codex_rollout,
    copilot,
    cursor,
    gemini,
    kimi,
    opencode,
    pi,
    qwen,
)

WRITERS = {
    writer.dialect: writer
    for family in (acp, claude, cline, codex, codex_rollout, copilot, cursor, gemini, kimi, opencode, pi, qwen)
    for writer in family.WRITERS
}

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
    grok,
    kimi,
    mini_swe_agent,
    opencode,
    pi,
    qwen,
)

WRITERS = {
    writer.dialect: writer
    for family in (
        acp,
        claude,
        cline,
        codex,
        codex_rollout,
        copilot,
        cursor,
        gemini,
        grok,
        kimi,
        mini_swe_agent,
        opencode,
        pi,
        qwen,
    )
    for writer in family.WRITERS
}

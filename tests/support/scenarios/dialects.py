"""All writers of scenarios, by their names."""

from support.scenarios import (
    acp,
    claude,
    claude_session,
    cline,
    codex,
    codex_app_server,
    codex_old,
    codex_rollout,
    copilot,
    copilot_acp,
    cursor,
    gemini,
    grok,
    kimi,
    mini_swe_agent,
    oh_my_pi,
    openclaw,
    opencode,
    openhands,
    pi,
    qwen,
    vibe,
    vibe_old,
)

FAMILIES = (
    *(
        acp,
        claude,
        claude_session,
        cline,
        codex,
        codex_app_server,
        codex_old,
        codex_rollout,
        copilot,
        copilot_acp,
        cursor,
        gemini,
        grok,
        kimi,
    ),
    *(mini_swe_agent, oh_my_pi, openclaw, opencode, openhands, pi, qwen, vibe, vibe_old),
)
WRITERS = {writer.name or writer.dialect: writer for family in FAMILIES for writer in family.WRITERS}

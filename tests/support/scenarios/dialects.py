"""All writers of scenarios."""

from support.scenarios import claude, codex, copilot, cursor, gemini, kimi, opencode, pi, qwen

WRITERS = {
    writer.dialect: writer
    for family in (claude, codex, copilot, cursor, gemini, kimi, opencode, pi, qwen)
    for writer in family.WRITERS
}

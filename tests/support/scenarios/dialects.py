"""All writers of scenarios."""

from support.scenarios import claude, codex, gemini, opencode, pi, qwen

WRITERS = {
    writer.dialect: writer for family in (claude, codex, gemini, opencode, pi, qwen) for writer in family.WRITERS
}

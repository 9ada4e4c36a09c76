"""All writers of scenarios."""

from support.scenarios import claude, codex

WRITERS = {writer.dialect: writer for family in (claude, codex) for writer in family.WRITERS}

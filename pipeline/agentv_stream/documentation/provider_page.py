"""The page of all dialects: `python -m agentv_stream.documentation.provider_page CORPUS > docs/providers.md` writes it.

The counts come from reading the recordings below CORPUS; without CORPUS they are left out. `make docs` writes the rest
of the page anew.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from agentv_stages.providers import all_providers
from agentv_stream.documentation.provider_survey import OUTCOMES, outcomes, recordings, survey
from agentv_stream.documentation.provider_table import MOST_PLACES, STORED, dialect_rows, facts_of

MEASURED = "## Recordings read"
OUTCOMES_NOTE = """\
The same calls (scenario s2), as each agent's log records their ends; a number is the exit code. Agents differ where
they work differently: Qwen refuses to sleep, Copilot to kill its shell, OpenCode waits for the killed shell until
its time is over. They lose where the format does: Gemini and Qwen print no exit code behind output, Pi none for a
signal, Codex's stream no failed patch and no unknown tool, Gemini's ACP no exit code at all; Qwen's ACP log on disk
ends early and calls reads and edits that failed a success."""


def markdown(corpus: Path | None = None) -> str:
    """docs/providers.md; with recordings, their counts follow the facts of the code."""
    out = [
        "# Providers and dialects",
        "",
        "Made by `python -m agentv_stream.documentation.provider_page CORPUS > docs/providers.md`; do not edit.",
        "",
        "A dialect is recognised by the content of its first records. `--provider NAME` limits the search to one.",
        "A fact that the log lacks is null in results, never 0; each result lists the missing facts as `losses`.",
        "Each agent has a page of its own on how its logs are read, linked below its title.",
    ]
    provider = None
    for row in dialect_rows(all_providers()):
        if row.provider != provider:
            out += ["", f"## {row.title} (`{row.provider}`)"]
            aliases = [f"`{name}`" for name in row.aliases if name != row.provider]
            also = f" Aliases: {', '.join(aliases)}." if aliases else ""
            out += ["", f"[How it is read](providers/{row.provider}.md).{also}"]
            provider = row.provider
        out += ["", f"### `{row.dialect}`, {'live' if row.live else 'on disk'}", ""]
        out += [f"- {label}: {_code(label, fact, row.provider)}" for label, fact in facts_of(row)]
        out += ["- missing from the log:", *(f"  - {loss}" for loss in row.losses)] if row.losses else []
    out += ["", "## Not supported, but named", "", *_foreign()]
    if corpus is not None:
        out += _measured(corpus)
    return "\n".join(out) + "\n"


def _code(label: str, fact: str, provider: str) -> str:
    if label != STORED:
        return fact
    places = [f"`{place}`" for place in fact.split(", ")]
    if len(places) <= MOST_PLACES:
        return ", ".join(places)
    return f"{places[0]} and {len(places) - 1} other places ([which](providers/{provider}.md))"


def _foreign() -> list[str]:
    from agentv_stages.chain.foreign import AGENTS

    return ["The error for such an input says whose it is:", "", *(f"- {name}" for name, _ in AGENTS)]


def _measured(corpus: Path) -> list[str]:
    out = ["", MEASURED, "", "| dialect | files | records | events | unknown types | faults |"]
    out.append("|---|---|---|---|---|---|")
    for name, seen in sorted(survey(corpus).items()):
        counts = (seen.files, seen.records, seen.events, _listed(seen.unknown), _listed(seen.faults))
        out.append(f"| {name} | " + " | ".join(str(cell) for cell in counts) + " |")
    out += ["", "Faults come from files that are torn, hold other programs' output, or were broken on purpose."]
    out += ["", "## Outcomes of one script", "", OUTCOMES_NOTE, ""]
    out += ["| recording | dialect | " + " | ".join(f"`{mark}`" for mark in OUTCOMES) + " |"]
    out.append("|---" * (len(OUTCOMES) + 2) + "|")
    for folder in sorted((corpus / "clients").glob("*/s2")):
        for path in recordings(folder):
            dialect, found = outcomes(path)
            form = "live" if path.parent == folder else "disk"
            out.append(f"| {folder.parent.name}, {form} | {dialect} | " + " | ".join(found) + " |")
    return out


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


if __name__ == "__main__":
    sys.stdout.write(markdown(Path(sys.argv[1]) if len(sys.argv) > 1 else None))

"""`agentv-stream tools`: the tables of native tool names; and docs/tools.md, which is made from them."""

import shutil
import sys
from collections.abc import Iterable
from typing import Annotated, Any

from agentv_stages.model.payload import indented_json
from agentv_stages.model.provider import Provider
from agentv_stages.model.tools import CANONICAL, GUESSES, MCP, McpForm, ToolRow
from agentv_stages.model.visible import visible
from agentv_stages.providers import all_providers
from agentv_stream.api.adapter import create_adapter
from agentv_stream.cli.parameters import Option
from agentv_stream.cli.telling import say
from agentv_stream.colour import PLAIN, Palette, palette
from agentv_stream.errors import UsageError

HEADINGS = ("native", "tool", "kind", "edit", "input", "seen in")


def tools(
    provider: Annotated[
        str | None, Option(metavar="NAME", help="Only the tools of this provider (a name or an alias).")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="As JSON, one array of rows.")] = False,
) -> None:
    """Print which native tool is which canonical one: name, kind, input keys, and where the name was seen."""
    try:
        chosen = [create_adapter(provider).provider] if provider else all_providers()
    except UsageError as error:
        say(error)
        raise SystemExit(UsageError.exit_code) from None
    if as_json:
        rows = [row for agent in chosen for row in json_rows(agent)]
        sys.stdout.write(indented_json(rows).decode())
    else:
        width = shutil.get_terminal_size((200, 24)).columns if sys.stdout.isatty() else None
        paint = palette(sys.stdout)
        sys.stdout.write("\n".join(text_table(agent, width, paint) for agent in chosen))


def json_rows(provider: Provider) -> list[dict[str, Any]]:
    """The rows of a provider as plain data, in the order of its table."""
    return [
        {
            "provider": provider.name,
            "native": row.native,
            "prefix": row.prefix,
            "tool": row.tool,
            "kind": row.kind,
            "origin": row.origin,
            "edit": row.edit,
            "shell": row.shell,
            "keys": {key: list(sources) for key, sources in row.keys},
            "rest_key": row.rest_key,
            "variants": dict(row.variants),
            "source": row.source,
        }
        for row in provider.tools.rows
    ]


def text_table(provider: Provider, width: int | None = None, paint: Palette = PLAIN) -> str:
    """The table of a provider for a terminal of that width; if that is too narrow, without where a name was seen."""
    cells = [HEADINGS, *(_cells(row) for row in provider.tools.rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEADINGS))]
    if width is not None and sum(widths) + 2 * len(widths) - 2 > width:
        cells, widths = [row[:-1] for row in cells], widths[:-1]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    titles, *rows = (visible(line, width) for line in lines)
    notes = (paint("dim", visible(note, width)) for note in _notes(provider))
    head = paint("bold", f"{provider.title} ({provider.name})")
    return "\n".join([head, paint("dim", titles), *rows, *notes, ""])


def _cells(row: ToolRow) -> tuple[str, ...]:
    native = f"{row.native}…" if row.prefix else row.native
    kind = "by its text" if row.shell else row.kind
    return (native, row.tool, kind, "edit" if row.edit else "", _input(row), row.source)


def _input(row: ToolRow) -> str:
    """The changes to the input of such a call."""
    changes: list[str] = []
    if row.rest_key:
        changes.append(f"{row.rest_key} from the name")
    changes += [f"{key} from {', '.join(sources)}" for key, sources in row.keys]
    if row.patch:
        changes.append("Write if it only adds files")
    if row.variants:
        changes.append(f"by {row.variant_key}: " + ", ".join(f"{value} {tool}" for value, tool in row.variants))
    return "; ".join(changes)


def _notes(provider: Provider) -> Iterable[str]:
    if provider.tools.finer_shell:
        yield "Shell calls that read or search are named by their effect: Read, LS, Grep, Glob."
    forms = ", ".join(_form(form) for form in (MCP, *provider.tools.mcp))
    yield f"Tools of MCP servers: {forms}."


def _form(form: McpForm) -> str:
    return f"{form.prefix}<server>{form.separator}<tool>"


def markdown() -> str:
    """docs/tools.md: every table, the canonical names, the rules for names in no table."""
    out = [
        "# Tools",
        "",
        "Made from the code by `make docs`; do not edit.",
        "",
        "A call has the canonical name of its tool, whichever agent made it. Canonical names and `apply_patch` mean",
        "the same in every agent's log, even for a plug-in. Other names that are in no table stay as they are.",
        "Keys are only added to a call's input, never renamed, removed or overwritten. MCP calls are named",
        "`mcp__<server>__<tool>`, with origin `mcp` and kind `other`. A shell call's kind is decided from its text",
        "([how](metrics.md#kinds-of-shell-text)); `apply_patch` through the shell is Edit or Write.",
        "",
        "## Canonical names",
        "",
        *_table(("name", "kind", "edit"), ((name, *_canonical(name)) for name in CANONICAL)),
        "",
        "## Names in no table",
        "",
        "The kind follows from the whole words of the name (split at `_`, `-`, `.`, blanks and capitals); the first",
        "rule that finds one wins, else `other`.",
        "",
        *_table(("words", "kind"), ((", ".join(sorted(words)), kind) for words, kind in GUESSES)),
    ]
    for provider in all_providers():
        out += ["", f"## {provider.title} (`{provider.name}`)", ""]
        out += _table(HEADINGS, (_cells(row) for row in provider.tools.rows), code=1)
        out += ["", *(note.replace("<", "\\<") for note in _notes(provider))]
    return "\n".join(out) + "\n"


def _canonical(name: str) -> tuple[str, str]:
    kind, edit = CANONICAL[name]
    return ("by its text" if name == "Bash" else kind, "edit" if edit else "")


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]], code: int = 0) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    def escaped(i: int, cell: str) -> str:
        return f"`{cell}`" if i < code else cell.replace("|", "\\|")

    body = [line(escaped(i, cell) for i, cell in enumerate(row)) for row in rows]
    return [line(headings), "|" + "---|" * len(headings), *body]


if __name__ == "__main__":
    sys.stdout.write(markdown())

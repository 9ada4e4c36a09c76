"""The pages of docs/ that are generated from the code: cli.md, configuration.md, tools.md from the tables, and
providers.md, whose counts of recordings are kept as they are.

python -m agentv_stream.documentation.docs_pages docs
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import typer.main
from msgspec import structs

from agentv_stream.cli import COMMANDS, build
from agentv_stream.cli.examples import EXAMPLES
from agentv_stream.cli.tools import markdown as tools_page
from agentv_stream.documentation.provider_page import MEASURED
from agentv_stream.documentation.provider_page import markdown as providers_page
from agentv_stream.settings import PREFIX, Settings

HEAD = """\
# Command line

Made from the program by `make docs`; do not edit. `agentv-stream COMMAND --help` prints the same.

Options that are always the same can stand in variables or in `pyproject.toml` ([configuration](configuration.md)).
Every message goes to standard error; standard output carries the requested data, and nothing else.

"""

EXIT_CODES = """\
## Exit codes

The same for every command; of several that apply, the first of this list.

| code | meaning |
|---|---|
| 128 + n | we were ended by signal n (not `tail`: a signal is its normal end) |
| 2 | wrong usage or configuration |
| 4 | something could not be read or written; an input that is no agent's log, too |
| 3 | the agent's run failed or ended incomplete, or the input was empty |
| 1 | a verdict failed; `search` found nothing; `redact --list` found a secret |
| 0 | fine |

"""

SETTINGS = """\
# Configuration

Made from the program by `make docs`; do not edit.

Nothing has to be configured. What you would otherwise repeat on every command line can be set elsewhere. An option
takes precedence, then the variable `AGENTV_STREAM_*`, then `[tool.agentv-stream]` in the nearest `pyproject.toml`, in
this folder or above:

```toml
[tool.agentv-stream]
out = "logs"
stream-log = "summary"
watch = ["pytest", "rg"]
roots = ["claude=/data/claude/projects"]
redact = true
redact-rules = ['acme-key=ACME-[0-9A-F]{32}']
```

```sh
AGENTV_STREAM_OUT=logs AGENTV_STREAM_WATCH=pytest,rg agentv-stream consume examples/claude.jsonl
```

A list is a TOML list there; in a variable it is separated by commas. Switches are `true` or `false`. An empty variable
counts as not set. Relative paths are relative to the current folder. A wrong value, and a wrong name in
`pyproject.toml`, is an error (exit code 2) that names its place; variables of other names are ignored.

## Settings

They apply to [`consume`](cli.md#consume), which has an option for each of them except `roots`, `bound`, `redact-rules`
and `redact-allow`. Other commands use some of them:

| command | uses |
|---|---|
| `run` | `provider`, `prompt`, `stream-log`, `transcript-shape`, `watch`, `max-record`, `bound`, `quiet`, `live` |
| | `out`, for the transcript and the stream log; results stay in its own `--out` |
| `tail` | `out`, `target`, `test-id`, `stream-log`, `watch`, `max-record` |
| every command that finds sessions | `roots` |
| `import`, `show`, `watch`, `check`, `faults show`, and those above | `redact`, `redact-rules`, `redact-allow` |
| `page`, `redact` | `redact-rules`, `redact-allow` |

- `roots` says where sessions are kept, as `PROVIDER=PATH` or `PATH`, like `--root`: a provider that is named is looked
  for in these places only, a PATH alone is searched in addition ([finding sessions](discovery.md#where-it-looks)).
- `redact-rules` are further kinds of [secrets](privacy.md#redaction), each `KIND=PATTERN`: a regular expression of
  Python, of which group 1 is the secret if it has one. `redact-allow` are patterns of texts that stay. In a variable
  each is a line of its own.
- `bound` is how many batches may wait between two stages: more of them take more memory, but no less time.

"""

VARIABLES = """\

## Other variables

| variable | for |
|---|---|
| `AGENTV_STREAM_STATE` | the folder of the [cursors](cursors.md), where `--state` is not given |
| `XDG_STATE_HOME`, `XDG_CACHE_HOME` | for cursors (`~/.local/state`); for kept figures of sessions (`~/.cache`) |
| `CLAUDE_CONFIG_DIR`, `CODEX_HOME`… | [where each agent keeps its sessions](discovery.md#where-it-looks) |
| `TERM` | `dumb`: no live line unless `--live` asks for it, no colour |
| `NO_COLOR`, `FORCE_COLOR` | not empty: no colour at all; colour also in a pipe (`FORCE_COLOR=0`: not) |
| `PAGER` | the program that shows long sessions (`show`); `cat` or nothing: none |
| any | `${{ NAME }}` in a [targets file](targets.md#targets) |

Those that only tests read are in [CONTRIBUTING](../CONTRIBUTING.md).
"""


def cli_page(names: Iterable[str] = tuple(COMMANDS)) -> str:
    """docs/cli.md: every command with its arguments and options."""
    program: Any = typer.main.get_command(build(list(names)))  # click's objects; typer does not expose them with types
    commands: Mapping[str, Any] = program.commands
    out = [HEAD, "| command | effect |\n|---|---|\n"]
    out += [f"| [`{name}`](#{name}) | {_first(command)} |\n" for name, command in commands.items()]
    out += ["\n", EXIT_CODES]
    for name, command in commands.items():
        out += _command(name, command)
    return "".join(out).rstrip("\n") + "\n"


def _command(name: str, command: Any, depth: int = 2) -> list[str]:
    out = [f"{'#' * depth} {name}\n\n"]
    if command.help:
        out.append(f"{_flat(command.help)}\n\n")
    inner: Mapping[str, Any] | None = getattr(command, "commands", None)
    if inner is not None:
        out += [f"    {line}\n" for line in EXAMPLES.get(name, ())] + ["\n"]
        for below, child in inner.items():
            out += _command(f"{name} {below}", child, depth + 1)
        return out
    parameters = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
    arguments = [p for p in parameters if p.param_type_name == "argument"]
    options = [p for p in parameters if p.param_type_name == "option"]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *(_metavar(p) for p in arguments)])
    out.append(f"    agentv-stream {usage}\n\n")
    rows = [(_metavar(p), p) for p in arguments] + [(_spelled(p), p) for p in options]
    if rows:
        out += [f"    {line}\n" for line in EXAMPLES.get(name, ())] + ["\n"] * (name in EXAMPLES)
        out.append("| argument, option | meaning |\n|---|---|\n")
        out += [f"| {' · '.join(f'`{word}`' for word in shown.split(' · '))} | {_help(p)} |\n" for shown, p in rows]
        out.append("\n")
    return out


def _metavar(parameter: Any) -> str:
    shown = str(parameter.metavar or parameter.name).upper().strip("_").removesuffix("...")
    shown += "…" if parameter.nargs == -1 else ""
    return shown if parameter.required else f"[{shown}]"


def _spelled(option: Any) -> str:
    words = sorted(option.opts, key=lambda word: not word.startswith("--"))
    if option.is_flag:
        return " · ".join([*words, *option.secondary_opts])
    return " · ".join([f"{words[0]} {_value(option)}", *words[1:]])


def _value(option: Any) -> str:
    choices = getattr(option.type, "choices", None)
    if choices:
        return "|".join(str(choice) for choice in choices)
    kind = str(getattr(option.type, "name", "text"))
    number = "N" if kind.startswith("int") else "X" if kind.startswith("float") else None
    return str(option.metavar or "").replace("|", "\\|") or number or ("PATH" if kind in ("path", "file") else "TEXT")


def _help(parameter: Any) -> str:
    text = _flat(parameter.help or "")
    default = parameter.default
    if default is None or default is False or default == () or callable(default) or parameter.required:
        return text
    named = getattr(parameter, "show_default", None)
    if named is False:
        return text
    shown = f"--{parameter.name.replace('_', '-')}" if default is True else str(default)
    shown = named if isinstance(named, str) else shown
    return f"{text} Default: `{shown}`."


def _flat(text: str) -> str:
    return " ".join(text.replace("\b", "").split()).replace("|", "\\|")


def _first(command: Any) -> str:
    return _flat(command.help or command.callback.__doc__ or "").split(". ")[0].rstrip(".") + "."


def configuration_page() -> str:
    """docs/configuration.md: every setting with its environment variable."""
    return SETTINGS + _settings() + VARIABLES


def _settings() -> str:
    rows = ["| setting | variable | default |\n|---|---|---|\n"]
    for setting in structs.fields(Settings):
        default = "" if setting.default in (None, ()) else f"`{str(setting.default).lower()}`"
        rows.append(f"| `{setting.name.replace('_', '-')}` | `{PREFIX}{setting.name.upper()}` | {default} |\n")
    return "".join(rows)


PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "configuration.md": configuration_page,
    "tools.md": tools_page,
}


def write(folder: Path) -> None:
    """Writes every generated page into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")
    providers = folder / "providers.md"
    before = providers.read_text(encoding="utf-8") if providers.exists() else ""
    _, mark, measured = before.partition(f"\n{MEASURED}")
    providers.write_text(providers_page() + mark + measured, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m agentv_stream.documentation.docs_pages FOLDER")
    write(Path(sys.argv[1]))

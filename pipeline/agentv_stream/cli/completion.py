"""`agentv-stream completion`: completion for a shell, with commands, options, providers, tools and session ids.

The scripts run `agentv-stream _complete WORDS…` and show its lines: a word, a tab, the meaning of the word. Without any
line, the shell completes file names.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, TypeAlias

from agentv_stream.cli.parameters import Argument

SCRIPTS = {
    "bash": """\
_agentv_stream() {
  local IFS=$'\\n'
  COMPREPLY=($(agentv-stream _complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o nosort -o default -F _agentv_stream agentv-stream 2>/dev/null ||
  complete -o default -F _agentv_stream agentv-stream
""",
    "zsh": """\
#compdef agentv-stream
_agentv_stream() {
  local -a found
  found=("${(@f)$(agentv-stream _complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${(@)found:#}")
  if (( ${#found} )); then
    found=("${(@)found//:/\\\\:}")
    found=("${(@)found//$'\\t'/:}")
    _describe -V agentv-stream found
  else
    _files
  fi
}
compdef _agentv_stream agentv-stream
""",
    "fish": """\
function __agentv_stream
  set -l typed (commandline -opc) (commandline -ct)
  set -l found (agentv-stream _complete $typed[2..] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c agentv-stream -k -f -a '(__agentv_stream)'
""",
}
HOW = {
    "bash": 'eval "$(agentv-stream completion bash)"  in ~/.bashrc',
    "zsh": 'eval "$(agentv-stream completion zsh)"  in ~/.zshrc, after compinit',
    "fish": "agentv-stream completion fish > ~/.config/fish/completions/agentv-stream.fish",
}
MOST_SESSIONS = 200
_PLAIN = re.compile(r"[\w.:-]+")  # an id that no shell interprets
Found: TypeAlias = Iterable[tuple[str, str]]


def completion(shell: Annotated[str, Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print the script that completes words in a shell: commands, options, session ids, providers, tools."""
    from agentv_stream.cli.telling import say
    from agentv_stream.errors import UsageError
    from agentv_stream.names import suggestion

    if shell not in SCRIPTS:
        say(UsageError(f"no completion for the shell {shell!r}{suggestion(shell, SCRIPTS)}"))
        raise SystemExit(UsageError.exit_code)
    sys.stdout.write(f"# {HOW[shell]}\n{SCRIPTS[shell]}")


def complete(words: Sequence[str]) -> None:
    """Prints the words that may stand in place of the last one. No failure is reported: it would disturb the prompt."""
    from agentv_stages.model.visible import visible

    try:
        lines = [f"{word}\t{visible(meaning, 60)}\n" for word, meaning in candidates(words)]
    except Exception:  # whatever it is, the person is typing a command
        return
    sys.stdout.writelines(lines)


def candidates(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The words that may stand in place of the last one, each with its meaning."""
    from agentv_stream.cli import ABOUT, COMMANDS, build

    *before, current = [word for word in words if word != "="] or [""]  # bash takes `=` for a word
    if not before:
        yield from _beginning(current, ABOUT.items())
        return
    if before[0] not in COMMANDS:
        return
    import typer.main

    program: Any = typer.main.get_command(build([before[0]]))
    command: Any = program.commands[before[0]] if hasattr(program, "commands") else program
    rest = list(before[1:])
    while hasattr(command, "commands") and rest and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    if hasattr(command, "commands"):
        yield from _beginning(current, ((name, sub.short_help or "") for name, sub in command.commands.items()))
        return
    options = {name: p for p in command.params for name in (*p.opts, *p.secondary_opts) if name.startswith("-")}
    name, joined, value = current.partition("=")
    if joined and name in options:
        yield from ((f"{name}={word}", about) for word, about in _values(name, options[name].metavar or "", value))
    elif rest and rest[-1] in options and not options[rest[-1]].is_flag:
        yield from _values(rest[-1], options[rest[-1]].metavar or "", current)
    elif current.startswith("-"):
        yield from _beginning(current, ((name, p.help or "") for name, p in options.items() if name.startswith("--")))
    else:
        kinds = " ".join(p.metavar or "" for p in command.params if p.param_type_name == "argument")
        for kind, make in ARGUMENTS.items():
            if kind in kinds:
                yield from _beginning(current, make())


def _beginning(current: str, found: Found) -> Iterator[tuple[str, str]]:
    return ((word, about) for word, about in found if word.startswith(current))


def _values(option: str, kind: str, current: str) -> Iterator[tuple[str, str]]:
    """The values of an option; for an option with a few words, such as `false|summary|raw`, these."""
    if option in OPTIONS:
        yield from _beginning(current, OPTIONS[option]())
    elif re.fullmatch(r"[a-z]+(\|[a-z]+)+", kind):
        yield from _beginning(current, ((word, "") for word in kind.split("|")))


def _providers() -> Found:
    from agentv_stages.providers import all_providers

    return [(provider.name, provider.title) for provider in all_providers()]


def _tools() -> Found:
    from agentv_stages.model.tools import CANONICAL

    return [(name, kind) for name, (kind, _) in CANONICAL.items()]


def _groupings() -> Found:
    from agentv_stream.bulk.grouping import DIMENSIONS

    return [(name, "") for name in DIMENSIONS]


def _periods() -> Found:
    return [(word, "") for word in ("today", "yesterday", "12h", "7d", "2w")]


def _sessions() -> Found:
    """The sessions updated last; their headers are kept from one time to the next."""
    from agentv_stream.cli.roots import roots_there
    from agentv_stream.discovery.discover import find_sessions, project_of
    from agentv_stream.discovery.header import HeaderCache
    from agentv_stream.discovery.places import cache_file

    found = find_sessions(roots_there((), None), HeaderCache(cache_file()))[:MOST_SESSIONS]
    return [
        (s.id, f"{s.header.provider} {project_of(s.header.cwd)} {s.header.prompt or s.header.title or ''}")
        for s in found
        if _PLAIN.fullmatch(s.id) and not s.id.startswith("-")
    ]


def _schemas() -> Found:
    from agentv_stream.documentation.schemas import VERSIONS

    return VERSIONS.items()


OPTIONS: dict[str, Callable[[], Found]] = {
    "--provider": _providers,
    "--tool": _tools,
    "--by": _groupings,
    "--since": _periods,
    "--until": _periods,
}
ARGUMENTS: dict[str, Callable[[], Found]] = {
    "SESSION": _sessions,
    "SOURCES": _sessions,
    "SHELL": lambda: ((shell, how) for shell, how in HOW.items()),
    "NAME": _schemas,
}
"""Part of an argument's metavar -> its values; others are file names."""
